"""Dead code, folding and common subexpressions: what goes, what stays, and that the numbers are the same."""

from __future__ import annotations

import numpy as np

from lucid.dtypes import float32, int32, string
from lucid.engines.plan import Plan
from lucid.graph import Constant, Function, Node, Value, verify
from lucid.passes import drop_dead, drop_idle, fold, share_common, simplify

X = Value("x", float32, (2,))


def constant(name: str, *numbers: float) -> Constant:
    return Constant(name, float32, (len(numbers),), np.float32(numbers))


def node(op: str, name: str, *inputs: Value) -> Node:
    return Node(op, dict(zip("xy", inputs, strict=False)), (Value(name, float32, (2,)),))


def test_dead_nodes_go_and_their_sources_with_them() -> None:
    first = node("add", "a", X, X)
    dead = node("mul", "b", first.output, X)
    deader = node("mul", "c", dead.output, X)
    function = Function("main", (X,), (first, dead, deader), {"a": first.output})
    assert drop_dead(function).nodes == (first,)


def test_writes_stay() -> None:
    state = Value("s", float32, (2,))
    write = Node("write_state", {"input": state, "data": X}, ())
    function = Function("main", (X,), (write,), {"x": X}, states=(state,))
    assert drop_dead(function) is function


def test_folding_computes_by_the_kernels() -> None:
    first = node("add", "a", constant("c", 1, 2), constant("d", 10, 20))
    second = node("mul", "b", X, first.output)
    folded = verify(fold(Function("main", (X,), (first, second), {"b": second.output})))
    (left,) = folded.nodes
    product = left.inputs["y"]
    assert isinstance(product, Constant)
    np.testing.assert_array_equal(product.data, [11, 22])


def test_folding_does_not_make_a_package_larger() -> None:
    shape = Constant("shape", int32, (2,), np.int32([1000, 1000]))
    fill = Node(
        "fill",
        {"shape": shape, "value": Constant("v", float32, (), np.array(2, np.float32))},
        (Value("f", float32, (1000, 1000)),),
    )
    function = Function("main", (X,), (fill,), {"f": fill.output})
    assert fold(function) is function


def test_scatter_folds_as_it_runs() -> None:
    """Adding 1, 2 and 3 to slot 0 gives 6 there, folded or run: 7, 1, 1 with x = 1."""
    inputs = {
        "data": constant("zeros", 0, 0, 0),
        "indices": Constant("i", int32, (3,), np.int32([0, 0, 0])),
        "updates": constant("u", 1, 2, 3),
        "axis": Constant("axis", int32, (), np.array(0, np.int32)),
        "mode": Constant("mode", string, (), "add"),
    }
    x = Value("x", float32, (3,))
    scatter = Node("scatter_along_axis", inputs, (Value("s", float32, (3,)),))
    add = Node("add", {"x": x, "y": scatter.output}, (Value("y", float32, (3,)),))
    function = Function("main", (x,), (scatter, add), {"y": add.output})
    folded = simplify(function)
    assert [each.op for each in folded.nodes] == ["add"]
    for each in (function, folded):
        np.testing.assert_array_equal(Plan(each).run({"x": np.ones(3, np.float32)})["y"], [7, 1, 1])


def test_equal_nodes_are_one() -> None:
    first = node("mul", "a", X, constant("c", 1, 2))
    again = node("mul", "b", X, constant("d", 1, 2))
    other = node("mul", "c", X, constant("e", 1, 3))
    end = node("add", "s", first.output, again.output)
    last = node("add", "t", end.output, other.output)
    shared = verify(share_common(Function("main", (X,), (first, again, other, end, last), {"t": last.output})))
    assert [each.output.name for each in shared.nodes] == ["a", "c", "s", "t"]
    assert shared.nodes[2].inputs["y"] is first.output


def test_signed_zeros_are_not_equal() -> None:
    first, second = node("mul", "a", X, constant("c", 0.0, 0.0)), node("mul", "b", X, constant("d", -0.0, 0.0))
    function = Function("main", (X,), (first, second), {"a": first.output, "b": second.output})
    assert len(share_common(function).nodes) == 2


def test_idle_nodes_go() -> None:
    shape = Constant("s", int32, (1,), np.int32([2]))
    same = Node("reshape", {"x": X, "shape": shape}, (Value("a", float32, (2,)),))
    copy = Node("identity", {"x": same.output}, (Value("b", float32, (2,)),))
    other = Node("reshape", {"x": copy.output, "shape": shape}, (Value("c", float32, (1, 2)),))
    kept = drop_idle(Function("main", (X,), (same, copy, other), {"b": copy.output, "c": other.output}))
    assert [each.op for each in kept.nodes] == ["reshape"]
    assert kept.nodes[0].inputs["x"] is X
    assert kept.outputs["b"] is X


def test_a_transpose_of_a_square_is_not_idle() -> None:
    square = Value("m", float32, (2, 2))
    for perm, count in (([1, 0], 1), ([0, 1], 0)):
        axes = Constant("p", int32, (2,), np.int32(perm))
        turned = Node("transpose", {"x": square, "perm": axes}, (Value("t", float32, (2, 2)),))
        assert len(drop_idle(Function("main", (square,), (turned,), {"t": turned.output})).nodes) == count
