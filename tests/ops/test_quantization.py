"""Quantization of activations against PyTorch, exact rational arithmetic and literal values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from lucid import ops
from lucid.errors import DTypeError, ShapeError
from lucid.ops.execution import execute

TORCH = {"int8": torch.qint8, "uint8": torch.quint8}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_one_scale_is_pytorchs(dtype: str) -> None:
    x = normal(3, 4, 50)
    for scale, zero in ((2.0**-5, 0), (2.0**-6, 7), (2.0**-4, 120)):
        point = np.array(zero, dtype)
        found = ops.quantize(x, np.float32(scale), dtype, point)
        expected = torch.quantize_per_tensor(torch.tensor(x), scale, zero, TORCH[dtype])
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, expected.int_repr().numpy())
        back = ops.dequantize(found, np.float32(scale), point)
        assert back.dtype == np.float32
        np.testing.assert_array_equal(back, expected.dequantize().numpy())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("axis", [0, 1, -1, -3])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_scales_along_an_axis_are_pytorchs(dtype: str, axis: int) -> None:
    x = normal(3, 4, 5)
    count = x.shape[axis]
    scales = (2.0 ** -np.arange(4, 4 + count)).astype(np.float32)
    points = np.arange(count).astype(dtype) * 9
    found = ops.quantize(x, scales, dtype, points, axis)
    expected = torch.quantize_per_channel(
        torch.tensor(x), torch.tensor(scales), torch.tensor(points.astype(np.int64)), axis % 3, TORCH[dtype]
    )
    np.testing.assert_array_equal(found, expected.int_repr().numpy())
    np.testing.assert_array_equal(ops.dequantize(found, scales, points, axis), expected.dequantize().numpy())


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_without_a_zero_point_it_is_zero(dtype: str) -> None:
    x, scale = normal(20), np.float32(0.0078125)
    found = ops.quantize(x, scale, dtype)
    np.testing.assert_array_equal(found, ops.quantize(x, scale, dtype, np.array(0, dtype)))
    np.testing.assert_array_equal(ops.dequantize(found, scale), found.astype(np.float32) * scale)


@pytest.mark.parametrize("scale", [0.1, 0.3, 1 / 3, 0.007])
def test_numbers_are_rounded_to_the_nearest(scale: float) -> None:
    """Against exact fractions: no integer is nearer, but for quotients that float32 itself rounds."""
    x = normal(300)
    scale = np.float32(scale)
    for number, found in zip(x.tolist(), ops.quantize(x, scale, "int8").tolist(), strict=True):
        quotient = Fraction(number) / Fraction(float(scale))
        if -128 < quotient < 127:
            assert abs(quotient - found) <= Fraction(1, 2) + Fraction(1, 10**5)
        else:
            assert found in (-128, 127)


def test_all_integers_come_back() -> None:
    for dtype in (np.int8, np.uint8):
        every = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
        for scale in (0.1, 3.7, 1e-3):
            numbers = ops.dequantize(every, np.float32(scale), np.array(5, dtype))
            back = ops.quantize(numbers, np.float32(scale), np.dtype(dtype).name, np.array(5, dtype))
            np.testing.assert_array_equal(back, every)


def test_halves_go_to_the_even_number_before_the_zero_point() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32)
    assert ops.quantize(x, np.float32(1), "int8", np.int8(1)).tolist() == [1, 3, 3, 1, -1]


def test_what_is_no_number_or_too_large() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -0.0], np.float32)
    assert ops.quantize(x, np.float32(1e-3), "int8").tolist() == [0, 127, -128, 127, 0]
    assert ops.quantize(x, np.float32(1e-3), "uint8", np.uint8(9)).tolist() == [0, 255, 0, 255, 9]


def test_float16() -> None:
    x, scale = normal(40).astype(np.float16), np.array(0.0123, np.float16)
    (found,) = execute(ops.quantize, ops.quantize.bind(x, scale, "int8"))
    expected = np.clip(np.round(x.astype(np.float32) / scale.astype(np.float32)), -128, 127)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.int8
    (back,) = execute(ops.dequantize, ops.dequantize.bind(found, scale))
    assert back.dtype == np.float16
    np.testing.assert_array_equal(back, (found.astype(np.float32) * scale.astype(np.float32)).astype(np.float16))


X, ONE = np.ones((2, 3), np.float32), np.float32(1)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("quantize", (X, ONE, "int16"), DTypeError, "output_dtype is 'int16', expected int8 or uint8"),
        ("quantize", (X, ONE, "int8", np.uint8(1)), DTypeError, "zero_point is uint8, expected int8"),
        ("quantize", (X, X[0], "int8"), ShapeError, r"scale has shape \(3,\) and axis is None"),
        ("quantize", (X, X[0], "int8", None, 0), ShapeError, r"scale has shape \(3,\), expected \(2,\) = x.shape\[0\]"),
        ("quantize", (X, X[0], "int8", np.int8(1), 1), ShapeError, r"zero_point has shape \(\), expected \(3,\)"),
        ("quantize", (X, X[0], "int8", None, 2), ShapeError, "axis is 2, expected -2 to 1"),
        ("dequantize", (X, ONE), DTypeError, "input is float32, expected int8 or uint8"),
        ("dequantize", (X.astype(np.int8), ONE, np.uint8(1)), DTypeError, "zero_point is uint8, expected int8"),
    ],
)
def test_refusals(name: str, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(ops, name)(*arguments)
