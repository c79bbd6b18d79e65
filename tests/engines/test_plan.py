"""The NumPy engine: float16 on its grid, states in place only where nobody looks, errors with their place."""

from __future__ import annotations

import numpy as np
import pytest

from lucid.dtypes import bool_, float16, float32, int32
from lucid.engines.aliasing import updates_in_place
from lucid.engines.plan import Plan
from lucid.errors import LucidError, ShapeError, UnsupportedError
from lucid.graph import Constant, Function, Node, Value

STATE = Value("cache", float16, (4, 2))


def ints(name: str, *numbers: int) -> Constant:
    return Constant(name, int32, (len(numbers),), np.int32(numbers))


def half(name: str, *shape: int) -> Value:
    return Value(name, float16, shape)


X = half("x", 1, 2)
READ = Node("read_state", {"input": STATE}, (half("old", 4, 2),))


def update(name: str, target: Value, row: int, value: Value = X) -> Node:
    inputs = {"x": target, "update": value, "begin": ints(f"{name}_b", row, 0), "end": ints(f"{name}_e", row + 1, 2)}
    return Node("slice_update", inputs, (half(name, 4, 2),))


def write(value: Value) -> Node:
    return Node("write_state", {"input": STATE, "data": value}, ())


def total(name: str, value: Value) -> Node:
    return Node("reduce_sum", {"x": value}, (half(name),))


def program(*nodes: Node, **outputs: Value) -> Function:
    return Function("main", (X,), nodes, outputs, states=(STATE,))


def run(function: Function, calls: int) -> tuple[list[list[float]], np.ndarray]:
    plan, state = Plan(function), {"cache": np.zeros((4, 2), np.float32)}
    results = [
        [float(value) for value in plan.run({"x": np.full((1, 2), index + 1, np.float16)}, state).values()]
        for index in range(calls)
    ]
    return results, state["cache"]


def test_a_cache_write_happens_in_place() -> None:
    first = update("first", READ.output, 0)
    second = update("second", first.output, 1)
    end = total("sum", second.output)
    function = program(READ, first, second, write(second.output), end, sum=end.output)
    assert {node.op for node in updates_in_place(function)} == {"slice_update", "write_state"}
    plan, memory = Plan(function), np.zeros((4, 2), np.float32)
    state = {"cache": memory}
    assert plan.run({"x": np.ones((1, 2), np.float16)}, state)["sum"] == 4
    assert state["cache"] is memory
    np.testing.assert_array_equal(memory, [[1, 1], [1, 1], [0, 0], [0, 0]])


def test_a_cache_that_is_looked_at_afterwards_is_copied() -> None:
    """The sum of the old value, taken after the update, must not see the update."""
    first = update("first", READ.output, 0)
    before, after = total("before", READ.output), total("after", first.output)
    function = program(READ, first, before, after, write(first.output), before=before.output, after=after.output)
    assert not updates_in_place(function)
    assert run(function, 3)[0] == [[0, 2], [2, 4], [4, 6]]


def test_a_view_of_the_cache_counts_as_the_cache() -> None:
    flat = Node("reshape", {"x": READ.output, "shape": ints("s", 8)}, (half("flat", 8),))
    first = update("first", READ.output, 0)
    before = total("before", flat.output)
    function = program(READ, flat, first, before, write(first.output), before=before.output)
    assert not updates_in_place(function)
    assert run(function, 2)[0] == [[0], [2]]


def test_an_update_of_a_value_that_is_not_written_back_is_copied() -> None:
    first = update("first", READ.output, 0)
    end = total("sum", first.output)
    function = program(READ, first, end, sum=end.output)
    results, cache = run(function, 2)
    assert results == [[2], [4]]
    np.testing.assert_array_equal(cache, np.zeros((4, 2)))


def test_a_written_value_does_not_share_memory_with_an_input() -> None:
    axis = Constant("a", int32, (), np.array(0, np.int32))
    interleave = Constant("i", bool_, (), np.array(False))
    grown = Node("concat", {"values": (X, X, X, X), "axis": axis, "interleave": interleave}, (half("grown", 4, 2),))
    end = total("sum", grown.output)
    function = program(grown, write(grown.output), end, sum=end.output)
    x = np.ones((1, 2), np.float16)
    state = {"cache": np.zeros((4, 2), np.float32)}
    Plan(function).run({"x": x}, state)
    state["cache"][...] = 9
    np.testing.assert_array_equal(x, [[1, 1]])


def test_float16_rounds_once_and_stays_on_its_grid() -> None:
    """1 + 2**-11 is a tie and goes to 1; 2049 is none of float16's numbers and goes to 2048; 65504 + 65504 is inf."""
    a, b = half("a", 3), half("b", 3)
    add = Node("add", {"x": a, "y": b}, (half("y", 3),))
    again = Node("sub", {"x": add.output, "y": b}, (half("z", 3),))
    function = Function("main", (a, b), (add, again), {"y": add.output, "z": again.output})
    result = Plan(function).run({"a": np.float16([1, 2048, 65504]), "b": np.float16([2.0**-11, 1, 65504])})
    assert result["y"].dtype == np.float16
    np.testing.assert_array_equal(result["y"], np.float16([1, 2048, np.inf]))
    np.testing.assert_array_equal(result["z"], np.float16([1 - 2.0**-11, 2047, np.inf]))


def test_outputs_do_not_share_memory_with_inputs() -> None:
    x = Value("x", float32, (2,))
    same = Node("identity", {"x": x}, (Value("y", float32, (2,)),))
    given = np.float32([1, 2])
    result = Plan(Function("main", (x,), (same,), {"y": same.output, "again": same.output})).run({"x": given})
    given[:] = 0
    np.testing.assert_array_equal(result["y"], [1, 2])


def test_an_unknown_operation_is_named_with_its_place() -> None:
    odd = Node("frobnicate", {"x": X}, (half("y", 1, 2),))
    with pytest.raises(
        UnsupportedError, match=r"function main, operation 0 \(-> y\): operation frobnicate: lucid does not know it"
    ):
        Plan(Function("main", (X,), (odd,), {"y": odd.output}))


def test_a_result_that_does_not_fit_into_memory_is_named_with_its_place() -> None:
    sizes = ints("s", *[1 << 20] * 3)
    huge = Node("fill", {"shape": sizes}, (Value("y", float32, (1 << 20,) * 3),))
    plan = Plan(Function("main", (X,), (huge,), {"y": huge.output}))
    place = r"function main, operation 0 \(fill -> y\): the result does not fit into memory: .*"
    with pytest.raises(ShapeError, match=place):
        plan.run({"x": np.ones((1, 2), np.float16)})


def test_a_failing_operation_is_named_with_its_place() -> None:
    bad = Node("reshape", {"x": X, "shape": ints("s", 3)}, (half("y", 3),))
    plan = Plan(Function("main", (X,), (bad,), {"y": bad.output}))
    with pytest.raises(LucidError, match=r"function main, operation 0 \(reshape -> y\)"):
        plan.run({"x": np.ones((1, 2), np.float16)})


def updates(*nodes: Node, **outputs: Value) -> set[str]:
    return {node.output.name for node in updates_in_place(Function("main", (X, WHOLE), nodes, outputs))}


WHOLE = half("whole", 4, 2)


def test_a_copy_is_updated_in_place_and_the_input_is_not() -> None:
    first = update("first", WHOLE, 0)
    second = update("second", first.output, 1)
    third = update("third", second.output, 2)
    assert updates(first, second, third, third=third.output) == {"second", "third"}
    function = Function("main", (X, WHOLE), (first, second, third), {"third": third.output})
    given = np.zeros((4, 2), np.float16)
    result = Plan(function).run({"x": np.ones((1, 2), np.float16), "whole": given})["third"]
    np.testing.assert_array_equal(result, [[1, 1], [1, 1], [1, 1], [0, 0]])
    assert not given.any()


def test_a_copy_that_is_looked_at_later_is_copied_again() -> None:
    first = update("first", WHOLE, 0)
    view = Node("reshape", {"x": first.output, "shape": ints("s", 8)}, (half("view", 8),))
    second = update("second", first.output, 1)
    later = total("later", view.output)
    assert updates(first, view, second, later, later=later.output, second=second.output) == set()
    assert updates(first, second, first=first.output, second=second.output) == set()
    before = total("before", view.output)
    assert updates(first, view, before, second, before=before.output, second=second.output) == {"second"}


def test_an_update_with_a_part_of_its_own_target_is_copied() -> None:
    first = update("first", WHOLE, 0)
    bounds = {"begin": ints("b", 0, 0), "end": ints("e", 1, 2)}
    row = Node("slice_by_index", {"x": first.output, **bounds}, (half("row", 1, 2),))
    second = update("second", first.output, 1, row.output)
    assert updates(first, row, second, second=second.output) == set()
