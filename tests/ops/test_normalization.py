"""Normalizations against PyTorch in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lucid import ops
from lucid.errors import ShapeError
from lucid.ops.execution import execute

SHAPES = [(2, 3, 5), (1, 4, 3, 2), (2, 3, 4, 1, 2), (3, 2)]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def double(values: np.ndarray | None) -> torch.Tensor | None:
    return None if values is None else torch.tensor(values).double()


def close(found: np.ndarray, expected: torch.Tensor) -> None:
    assert found.dtype == np.float32
    assert found.shape == tuple(expected.shape)
    np.testing.assert_allclose(found, expected.numpy(), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("has_gamma", "has_beta"), [(True, True), (True, False), (False, True), (False, False)])
def test_batch_norm_is_pytorchs(shape: tuple[int, ...], has_gamma: bool, has_beta: bool) -> None:
    x, mean, c = normal(*shape), normal(shape[1]), shape[1]
    variance = np.abs(normal(1, c)[0])
    gamma, beta = (normal(2, c)[0] if has else None for has in (has_gamma, has_beta))
    expected = F.batch_norm(double(x), double(mean), double(variance), double(gamma), double(beta), eps=1e-3)
    close(ops.batch_norm(x, mean, variance, gamma, beta, 1e-3), expected)
    assert np.array_equal(x, normal(*shape))


def test_batch_norm_keeps_small_differences_from_a_large_mean() -> None:
    """x - mean comes first: folded into one product and one sum, 10000.5 - 10000 would lose its digits."""
    one = np.ones(1, np.float32)
    found = ops.batch_norm(np.array([[[10000.5]]], np.float32), 10000 * one, 1e-4 * one, None, None, 0.0)
    np.testing.assert_allclose(found, [[[50.0]]], rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("is_affine", [False, True])
def test_instance_norm_is_pytorchs(shape: tuple[int, ...], is_affine: bool) -> None:
    x = normal(*shape)
    gamma, beta = (normal(i, shape[1])[0] if is_affine else None for i in (1, 2))
    expected = F.instance_norm(double(x), weight=double(gamma), bias=double(beta), eps=1e-3)
    close(ops.instance_norm(x, gamma, beta, 1e-3), expected)


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 3, 4, 5), (2, 2, 3, 1, 2)])
def test_l2_norm_divides_by_the_norm_of_the_last_three_axes(shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    norms = torch.linalg.vector_norm(double(x), dim=(-3, -2, -1), keepdim=True)
    close(ops.l2_norm(x, 1e-3), double(x) / (norms**2 + 1e-3).sqrt())


@pytest.mark.parametrize("axes", [(3,), (-1,), (2, 3), (-1, -2), (1, 2, 3), None])
@pytest.mark.parametrize("is_affine", [False, True])
def test_layer_norm_is_pytorchs(axes: tuple[int, ...] | None, is_affine: bool) -> None:
    x = normal(2, 3, 4, 5)
    shape = x.shape[-len(axes) :] if axes else x.shape
    gamma, beta = (i * normal(*shape) if is_affine else None for i in (1, 2))
    close(ops.layer_norm(x, axes, gamma, beta, 1e-3), F.layer_norm(double(x), shape, double(gamma), double(beta), 1e-3))


@pytest.mark.parametrize("axes", [(1,), (0, 2), (-3, 3), (2, 1)])
def test_layer_norm_over_axes_in_the_middle(axes: tuple[int, ...]) -> None:
    x = normal(2, 3, 4, 5)
    chosen = sorted(axis % 4 for axis in axes)
    rest = [axis for axis in range(4) if axis not in chosen]
    gamma, beta = (i * normal(*(x.shape[axis] for axis in chosen)) for i in (1, 2))
    moved = double(x).permute(*rest, *chosen)
    expected = F.layer_norm(moved, gamma.shape, double(gamma), double(beta), 1e-3)
    close(ops.layer_norm(x, axes, gamma, beta, 1e-3), expected.permute(*np.argsort([*rest, *chosen]).tolist()))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 6, 2, 3), (1, 1, 4)])
def test_local_response_norm_is_pytorchs(shape: tuple[int, ...], size: int) -> None:
    x = normal(*shape)
    close(ops.local_response_norm(x, size, 0.5, 0.6, 1.5), F.local_response_norm(double(x), size, 0.5, 0.6, 1.5))
    close(ops.local_response_norm(x, size), F.local_response_norm(double(x), size))


def test_half_precision_does_not_overflow() -> None:
    x = np.array([[[1000, 2000, 3000, 4000]]], np.float16)
    calls = {"layer_norm": {"axes": (-1,)}, "instance_norm": {}, "l2_norm": {}}
    for name, arguments in calls.items():
        record = ops.find(name)
        (found,) = execute(record, record.bind(x=x, **arguments))
        wide = x.astype(np.float64)
        centred = wide - wide.mean() if name != "l2_norm" else wide
        scale = np.sqrt((centred**2).sum() / (1 if name == "l2_norm" else 4))
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, centred / scale, rtol=1e-3)


def test_a_constant_row_gives_the_offset() -> None:
    x = np.zeros((1, 4), np.float32)
    assert ops.layer_norm(x, (-1,), None, np.full(4, 3, np.float32)).tolist() == [[3.0] * 4]


@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 3, 0)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, np.float32)
    assert ops.layer_norm(x, (-1,)).shape == shape
    assert ops.instance_norm(x).shape == shape
    assert ops.l2_norm(x).shape == shape
    assert ops.local_response_norm(x, 3).shape == shape
    assert ops.batch_norm(x, np.zeros(3, np.float32), np.ones(3, np.float32)).shape == shape


def test_parameters_that_would_broadcast_are_refused() -> None:
    x, eight = normal(2, 8), np.ones(8, np.float32)
    with pytest.raises(ShapeError) as caught:
        ops.layer_norm(x, (-1,), eight, np.ones(4, np.float32))
    assert str(caught.value) == (
        "layer_norm: beta has shape (4,), expected (8,) = x.shape[axes]. Pass one value per normalised feature."
    )
    with pytest.raises(ShapeError, match=r"layer_norm: beta has shape \(1,\)"):
        ops.layer_norm(x, (-1,), None, np.ones(1, np.float32))
    with pytest.raises(ShapeError, match=r"layer_norm: gamma has shape \(1, 8\)"):
        ops.layer_norm(x, (-1,), np.ones((1, 8), np.float32))
    with pytest.raises(ShapeError, match="layer_norm: axes is 2, expected -2 to 1"):
        ops.layer_norm(x, (2,))
    with pytest.raises(ShapeError, match=r"batch_norm: variance has shape \(1,\), expected \(8,\) = x\.shape\[1:2\]"):
        ops.batch_norm(x, eight, eight[:1])
    with pytest.raises(ShapeError, match=r"instance_norm: beta has shape \(1,\), expected \(8,\)"):
        ops.instance_norm(x, eight, eight[:1])
    with pytest.raises(ShapeError, match=r"batch_norm: x has shape \(8,\)"):
        ops.batch_norm(eight, eight, eight)
    with pytest.raises(ShapeError, match="l2_norm: x has shape"):
        ops.l2_norm(x)
    with pytest.raises(ShapeError, match=r"local_response_norm: .* size is 0"):
        ops.local_response_norm(x[None], 0)
