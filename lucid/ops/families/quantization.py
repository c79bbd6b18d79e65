"""Linear quantization of activations: numbers as integers of 8 bits, with a scale and a zero point.

``scale`` and ``zero_point`` are one number each, or one for each place along ``axis``; without a zero point it is 0.
``axis`` says nothing where they are single numbers. Shapes that do not fit raise ShapeError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lucid.errors import DTypeError, ShapeError
from lucid.ops.array import Array, namespace
from lucid.ops.axes import resolve_axis
from lucid.ops.record import operation, sample

__all__ = ["dequantize", "quantize"]

_INT8, _UINT8 = np.dtype(np.int8), np.dtype(np.uint8)
_QUANTIZED = {"int8": (_INT8, -128, 127), "uint8": (_UINT8, 0, 255)}


def _along(name: str, what: str, values: Any, x: Any, axis: int | None) -> Any:
    """Return ``values`` shaped to broadcast along ``axis`` of `x`."""
    if values.ndim == 0:
        return values
    if values.ndim != 1 or axis is None:
        raise ShapeError(
            f"{name}: {what} has shape {values.shape} and axis is {axis}, expected one number, or one for each place "
            "along an axis. Pass the axis."
        )
    axis = resolve_axis(name, axis, x.ndim)
    if values.shape[0] != x.shape[axis]:
        raise ShapeError(f"{name}: {what} has shape {values.shape}, expected ({x.shape[axis]},) = x.shape[{axis}].")
    return namespace(values).reshape(values, (-1,) + (1,) * (x.ndim - 1 - axis))


def _check_pair(name: str, scale: Any, zero_point: Any, dtype: Any) -> None:
    if zero_point is not None and zero_point.dtype != dtype:
        raise DTypeError(f"{name}: zero_point is {zero_point.dtype}, expected {dtype} like the integers. Cast it.")
    if zero_point is not None and zero_point.shape != scale.shape:
        raise ShapeError(f"{name}: zero_point has shape {zero_point.shape}, expected {scale.shape} = scale.shape.")


@operation(
    sample(  # halves go to the even number
        np.array([0, 2, 2, -128, 127], np.int8),
        input=[0.25, 0.75, 1.25, -99.0, float("inf")],
        scale=0.5,
        output_dtype="int8",
    ),
    sample(
        np.array([[128, 130], [2, 255]], np.uint8),
        input=[[0.0, 1.0], [-2.0, 999.0]],
        scale=[0.5, 2.0],
        zero_point=np.array([128, 3], np.uint8),
        axis=0,
        output_dtype="uint8",
    ),
    since="iOS17",
    typed=True,
)
def quantize(
    input: Array,  # noqa: A002 - MIL's name
    scale: Array,
    output_dtype: str,
    zero_point: Array | None = None,
    axis: int | None = None,
) -> Array:
    """Return ``round(input / scale) + zero_point``, held to the range of ``output_dtype``, int8 or uint8.

    ``input`` and ``scale``: float16 or float32; ``zero_point`` has the output's dtype. Halves are rounded to the even
    number, as NumPy and PyTorch do. Core ML leaves NaN open; in lucid it becomes 0, as in cast. Another dtype raises
    DTypeError.
    """
    if output_dtype not in _QUANTIZED:
        raise DTypeError(f"quantize: output_dtype is {output_dtype!r}, expected int8 or uint8.")
    dtype, low, high = _QUANTIZED[output_dtype]
    _check_pair("quantize", scale, zero_point, dtype)
    xp = namespace(input)
    numbers = xp.round(input / _along("quantize", "scale", scale, input, axis))
    if zero_point is not None:
        numbers = numbers + _along("quantize", "zero_point", zero_point, input, axis).astype(np.float32)
    numbers = xp.where(xp.isnan(numbers), 0, numbers)
    return xp.minimum(xp.maximum(numbers, low), high).astype(dtype)


@operation(
    sample([-64.0, 0.5, 63.5], input=np.array([-128, 1, 127], np.int8), scale=0.5),
    sample(
        [[-1.5, 126.0], [4.0, 508.0]],
        input=np.array([[0, 255], [3, 255]], np.uint8),
        scale=[0.5, 2.0],
        zero_point=np.array([3, 1], np.uint8),
        axis=-2,
    ),
    since="iOS17",
)
def dequantize(
    input: Array,  # noqa: A002 - MIL's name
    scale: Array,
    zero_point: Array | None = None,
    axis: int | None = None,
) -> Array:
    """Return ``scale * (input - zero_point)`` in the dtype of ``scale``, float16 or float32.

    ``input`` and ``zero_point``: both int8, or both uint8, else DTypeError.
    """
    if input.dtype not in (_INT8, _UINT8):
        raise DTypeError(f"dequantize: input is {input.dtype}, expected int8 or uint8.")
    _check_pair("dequantize", scale, zero_point, input.dtype)
    numbers = input.astype(np.float32)
    if zero_point is not None:
        numbers = numbers - _along("dequantize", "zero_point", zero_point, input, axis).astype(np.float32)
    return numbers * _along("dequantize", "scale", scale, input, axis)
