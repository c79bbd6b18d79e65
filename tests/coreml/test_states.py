"""State pairs: each rule refused with its own words, and the forms in which states come out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_made import cache, const, node

from lucid.coreml.options import DeploymentTarget, State
from lucid.coreml.states import check_states, make_stateful
from lucid.dtypes import DType, float16, float32, int32
from lucid.errors import StateError
from lucid.graph import Function, Node, Pair, Value, verify

_IOS18 = DeploymentTarget.iOS18


def _stateful(function: Function, *states: tuple[str, str]) -> Function:
    pairs = check_states([State(*ends) for ends in states], function, _IOS18)
    return verify(make_stateful(verify(replace(function, pairs=pairs))))


def _lines(function: Function) -> list[str]:
    return [
        f"{' '.join(value.name for value in each.outputs)} = {each.op}("
        + " ".join(
            value.name or "const"
            for argument in each.inputs.values()
            for value in (argument if isinstance(argument, tuple) else (argument,))
        )
        + ")"
        for each in function.nodes
    ]


def test_pairs_of_a_sound_declaration() -> None:
    function = cache()
    (pair,) = check_states([State("cache", "output_0")], function, DeploymentTarget.macOS15)
    assert (pair.input, pair.output) == (function.inputs[1], "output_0")
    assert check_states([], function, DeploymentTarget.iOS15) == ()


def _two_ended(start: Value, end: Value, *more: Node) -> Function:
    x = Value("x", float32, (1,))
    y = node("add", "y", (1,), x=x, y=x)
    return Function("main", (x, start), (y, *more), {"out": end, "y": y.output})


def _pair_of(shape: tuple[int | None, ...], dtype: DType = float16) -> Function:
    held = Value("held", dtype, shape)
    new = node("abs", "new", shape, dtype, x=held)
    return _two_ended(held, new.output, new)


def _mismatch(shape: tuple[int, ...], dtype: DType) -> Function:
    held = Value("held", float32, (1, 4))
    new = node("make", "new", shape, dtype, x=held)
    return _two_ended(held, new.output, new)


def _unchanged() -> Function:
    held = Value("held", float32, (4,))
    same = node("identity", "same", (4,), x=held)
    twice = node("identity", "twice", (4,), x=same.output)
    return _two_ended(held, twice.output, same, twice)


def _only(function: Function, *, inputs: slice = slice(None), outputs: tuple[str, ...] | None = None) -> Function:
    kept = {name: value for name, value in function.outputs.items() if outputs is None or name in outputs}
    return replace(function, inputs=function.inputs[inputs], outputs=kept)


_HELD = [State("held", "out")]


@pytest.mark.parametrize(
    ("function", "states", "target", "message"),
    [
        (
            cache(),
            [State("cache", "output_0")],
            DeploymentTarget.iOS17,
            "deployment target iOS17: packages carry states from iOS18, macOS15, watchOS11 and tvOS18 on. "
            "Raise the target, or declare no states.",
        ),
        (
            cache(),
            [State("cahce", "output_0")],
            _IOS18,
            "state cahce <- output_0: no input 'cahce'; the model takes x, cache. Did you mean 'cache'?",
        ),
        (
            cache(),
            [State("cache", "y")],
            _IOS18,
            "state cache <- y: no output 'y'; the model returns output_0, output_1. Name one of the outputs.",
        ),
        (
            cache(),
            [State("cache", "output_0"), State("cache", "output_1")],
            _IOS18,
            "state cache <- output_1: the input 'cache' is in two states. Declare it in one of them.",
        ),
        (
            replace(cache(), inputs=(*cache().inputs, Value("other", float16, (2, 4)))),
            [State("other", "output_0"), State("other", "output_1")],
            _IOS18,
            "state other <- output_1: the input 'other' is in two states. Declare it in one of them.",
        ),
        (
            _mismatch((1, 8), float32),
            _HELD,
            _IOS18,
            "state held <- out: the input has shape (1, 4), the output (1, 8). Return the state in its own shape.",
        ),
        (
            _mismatch((1, 4), float16),
            _HELD,
            _IOS18,
            "state held <- out: the input has dtype float32, the output float16. Cast the output to float32.",
        ),
        (
            _pair_of((1,), int32),
            _HELD,
            _IOS18,
            "state held <- out: its dtype is int32, Core ML keeps states in float16. "
            "Keep it as a floating-point value, or pass it as an input on every call.",
        ),
        (
            _pair_of((1, None)),
            _HELD,
            _IOS18,
            "state held <- out: its shape (1, None) is flexible, a state's is fixed. Give every axis a size.",
        ),
        (
            _pair_of((1, 1, 1, 1, 1, 2)),
            _HELD,
            _IOS18,
            "state held <- out: its shape (1, 1, 1, 1, 1, 2) has 6 axes, a state 1 to 5. Reshape it.",
        ),
        (_pair_of(()), _HELD, _IOS18, "state held <- out: its shape () has 0 axes, a state 1 to 5. Reshape it."),
        (
            _unchanged(),
            _HELD,
            _IOS18,
            "state held <- out: the model returns the input as it came, so the state is never written. "
            "Return the new value, or drop the state.",
        ),
        (
            _only(cache(), inputs=slice(1, None)),
            [State("cache", "output_0")],
            _IOS18,
            "states cache: every input is a state, and a package needs one that the caller passes. "
            "Give the model an input that is none.",
        ),
        (
            _only(cache(), outputs=("output_0",)),
            [State("cache", "output_0")],
            _IOS18,
            "states output_0: every output is written to a state, and a package needs one that the caller gets. "
            "Return a value more.",
        ),
    ],
)
def test_refusals(function: Function, states: list[State], target: DeploymentTarget, message: str) -> None:
    with pytest.raises(StateError) as caught:
        check_states(states, function, target)
    assert str(caught.value) == message
    assert caught.value.code == 5


def test_one_output_cannot_be_written_to_two_states() -> None:
    function = replace(cache(), inputs=(*cache().inputs, Value("other", float16, (2, 4))))
    function = replace(function, inputs=(function.inputs[0], Value("cache", float16, (2, 4)), function.inputs[2]))
    with pytest.raises(StateError, match=r"state other <- output_0: the output 'output_0' is in two states\."):
        check_states([State("cache", "output_0"), State("other", "output_0")], function, _IOS18)


def test_cache_write_is_read_update_write() -> None:
    function = _stateful(cache(), ("cache", "output_0"))
    assert _lines(function) == [
        "cache_read = read_state(cache)",
        "new = slice_update(cache_read x const const)",
        " = write_state(cache new)",
        "twice = mul(new const)",
    ]
    assert [value.name for value in function.inputs] == ["x"]
    assert list(function.outputs) == ["output_1"]
    assert [(value.name, value.dtype, value.shape) for value in function.states] == [("cache", float16, (2, 4))]
    assert function.pairs == ()


def test_float32_pair_is_cast_at_read_and_write() -> None:
    assert _lines(_stateful(cache(float32), ("cache", "output_0"))) == [
        "cache_read = read_state(cache)",
        "cache_fp32 = cast(cache_read cache_fp32_dtype)",
        "new = slice_update(cache_fp32 x const const)",
        "cache_fp16 = cast(new cache_fp16_dtype)",
        " = write_state(cache cache_fp16)",
        "twice = mul(new const)",
    ]


def test_written_value_that_is_returned_too_is_read_back() -> None:
    function = cache()
    function = replace(function, outputs={**function.outputs, "copy": function.outputs["output_0"]})
    made = _stateful(function, ("cache", "output_0"))
    assert _lines(made) == [
        "cache_read = read_state(cache)",
        "new = slice_update(cache_read x const const)",
        " = write_state(cache new)",
        "cache_written = read_state(cache)",
        "twice = mul(new const)",
        "new_returned = identity(cache_written)",
    ]
    assert made.outputs["copy"].name == "new_returned"


def test_view_of_a_written_value_is_taken_of_what_is_read_back() -> None:
    function = cache()
    new = function.outputs["output_0"]
    shape = const(np.array([8], np.int32), "shape")
    flat = node("reshape", "flat", (8,), float16, x=new, shape=shape)
    wide = node("expand_dims", "wide", (1, 8), float16, x=flat.output, axes=const(np.array([0], np.int32), "axes"))
    function = replace(function, nodes=(*function.nodes, flat, wide), outputs={**function.outputs, "wide": wide.output})
    lines = _lines(_stateful(function, ("cache", "output_0")))
    assert lines[3] == "cache_written = read_state(cache)"
    assert lines[-3:] == [
        "flat_0 = reshape(cache_written shape)",
        "wide_0 = expand_dims(flat_0 axes)",
        "wide_returned = identity(wide_0)",
    ]


def test_float32_output_keeps_its_precision_beside_a_state() -> None:
    function = cache(float32)
    function = replace(function, outputs={**function.outputs, "copy": function.outputs["output_0"]})
    lines = _lines(_stateful(function, ("cache", "output_0")))
    assert lines[-1] == "new_returned = identity(new)"
    assert sum("read_state" in line for line in lines) == 1


def test_source_of_a_written_view_is_detached() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (2, 2))
    flat = node("reshape", "flat", (4,), float16, x=held, shape=const(np.array([4], np.int32)))
    total = node("add", "total", (4,), float16, x=flat.output, y=x)
    back = node("reshape", "back", (2, 2), float16, x=total.output, shape=const(np.array([2, 2], np.int32)))
    function = Function("main", (x, held), (flat, total, back), {"new": back.output, "total": total.output})
    made = _stateful(function, ("held", "new"))
    assert made.outputs["total"].name == "total_returned"
    assert _lines(made)[-1] == "total_returned = identity(total)"


def test_returned_value_that_a_state_is_computed_from_is_detached() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (4,))
    mixed = node("add", "mixed", (4,), float16, x=held, y=x)
    new = node("mul", "new", (4,), float16, x=mixed.output, y=x)
    other = node("abs", "other", (4,), float16, x=x)
    outputs = {"new": new.output, "mixed": mixed.output, "other": other.output}
    made = _stateful(Function("main", (x, held), (mixed, new, other), outputs), ("held", "new"))
    assert _lines(made)[-1] == "mixed_returned = identity(mixed)"
    assert made.outputs["mixed"].name == "mixed_returned"
    assert made.outputs["other"] is other.output


def test_write_waits_until_the_old_value_is_no_longer_needed() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (4,))
    new = node("add", "new", (4,), float16, x=held, y=x)
    flat = node("expand_dims", "flat", (1, 4), float16, x=held, axes=const(np.array([0], np.int32)))
    late = node("mul", "late", (1, 4), float16, x=flat.output, y=x)
    function = Function("main", (x, held), (new, flat, late), {"new": new.output, "late": late.output})
    assert _lines(_stateful(function, ("held", "new"))) == [
        "held_read = read_state(held)",
        "new = add(held_read x)",
        "flat = expand_dims(held_read const)",
        "late = mul(flat x)",
        " = write_state(held new)",
    ]


def test_new_value_made_before_the_old_one_is_read() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (4,))
    new = node("abs", "new", (4,), float16, x=x)
    last = node("add", "last", (4,), float16, x=held, y=x)
    function = Function("main", (x, held), (new, last), {"new": new.output, "last": last.output})
    assert _lines(_stateful(function, ("held", "new"))) == [
        "new = abs(x)",
        "held_read = read_state(held)",
        "last = add(held_read x)",
        " = write_state(held new)",
    ]


def test_input_may_be_written_as_it_is() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (4,))
    total = node("add", "total", (4,), float16, x=held, y=x)
    function = Function("main", (x, held), (total,), {"new": x, "total": total.output})
    assert _lines(_stateful(function, ("held", "new"))) == [
        "held_read = read_state(held)",
        "total = add(held_read x)",
        " = write_state(held x)",
    ]


def test_states_may_change_places() -> None:
    x, a, b = (Value(name, float16, (4,)) for name in ("x", "a", "b"))
    total = node("add", "total", (4,), float16, x=a, y=x)
    function = Function("main", (x, a, b), (total,), {"new_a": b, "new_b": a, "total": total.output})
    lines = _lines(_stateful(function, ("a", "new_a"), ("b", "new_b")))
    assert lines == [
        "a_read = read_state(a)",
        "total = add(a_read x)",
        "b_read = read_state(b)",
        " = write_state(a b_read)",
        " = write_state(b a_read)",
    ]


def test_state_that_is_returned_as_it_was() -> None:
    x, held = Value("x", float16, (4,)), Value("held", float16, (4,))
    new = node("add", "new", (4,), float16, x=held, y=x)
    function = Function("main", (x, held), (new,), {"new": new.output, "old": held})
    made = _stateful(function, ("held", "new"))
    assert made.outputs["old"].name == "held_read"
    assert _lines(made)[-1] == " = write_state(held new)"


def test_shift_register_is_a_pair() -> None:
    x, held = Value("x", float16, (1, 1)), Value("held", float16, (1, 3))
    axis, off = const(np.int32(1)), const(np.bool_(False))
    both = node("concat", "both", (1, 4), float16, values=(held, x), axis=axis, interleave=off)
    new = node("slice_by_index", "new", (1, 3), float16, x=both.output, begin=const(np.array([0, 1], np.int32)))
    total = node("reduce_sum", "total", (1,), float16, x=new.output)
    function = Function("main", (x, held), (both, new, total), {"new": new.output, "total": total.output})
    assert _lines(_stateful(function, ("held", "new"))) == [
        "held_read = read_state(held)",
        "both = concat(held_read x const const)",
        "new = slice_by_index(both const)",
        " = write_state(held new)",
        "total = reduce_sum(new)",
    ]


def test_function_without_pairs_stays() -> None:
    function = cache()
    assert make_stateful(function) is function


def test_pair_is_plain_data() -> None:
    function = cache()
    assert verify(replace(function, pairs=(Pair(function.inputs[1], "output_0"),))).pairs[0].output == "output_0"
