"""Inner blocks: what they see, what they give, what passes and the verifier make of them, errors with their place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lucid.dtypes import DType, bool_, float16, float32, int32, string
from lucid.engines.plan import Plan
from lucid.errors import IndexingError, InternalError, ShapeError, UnsupportedError
from lucid.graph import Argument, Block, Constant, Function, Node, Value, reads, verify, walk
from lucid.passes import drop_dead, fold, share_common, simplify

X = Value("x", float32, (2,))
P = Value("p", bool_, ())
ROWS = DType("list[float32]", "list<fp32>", "l", 0)


def value(name: str) -> Value:
    return Value(name, float32, (2,))


def numbers(name: str, *values: float) -> Constant:
    return Constant(name, float32, (len(values),), np.array(values, np.float32))


def node(op: str, name: str, x: Value, y: Value) -> Node:
    return Node(op, {"x": x, "y": y}, (value(name),))


def choice(name: str, first: Block, second: Block) -> Node:
    return Node("cond", {"pred": P}, (value(name),), (first, second))


SUM = node("add", "sum", X, numbers("ten", 10, 20))
TWICE = node("mul", "inner", SUM.output, numbers("two", 2, 2))
CHOICE = choice("chosen", Block((), (TWICE,), (TWICE.output,)), Block((), (), (numbers("fixed", 7, 8),)))
FUNCTION = Function("main", (X, P), (SUM, CHOICE), {"chosen": CHOICE.output})


def run(function: Function, *, p: bool) -> list[float]:
    (result,) = Plan(function).run({"x": np.array([1, 2], np.float32), "p": np.array(p)}).values()
    return result.tolist()  # type: ignore[no-any-return]


def test_a_block_reads_what_was_computed_before_it_and_gives_constants() -> None:
    assert run(verify(FUNCTION), p=True) == [22, 44]
    assert run(FUNCTION, p=False) == [7, 8]


def test_a_block_may_give_what_it_did_not_compute() -> None:
    passing = choice("chosen", Block((), (), (X,)), Block((), (), (SUM.output,)))
    function = Function("main", (X, P), (SUM, passing), {"chosen": passing.output, "sum": SUM.output, "x": X})
    plan, x = Plan(verify(function)), np.array([1, 2], np.float32)
    for p, expected in ((True, [1, 2]), (False, [11, 22]), (True, [1, 2])):
        outputs = plan.run({"x": x, "p": np.array(p)})
        assert {name: each.tolist() for name, each in outputs.items()} == {
            "chosen": expected,
            "sum": [11, 22],
            "x": [1, 2],
        }


def test_a_value_that_only_a_block_reads_is_held_until_then_and_not_longer() -> None:
    seen: list[str] = []
    later = node("add", "later", CHOICE.output, X)
    function = replace(FUNCTION, nodes=(SUM, CHOICE, later), outputs={"later": later.output})
    plan = Plan(function)
    plan.run({"x": np.ones(2, np.float32), "p": np.array(True)}, observe=lambda each, _: seen.append(each.name))
    assert seen == ["sum", "inner", "chosen", "later"]
    (with_block,) = [step for step in plan._steps if step.blocks]
    assert plan._slots[SUM.output] in with_block.freed


def test_what_a_block_chose_is_not_updated_in_its_own_memory() -> None:
    """It may be the caller's own array, or a constant: both must be whole in the next call."""

    def updated(name: str, target: Value, number: Constant) -> Node:
        begin, end = (Constant(each, int32, (1,), np.array([at], np.int32)) for each, at in (("b", 0), ("e", 1)))
        return Node("slice_update", {"x": target, "update": number, "begin": begin, "end": end}, (value(name),))

    copy = updated("copy", X, numbers("five", 5))
    for other, expected in ((X, [9, 2]), (numbers("fixed", 7, 8), [9, 8])):
        chosen = choice("chosen", Block((), (), (copy.output,)), Block((), (), (other,)))
        flat = Node("identity", {"x": chosen.output}, (value("flat"),))
        last = updated("last", flat.output, numbers("nine", 9))
        sums = node("add", "sum", X, numbers("zero", 0, 0))
        function = Function("main", (X, P), (copy, chosen, flat, last, sums), {"last": last.output, "sum": sums.output})
        plan, x = Plan(verify(function)), np.array([1, 2], np.float32)
        for _ in range(2):
            outputs = plan.run({"x": x, "p": np.array(False)})
            assert (outputs["last"].tolist(), outputs["sum"].tolist(), x.tolist()) == (expected, [1, 2], [1, 2])
        assert plan.run({"x": x, "p": np.array(True)})["last"].tolist() == [9, 2]
        assert isinstance(other, Constant) is (expected == [9, 8])
        if isinstance(other, Constant):
            np.testing.assert_array_equal(np.asarray(other.data), [7, 8])


def test_half_precision_stays_on_its_grid_in_blocks() -> None:
    half = Value("h", float16, (1,))
    one = Constant("one", float16, (1,), np.array([1], np.float16))
    grown = Node("add", {"x": half, "y": one}, (Value("grown", float16, (1,)),))
    chosen = Node("cond", {"pred": P}, (Value("out", float16, (1,)),), (
        Block((), (grown,), (grown.output,)), Block((), (), (half,)),
    ))  # fmt: skip
    outputs = Plan(Function("main", (half, P), (chosen,), {"out": chosen.output})).run(
        {"h": np.array([2048], np.float16), "p": np.array(True)}
    )
    assert outputs["out"].dtype == np.float16
    assert outputs["out"].tolist() == [2048]  # 2049 is none of float16's numbers


def test_simplifying_changes_no_number() -> None:
    constant = node("add", "constant", numbers("a", 1, 1), numbers("b", 2, 2))
    same, again = node("mul", "same", X, X), node("mul", "again", X, X)
    inner = node("add", "inner", again.output, constant.output)
    chosen = choice("chosen", Block((), (inner,), (inner.output,)), Block((), (), (same.output,)))
    function = Function("main", (X, P), (constant, same, again, chosen), {"chosen": chosen.output})
    simple = verify(simplify(function))
    assert [each.op for each in walk(simple.nodes)] == ["mul", "cond", "add"]
    for p, expected in ((True, [4, 7]), (False, [1, 4])):
        assert run(function, p=p) == run(simple, p=p) == expected


def test_a_block_that_writes_a_state_is_not_dead_and_its_sources_live() -> None:
    state = value("s")
    write = Node("write_state", {"input": state, "data": SUM.output}, ())
    unread = choice("unread", Block((), (write,), (X,)), Block((), (), (X,)))
    dead = choice("dead", Block((), (), (X,)), Block((), (), (X,)))
    function = Function("main", (X, P), (SUM, unread, dead), {"x": X}, states=(state,))
    assert drop_dead(function).nodes == (SUM, unread)
    assert share_common(function) is function
    held = {"s": np.zeros(2, np.float32)}
    Plan(function).run({"x": np.array([1, 2], np.float32), "p": np.array(False)}, held)
    assert held["s"].tolist() == [0, 0]
    Plan(function).run({"x": np.array([1, 2], np.float32), "p": np.array(True)}, held)
    assert held["s"].tolist() == [11, 22]


def test_reads_are_those_of_inner_blocks_too() -> None:
    assert [each.name for each in reads(CHOICE)] == ["p", "inner", "fixed", "sum", "two"]


def test_blocks_side_by_side_may_use_the_same_names_and_no_others() -> None:
    other = node("add", "inner", X, X)
    side = choice("chosen", *(Block((), (each,), (each.output,)) for each in (TWICE, other)))
    verify(replace(FUNCTION, nodes=(SUM, side), outputs={"chosen": side.output}))
    outer = node("add", "sum", X, X)
    hidden = choice("chosen", *(Block((), (each,), (each.output,)) for each in (TWICE, outer)))
    with pytest.raises(InternalError, match="two values are called %sum"):
        verify(replace(FUNCTION, nodes=(SUM, hidden), outputs={"chosen": hidden.output}))


def test_what_a_block_defines_ends_with_it() -> None:
    with pytest.raises(InternalError, match="%inner is read before it is defined"):
        verify(replace(FUNCTION, outputs={"chosen": TWICE.output}))


# -- errors ------------------------------------------------------------------------------------------------------------


def test_an_unknown_operation_in_a_block_is_named_with_its_place() -> None:
    odd = Node("frobnicate", {"x": X}, (value("odd"),))
    function = replace(FUNCTION, nodes=(SUM, choice("chosen", Block((), (TWICE, odd), (X,)), CHOICE.blocks[1])))
    place = r"^function main, operation 1 \(cond -> chosen\): block 0, operation 1 \(-> odd\): operation frobnicate: "
    with pytest.raises(UnsupportedError, match=place):
        Plan(function)


def test_a_failing_operation_in_a_block_is_named_with_its_place() -> None:
    bad = node("add", "bad", X, numbers("three", 1, 2, 3))
    chosen = choice("chosen", CHOICE.blocks[0], Block((), (bad,), (bad.output,)))
    plan = Plan(Function("main", (X, P), (SUM, chosen), {"chosen": chosen.output}))
    given = {"x": np.ones(2, np.float32)}
    assert plan.run({**given, "p": np.array(True)})["chosen"].tolist() == [22, 42]
    place = r"function main, operation 1 \(cond -> chosen\): block 1, operation 0 \(add -> bad\)"
    with pytest.raises((InternalError, ShapeError), match=place):
        plan.run({**given, "p": np.array(False)})


def test_blocks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"operation 1 \(cond -> chosen\): it has 1 inner blocks, expected 2"):
        Plan(replace(FUNCTION, nodes=(SUM, replace(CHOICE, blocks=CHOICE.blocks[:1]))))
    with pytest.raises(UnsupportedError, match=r"operation 0 \(add -> sum\): it has 2 inner blocks, expected 0"):
        Plan(replace(FUNCTION, nodes=(replace(SUM, blocks=CHOICE.blocks), CHOICE)))
    loop = Node("while_loop", {"loop_vars": (X,)}, (value("looped"),), (Block((), (), (P,)), Block((X,), (), (X,))))
    plan = Plan(Function("main", (X, P), (loop,), {"looped": loop.output}))
    with pytest.raises(UnsupportedError, match="a block has 0 inputs, expected 1"):
        plan.run({"x": np.ones(2, np.float32), "p": np.array(True)})


# -- lists -------------------------------------------------------------------------------------------------------------


def made(*sizes: int | str) -> Node:
    shape = tuple(
        Constant(f"size_{place}", string, (), size)
        if isinstance(size, str)
        else Constant(f"size_{place}", int32, (), np.array(size, np.int32))
        for place, size in enumerate(sizes)
    )
    length = Constant("length", int32, (), np.array(2, np.int32))
    is_dynamic = Constant("dynamic", bool_, (), np.array(False))
    inputs: dict[str, Argument] = {"elem_shape": shape, "init_length": length, "dynamic_length": is_dynamic}
    return Node("make_list", inputs, (Value("rows", ROWS, (2, 2)),))


def at(index: int) -> Constant:
    return Constant("index", int32, (), np.array(index, np.int32))


def test_lists_are_not_folded() -> None:
    function = Function("main", (X,), (made(2),), {"x": X})
    assert fold(function) is function


@pytest.mark.parametrize(
    ("index", "size", "error", "text"),
    [
        (2, 2, IndexingError, "list_write: index is 2, the list has 2 elements"),
        (-1, 2, IndexingError, "list_write: index is -1, the list has 2 elements"),
        (0, 3, ShapeError, r"list_write: the value has shape \(2,\), the list's elements \(3,\)"),
    ],
)
def test_writes_that_do_not_fit_a_list(index: int, size: int, error: type[Exception], text: str) -> None:
    rows = made(size)
    write = Node("list_write", {"ls": rows.output, "index": at(index), "value": X}, (Value("more", ROWS, (2, 2)),))
    read = Node("list_read", {"ls": write.output, "index": at(0)}, (value("row"),))
    plan = Plan(Function("main", (X,), (rows, write, read), {"row": read.output}))
    with pytest.raises(error, match=text):
        plan.run({"x": np.ones(2, np.float32)})


def test_an_element_that_was_never_written_is_zero_where_its_shape_is_known() -> None:
    def read_of(rows: Node) -> Plan:
        read = Node("list_read", {"ls": rows.output, "index": at(1)}, (value("row"),))
        return Plan(Function("main", (X,), (rows, read), {"row": read.output}))

    given = {"x": np.ones(2, np.float32)}
    assert read_of(made(2)).run(given)["row"].tolist() == [0, 0]
    with pytest.raises(ShapeError, match="element 1 was never written"):
        read_of(made("rows")).run(given)
