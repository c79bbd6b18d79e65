"""The same numbers in the words of another opset, where definitions of MIL differ in more than their inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hand_made import const, node
from single import function_of, outcome

from lucid import ops
from lucid.coreml.opset import fit_opset
from lucid.coreml.options import DeploymentTarget as Target
from lucid.dtypes import float16, float32
from lucid.errors import UnsupportedError
from lucid.graph import Constant, Node, Value, verify
from lucid.ops.execution import execute

TARGETS = [Target.iOS15, Target.iOS16, Target.iOS17, Target.iOS18]
OLD, NEW = TARGETS[:2], TARGETS[2:]
X = Value("x", float32, (2, 3))


@pytest.mark.parametrize("bounds", [(3.0, 2.0), (2.0, 2.0)])
def test_bounds_that_cross(bounds: tuple[float, float]) -> None:
    low, high = (const(np.float32(bound)) for bound in bounds)
    function = function_of(node("clip", "y", (2, 3), x=X, alpha=low, beta=high))
    for target in TARGETS:
        fitted = verify(fit_opset(function, target))
        assert ("clip" in [each.op for each in fitted.nodes]) is (target in OLD)
        found = outcome(fitted, x=np.array([[1.0, 2.0, 2.5], [3.0, 9.0, -np.inf]], np.float32))
        assert found.tolist() == [[2.0] * 3] * 2
    ordered = function_of(node("clip", "y", (2, 3), x=X, alpha=const(np.float32(1)), beta=high))
    assert [each.op for each in fit_opset(ordered, Target.iOS18).nodes] == ["clip"]


def test_zeros_in_a_shape() -> None:
    shape = const(np.array([1, 0, -1, 0], np.int32))
    function = function_of(node("reshape", "y", (1, 1, 2, 3), x=X, shape=shape))
    written = {}
    for target in TARGETS:
        fitted = fit_opset(function, target)
        (argument,) = (each.inputs["shape"] for each in fitted.nodes)
        assert isinstance(argument, Constant)
        assert not isinstance(argument.data, str)
        written[target] = argument.data.tolist()
        assert outcome(fitted, x=np.zeros((2, 3), np.float32)).shape == (1, 1, 2, 3)
    assert written == {target: [1, 1, 2, 3] if target in OLD else [1, 0, -1, 0] for target in TARGETS}

    open_ = Value("x", float32, (None, 3))
    flexible = function_of(node("reshape", "y", (1, 1, None, 3), x=open_, shape=shape))
    with pytest.raises(UnsupportedError, match=r"\(1, 0, -1, 0\) has a 0 for a size of %x.*since iOS17.*is iOS16"):
        fit_opset(flexible, Target.iOS16)
    same_rank = function_of(node("reshape", "y", (None, 3), x=open_, shape=const(np.array([0, 3], np.int32))))
    assert fit_opset(same_rank, Target.iOS15).nodes[0].inputs["shape"] is same_rank.nodes[0].inputs["shape"]


@pytest.mark.parametrize(
    ("op", "tensor", "indices", "more", "counted"),
    [
        ("gather", (2, 3), [-1, 0, 1], {"axis": 1}, [2, 0, 1]),
        ("gather", (2, 3), [-1, 1], {}, [1, 1]),
        ("gather_along_axis", (2, 2), [[-1, 0], [1, -2]], {"axis": -1}, [[1, 0], [1, 0]]),
        ("gather_nd", (2, 3), [[-1, -1], [0, -3]], {}, [[1, 2], [0, 0]]),
        ("gather_nd", (2, 3), [[-1], [-2]], {"batch_dims": 1}, [[2], [1]]),
        ("scatter", (2, 3), [-1], {"axis": 1}, [2]),
        ("scatter_along_axis", (2, 3), [[-1], [0]], {"axis": 1}, [[2], [0]]),
        ("scatter_nd", (2, 3), [[-2, 1]], {}, [[0, 1]]),
    ],
)
def test_constant_indices_count_from_the_front(
    op: str, tensor: tuple[int, ...], indices: Any, more: dict[str, int], counted: Any
) -> None:
    name = "data" if op.startswith("scatter") else "x"
    source = Value(name, float32, tensor)
    places = const(np.array(indices, np.int32))
    others = {key: const(np.int32(value)) for key, value in more.items()}
    (data, *_) = arrays = [np.arange(np.prod(tensor), dtype=np.float32).reshape(tensor)]
    arguments: dict[str, Any] = {name: source, "indices": places, **others}
    if name == "data":
        shape = (1,) if op == "scatter_nd" else (2, 1)
        arguments["updates"] = const(np.full(shape, 7, np.float32))
    record = ops.find(op)
    plain = {key: value.data for key, value in arguments.items() if isinstance(value, Constant) and key not in more}
    expected = execute(record, record.bind(**{name: data, **plain, **more}))[0]
    function = function_of(Node(op, arguments, (Value("y", float32, expected.shape),)))
    for target in TARGETS[1:] if "batch_dims" in more else TARGETS:
        fitted = fit_opset(function, target)
        (argument,) = (each.inputs["indices"] for each in fitted.nodes)
        assert isinstance(argument, Constant)
        assert not isinstance(argument.data, str)
        assert argument.data.tolist() == (indices if target in OLD else counted)
        np.testing.assert_array_equal(outcome(fitted, **{name: arrays[0]}), expected)


def test_indices_from_the_end_of_an_open_size_are_refused() -> None:
    open_ = Value("x", float32, (None, 3))
    function = function_of(node("gather", "y", (1, 3), x=open_, indices=const(np.array([-1], np.int32))))
    assert fit_opset(function, Target.iOS16).nodes[0].inputs["indices"] is function.nodes[0].inputs["indices"]
    with pytest.raises(UnsupportedError, match=r"operation gather \(-> y\): its indices count from the end of %x"):
        fit_opset(function, Target.iOS17)


def test_floating_inputs_share_a_dtype_before_ios17() -> None:
    """A constant takes the dtype of x where float16 holds it; otherwise all is computed in float32 and rounded once."""
    half = Value("x", float16, (4,))
    numbers = np.array([0.0, 0.5, 1.0, 4.0], np.float16)
    for epsilon, is_lost in ((0.25, False), (1e-9, True)):
        function = function_of(node("log", "y", (4,), float16, x=half, epsilon=const(np.float32(epsilon))))
        expected = np.log(numbers.astype(np.float64) + epsilon)
        for target in TARGETS:
            fitted = verify(fit_opset(function, target))
            names = [each.op for each in fitted.nodes]
            assert names == (["cast", "log", "cast"] if is_lost and target in OLD else ["log"])
            (logarithm,) = (each for each in fitted.nodes if each.op == "log")
            dtypes = [value.dtype for value in logarithm.inputs.values() if isinstance(value, Value)]
            assert len(set(dtypes)) == (1 if target in OLD else 2)
            found = outcome(fitted, x=numbers)
            assert found.dtype == np.float16
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    product = function_of(
        node("matmul", "y", (2, 2), float16, x=Value("x", float16, (2, 3)), y=Value("y_in", float32, (3, 2)))
    )
    assert [each.op for each in verify(fit_opset(product, Target.iOS16)).nodes] == ["cast", "matmul", "cast"]
    assert [each.op for each in fit_opset(product, Target.iOS17).nodes] == ["matmul"]
