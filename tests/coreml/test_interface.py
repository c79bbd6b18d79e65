"""The interface of a package: names, dtypes and ranks that Core ML can pass, and what becomes of others."""

from __future__ import annotations

import pytest
from hand_made import const, every_kind, node

from lucid.coreml.interface import fit_interface
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.renaming import renamed
from lucid.dtypes import DType, bool_, float16, float32, float64, int8, int32, uint16, uint32
from lucid.errors import UnsupportedError
from lucid.graph import Block, Function, Node, Value, verify

_IOS18 = DeploymentTarget.iOS18


def test_every_kind_of_input_and_output_fits() -> None:
    fitted = verify(fit_interface(every_kind(), _IOS18))
    assert [(value.name, value.dtype, value.shape) for value in fitted.inputs] == [
        ("flag", int32, (2,)),
        ("position", int32, (1,)),
        ("x", float32, (2,)),
    ]
    assert {name: (value.name, value.dtype) for name, value in fitted.outputs.items()} == {
        "inverse": ("inverse", int32),
        "y": ("y", float32),
        "again": ("again", float32),
        "same": ("same", float32),
        "fixed": ("fixed", float32),
    }
    assert [each.op for each in fitted.nodes] == [
        *("cast", "squeeze"),  # the inputs
        *("logical_not", "cast", "add"),
        *("cast", "identity", "identity", "identity"),  # the outputs
    ]
    assert "var_0_position_cast" in {value.name for each in fitted.nodes for value in each.outputs}


@pytest.mark.parametrize("dtype", [int8, uint16, bool_])
def test_small_types_travel_as_int32(dtype: DType) -> None:
    x = Value("x", dtype, ())
    fitted = verify(fit_interface(Function("main", (x,), (), {"y": x}), _IOS18))
    assert [each.op for each in fitted.nodes] == ["squeeze", "cast", "cast"]
    assert fitted.outputs["y"].dtype == int32
    assert fitted.outputs["y"].shape == ()


def test_fitting_function_stays_as_it_is() -> None:
    x = Value("x", float32, (2,))
    y = node("abs", "y", (2,), x=x)
    fitted = fit_interface(Function("main", (x,), (y,), {"y": y.output}), DeploymentTarget.iOS15)
    assert fitted.nodes == (y,)
    assert fitted.inputs == (x,)


def test_inner_value_with_the_name_of_an_output_or_input_gives_way() -> None:
    x = Value("x", float32, (2,))
    first = node("abs", "y", (2,), x=x)
    second = node("abs", "z", (2,), x=first.output)
    third = Node("abs", {"x": second.output}, (Value("w", float32, (2,)),))
    fitted = verify(fit_interface(Function("main", (x,), (first, second, third), {"y": third.output}), _IOS18))
    assert [each.output.name for each in fitted.nodes] == ["y_0", "z", "y"]


def test_names_inside_blocks_are_unique_too() -> None:
    x, flag = Value("x", float32, (2,)), Value("flag", float32, (2,))
    inner = [node("abs", "y", (2,), x=x), node("abs", "0", (2,), x=x)]
    blocks = tuple(Block((), (each,), (each.output,)) for each in inner)
    choice = Node("cond", {"pred": const(True)}, (Value("state", float32, (2,)),), blocks)
    fitted = verify(renamed(Function("main", (x, flag), (choice,), {"y": choice.output})))
    (cond,) = fitted.nodes
    assert cond.output.name == "y"
    assert [block.outputs[0].name for block in cond.blocks] == ["y_0", "var_0"]
    assert [block.outputs[0] for block in cond.blocks] == [block.nodes[0].output for block in cond.blocks]


def _passing(name: str, value: Value) -> Function:
    return Function("main", (value,), (), {name: value})


@pytest.mark.parametrize(
    ("function", "target", "message"),
    [
        (
            _passing("1/logits", Value("x", float32, (1,))),
            _IOS18,
            "output '1/logits': Core ML's names are letters, digits and underscores, begin with no digit and are no "
            "words of MIL. Name it 'var_1_logits'.",
        ),
        (
            _passing("y", Value("x.1", float32, (1,))),
            _IOS18,
            "input 'x.1': Core ML's names are letters, digits and underscores, begin with no digit and are no words of "
            "MIL. Name it 'x_1'.",
        ),
        (
            _passing("bool", Value("x", float32, (1,))),
            _IOS18,
            "output 'bool': Core ML's names are letters, digits and underscores, begin with no digit and are no words "
            "of MIL. Name it 'var_bool'.",
        ),
        (
            _passing("x", Value("x", float32, (1,))),
            _IOS18,
            "output 'x': there is an input of this name. Rename one of them.",
        ),
        (
            _passing("y", Value("x", float64, (1,))),
            _IOS18,
            "input x: its dtype is float64, a package takes float16, float32 and int32. Cast it.",
        ),
        (
            _passing("y", Value("x", uint32, (1,))),
            _IOS18,
            "input x: its dtype is uint32, a package takes float16, float32 and int32. Cast it.",
        ),
        (
            _passing("y", Value("x", float16, (1,))),
            DeploymentTarget.macOS12,
            "input x: its dtype is float16, which packages for macOS12 cannot pass. Use float32 there, or the "
            "deployment target iOS16, macOS13 or later.",
        ),
        (
            _passing("y", Value("x", float32, (1, 1, 1, 1, 1, 3))),
            _IOS18,
            "input x: it has 6 axes, (1, 1, 1, 1, 1, 3); Core ML's arrays have at most 5. Merge some with reshape.",
        ),
    ],
)
def test_refusals(function: Function, target: DeploymentTarget, message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        fit_interface(function, target)
    assert str(caught.value) == message


def test_float16_passes_from_ios16_on() -> None:
    function = _passing("y", Value("x", float16, (1,)))
    assert fit_interface(function, DeploymentTarget.iOS16).inputs == function.inputs
