"""Poolings against PyTorch in float64, and hand-worked cases at the borders."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lucid import ops
from lucid.errors import ShapeError
from lucid.ops.execution import execute

AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
LARGEST = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
NINE = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def double(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array).double()


def close(found: np.ndarray, expected: torch.Tensor) -> None:
    assert found.dtype == np.float32
    assert found.shape == tuple(expected.shape)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("is_ceil", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pools_are_pytorchs(axes: int, is_ceil: bool) -> None:
    """Every kernel, stride and padding that both can express; with ceil_mode Core ML has one or two axes."""
    x = normal(2, 3, *(7, 6, 5)[:axes])
    tried = 0
    for k, stride, pad in product((1, 2, 3), (1, 2, 3), (0, 1)):
        kernel, strides = (k, 2, 3)[:axes], (stride, 1, 2)[:axes]
        if pad > k // 2:
            continue
        pads = (pad, 1, 0)[:axes]
        shared = {
            "strides": strides,
            "pad_type": "custom",
            "pad": tuple(np.repeat(pads, 2).tolist()),
            "ceil_mode": is_ceil,
        }
        largest = LARGEST[axes](double(x), kernel, strides, pads, ceil_mode=is_ceil)
        ends = zip(largest.shape[2:], x.shape[2:], kernel, strides, pads, strict=True)
        is_beyond = any(-(-(size + 2 * p - k) // s) + 1 > count and not p for count, size, k, s, p in ends)
        if is_ceil and (axes == 3 or is_beyond):  # PyTorch drops a window that MIL would keep, or MIL has no such pool
            with pytest.raises(ShapeError, match="ceil_mode"):
                ops.max_pool(x, kernel, **shared)
            continue
        found = ops.max_pool(x, kernel, **shared)
        tried += 1
        close(found, largest)
        close(
            ops.avg_pool(x, kernel, exclude_padding_from_average=True, **shared),
            AVERAGE[axes](double(x), kernel, strides, pads, is_ceil, False),
        )
        if not is_ceil:
            close(ops.avg_pool(x, kernel, **shared), AVERAGE[axes](double(x), kernel, strides, pads, False, True))
        if axes < 3:
            squares = ops.l2_pool(x, kernel, **shared) ** 2
            np.testing.assert_allclose(squares, square_sums(x, kernel, strides, pads, found.shape), rtol=1e-5)
    assert tried >= (0 if is_ceil and axes == 3 else 10)


def square_sums(x: np.ndarray, kernel: Any, strides: Any, pads: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the sums of squares under each window, by a loop over the windows."""
    out = np.zeros(shape)
    for place in product(*map(range, shape[2:])):
        window = tuple(
            slice(max(0, i * s - p), max(0, i * s - p + k))
            for i, s, p, k in zip(place, strides, pads, kernel, strict=True)
        )
        out[(..., *place)] = (x[(..., *window)].astype(np.float64) ** 2).sum(axis=tuple(range(2, x.ndim)))
    return out


def test_a_window_over_the_end_is_not_padding() -> None:
    """0 to 8 in a square: means of what each window holds, or of the whole window where padding counts."""
    shared: dict[str, Any] = {"strides": (2, 2), "pad_type": "valid", "ceil_mode": True}
    found = ops.avg_pool(NINE, (2, 2), exclude_padding_from_average=True, **shared)
    assert found.tolist() == [[[[2.0, 3.5], [6.5, 8.0]]]]
    assert ops.avg_pool(NINE, (2, 2), **shared).tolist() == [[[[2.0, 1.75], [3.25, 2.0]]]]
    assert ops.max_pool(NINE - 9, (2, 2), **shared).tolist() == [[[[-5.0, -4.0], [-2.0, -1.0]]]]
    np.testing.assert_allclose(ops.l2_pool(NINE, (2, 2), **shared) ** 2, [[[[26.0, 29.0], [85.0, 64.0]]]], rtol=1e-6)


@pytest.mark.parametrize(
    ("pad_type", "kernel", "stride", "largest", "average"),
    [
        ("same", 2, 1, [2, 3, 4, 5, 5], [1.5, 2.5, 3.5, 4.5, 5.0]),
        ("same_lower", 2, 1, [1, 2, 3, 4, 5], [1.0, 1.5, 2.5, 3.5, 4.5]),
        ("same", 3, 2, [2, 4, 5], [1.5, 3.0, 4.5]),
        ("same", 2, 2, [2, 4, 5], [1.5, 3.5, 5.0]),
        ("same_lower", 2, 2, [1, 3, 5], [1.0, 2.5, 4.5]),
        ("same", 1, 3, [1, 4], [1.0, 4.0]),
        ("valid", 2, 2, [2, 4], [1.5, 3.5]),
    ],
)
def test_pad_types_by_hand(pad_type: str, kernel: int, stride: int, largest: list[int], average: list[float]) -> None:
    x = np.arange(1, 6, dtype=np.float32)[None, None]
    assert ops.max_pool(x - 9, (kernel,), strides=(stride,), pad_type=pad_type).tolist() == [[[v - 9 for v in largest]]]
    found = ops.avg_pool(x, (kernel,), strides=(stride,), pad_type=pad_type, exclude_padding_from_average=True)
    assert found.tolist() == [[average]]


def test_strides_default_to_1() -> None:
    assert ops.max_pool(NINE, (2, 2), pad_type="valid").tolist() == [[[[4.0, 5.0], [7.0, 8.0]]]]


def test_a_maximum_keeps_nan_and_minus_infinity() -> None:
    x = np.array([[[1.0, np.nan, 2.0, -np.inf, -np.inf]]], np.float32)
    found = ops.max_pool(x, (2,), pad_type="valid")[0, 0].tolist()
    assert np.isnan(found[:2]).all()
    assert found[2:] == [2.0, -np.inf]


def test_windows_wholly_in_the_padding() -> None:
    x = np.ones((1, 1, 1), np.float32)
    shared: dict[str, Any] = {"pad_type": "custom", "pad": (2, 0)}
    assert ops.max_pool(x, (1,), **shared).tolist() == [[[-np.inf, -np.inf, 1.0]]]
    assert ops.avg_pool(x, (1,), **shared).tolist() == [[[0.0, 0.0, 1.0]]]
    assert np.isnan(ops.avg_pool(x, (1,), exclude_padding_from_average=True, **shared)[0, 0, :2]).all()


def test_half_precision() -> None:
    x = np.full((1, 1, 64, 64), 100, np.float16)
    for name, value in (("avg_pool", 100.0), ("max_pool", 100.0), ("l2_pool", 6400.0)):
        record = ops.find(name)
        (found,) = execute(record, record.bind(x, (64, 64), pad_type="valid"))
        assert (found.dtype, found.tolist()) == (np.float16, [[[[value]]]])


def test_an_empty_batch() -> None:
    for pool in (ops.avg_pool, ops.max_pool, ops.l2_pool):
        assert pool(normal(0, 2, 5, 5), (2, 2), pad_type="same").shape == (0, 2, 5, 5)


def test_inputs_are_left_alone() -> None:
    x = normal(1, 2, 4)
    for pool in (ops.avg_pool, ops.max_pool, ops.l2_pool):
        pool(x, (2,), pad_type="valid")
    np.testing.assert_array_equal(x, normal(1, 2, 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_sizes": (2,), "pad_type": "valid"}, r"max_pool: kernel_sizes is \(2,\), expected 2 values"),
        ({"kernel_sizes": (4, 1), "pad_type": "valid"}, r"a window of \(4, 1\) does not fit"),
        ({"kernel_sizes": (2, 2), "pad_type": "same", "ceil_mode": True}, "ceil_mode does not go with"),
        (
            {"kernel_sizes": (2, 2), "pad_type": "custom", "pad": (0, 1, 0, 0), "ceil_mode": True},
            "equal padding on both",
        ),
        ({"kernel_sizes": (1, 1), "strides": (3, 2), "pad_type": "valid", "ceil_mode": True}, "wholly behind an axis"),
        ({"kernel_sizes": (2, 2), "pad_type": "full"}, "pad_type is 'full'"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        ops.max_pool(NINE[..., :2, :] if arguments["kernel_sizes"] == (1, 1) else NINE, **arguments)


def test_l2_pool_has_two_spatial_axes_at_most() -> None:
    with pytest.raises(ShapeError, match="with 1 to 2 spatial axes"):
        ops.l2_pool(normal(1, 1, 2, 2, 2), (1, 1, 1), pad_type="valid")
