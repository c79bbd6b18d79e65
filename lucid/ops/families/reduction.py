"""Operations that reduce axes. They take float16, float32 and int32.

``axes`` are the axes to reduce: all of them where it is not given; an empty tuple reduces none. A wrong or repeated
axis raises ShapeError. ``keep_dims`` leaves reduced axes in place with size 1. Over no elements, a reduction gives its
neutral element (sum 0, product 1, maximum minus infinity or the smallest int32 ...), a mean NaN (int32: 0).

int32 gives int32, as MIL says: sums and products wrap; what is a fraction (means, norms, logarithms) loses its
fraction, towards zero, as in MIL's value functions, but is computed without wrapping before.
"""

from __future__ import annotations

from math import prod
from typing import Any

from lucid.errors import DTypeError, ShapeError
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.axes import resolve_axes, resolve_axis
from lucid.ops.record import operation, sample

__all__ = [
    "reduce_argmax",
    "reduce_argmin",
    "reduce_l1_norm",
    "reduce_l2_norm",
    "reduce_log_sum",
    "reduce_log_sum_exp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_sum_square",
]

_INF, _NAN = float("inf"), float("nan")
_INDEX_DTYPES = ("int32", "uint16")


@operation(
    sample([1, 2], x=[[1.0, 3.0, 3.0], [5.0, 4.0, _NAN]], axis=1),
    sample([[2]], x=[[-3, -2147483648, 7]], keep_dims=True),
    exact=True,
    typed=True,
    later={"output_dtype": "iOS17"},
)
def reduce_argmax(x: Array, axis: int = -1, keep_dims: bool = False, output_dtype: str = "int32") -> Array:
    """Return the place of the largest element along ``axis``, as int32 or, from opset iOS17, uint16.

    Core ML leaves ties and NaN open: lucid gives the first of equal ones, and the first NaN if there is one, as PyTorch
    does. An empty or unknown axis raises ShapeError, another ``output_dtype`` DTypeError; uint16 wraps.
    """
    return _place("reduce_argmax", "argmax", x, axis, keep_dims, output_dtype)


@operation(
    sample([0, 1], x=[[1.0, 1.0, 3.0], [5.0, 4.0, 6.0]], axis=1),
    sample([[1]], x=[[-3, -2147483648, 7]], keep_dims=True),
    exact=True,
    typed=True,
    later={"output_dtype": "iOS17"},
)
def reduce_argmin(x: Array, axis: int = -1, keep_dims: bool = False, output_dtype: str = "int32") -> Array:
    """Return the place of the smallest element along ``axis``, as int32 or, from opset iOS17, uint16.

    Core ML leaves ties and NaN open: lucid gives the first of equal ones, and the first NaN if there is one, as PyTorch
    does. An empty or unknown axis raises ShapeError, another ``output_dtype`` DTypeError; uint16 wraps.
    """
    return _place("reduce_argmin", "argmin", x, axis, keep_dims, output_dtype)


@operation(
    sample([3.0, 7.0], x=[[1.0, -2.0], [-3.0, 4.0]], axes=(1,)),
    sample(10, x=[[1, -2], [-3, 4]]),
)
def reduce_l1_norm(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the sum of the absolute values. int32 wraps."""
    xp = namespace(x)
    return _sum("reduce_l1_norm", xp, xp.abs(x), axes, keep_dims)


@operation(
    sample([5.0, 13.0], x=[[3.0, -4.0], [5.0, 12.0]], axes=(-1,)),
    sample([[3]], x=[[3, 2]], axes=(0, 1), keep_dims=True),
)
def reduce_l2_norm(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the square root of the sum of squares. int32 gives the whole part of the root, at most 2147483647."""
    xp = namespace(x)
    if x.dtype.kind == "f":
        return xp.sqrt(_sum("reduce_l2_norm", xp, x * x, axes, keep_dims))
    wide = x.astype("int64")
    total = _sum("reduce_l2_norm", xp, wide * wide, axes, keep_dims)
    about = x.astype("float64")
    about = _sum("reduce_l2_norm", xp, about * about, axes, keep_dims)
    root = xp.sqrt(about).astype("int64")
    root = root - (root * root > total)
    root = root + ((root + 1) * (root + 1) <= total)
    most = xp.iinfo(x.dtype).max
    return xp.where(about < (most + 1.0) ** 2, root, most).astype(x.dtype)


@operation(
    sample([1.0986123, -_INF, _NAN], x=[[1.0, 2.0], [0.0, 0.0], [1.0, -3.0]], axes=(1,)),
    sample(2, x=[4, 9]),
)
def reduce_log_sum(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the natural logarithm of the sum. Of int32, its whole part; 0 and less give -2147483648."""
    xp = namespace(x)
    if x.dtype.kind == "f":
        return xp.log(_sum("reduce_log_sum", xp, x, axes, keep_dims))
    total = _sum("reduce_log_sum", xp, x.astype("int64"), axes, keep_dims)
    return _whole(xp, xp.log(xp.maximum(total, 0).astype("float64")), x)


@operation(
    sample([1.6931472, 1000.0, -_INF], x=[[1.0, 1.0], [1000.0, -1000.0], [-_INF, -_INF]], axes=(1,)),
    sample([[_INF]], x=[[_INF, 0.0]], keep_dims=True),
    sample(7, x=[7, 6, 5]),
)
def reduce_log_sum_exp(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the natural logarithm of the sum of ``e ** x``, without overflow. Of int32, its whole part.

    Minus infinity everywhere gives minus infinity, where MIL's value function gives NaN.
    """
    axes = _axes("reduce_log_sum_exp", x, axes)
    xp = namespace(x)
    wide = x if x.dtype.kind == "f" else x.astype("float64")
    if 0 in x.shape:
        highest = xp.zeros((1,) * x.ndim, dtype=wide.dtype)
    else:
        highest = xp.max(wide, axis=axes, keepdims=True)
        highest = xp.where(xp.isinf(highest), 0.0, highest)
    result = xp.log(xp.sum(xp.exp(wide - highest), axis=axes, keepdims=True)) + highest
    if not keep_dims:
        result = xp.squeeze(result, axis=axes)
    return result if x.dtype.kind == "f" else _whole(xp, result, x)


@operation(
    sample([2.0, 4.0, _NAN], x=[[1.0, 2.0], [4.0, -_INF], [_NAN, 9.0]], axes=(1,)),
    sample([[7]], x=[[-2147483648, 7]], axes=(0, -1), keep_dims=True),
    exact=True,
)
def reduce_max(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the largest element. Core ML leaves NaN open; in lucid one NaN gives NaN, as in PyTorch."""
    axes = _axes("reduce_max", x, axes)
    xp = namespace(x)
    if 0 in x.shape:
        return xp.max(x, axis=axes, keepdims=keep_dims, initial=_lowest(xp, x))
    return xp.max(x, axis=axes, keepdims=keep_dims)


@operation(
    sample([1.5, 3.5], x=[[1.0, 2.0], [3.0, 4.0]], axes=(1,)),
    sample([[-1]], x=[[-3, 0]], keep_dims=True),
    sample(2147483647, x=[2147483647, 2147483647]),
)
def reduce_mean(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the mean, the sum divided by the number of elements. int32 gives its whole part."""
    axes = _axes("reduce_mean", x, axes)
    xp = namespace(x)
    count = prod(x.shape[axis] for axis in axes)
    if x.dtype.kind == "f":
        total = xp.sum(x, axis=axes, keepdims=keep_dims)
        total /= count if count else _NAN
        return total
    total = xp.sum(x.astype("int64"), axis=axes, keepdims=keep_dims)
    quotient = xp.abs(total) // max(count, 1)
    return xp.where(total < 0, -quotient, quotient).astype(x.dtype)


@operation(
    sample([1.0, -_INF, _NAN], x=[[1.0, 2.0], [4.0, -_INF], [_NAN, 9.0]], axes=(1,)),
    sample([[-2147483648]], x=[[-2147483648, 7]], axes=(0, -1), keep_dims=True),
    exact=True,
)
def reduce_min(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the smallest element. Core ML leaves NaN open; in lucid one NaN gives NaN, as in PyTorch."""
    axes = _axes("reduce_min", x, axes)
    xp = namespace(x)
    if 0 in x.shape:
        return xp.min(x, axis=axes, keepdims=keep_dims, initial=_highest(xp, x))
    return xp.min(x, axis=axes, keepdims=keep_dims)


@operation(
    sample([2.0, -12.0], x=[[1.0, 2.0], [-3.0, 4.0]], axes=(1,)),
    sample(0, x=[65536, 65536]),
)
def reduce_prod(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the product. int32 wraps."""
    axes = _axes("reduce_prod", x, axes)
    return namespace(x).prod(x, axis=axes, keepdims=keep_dims, dtype=x.dtype)


@operation(
    sample([3.0, 7.0], x=[[1.0, 2.0], [3.0, 4.0]], axes=(1,)),
    sample([[4, 6]], x=[[1, 2], [3, 4]], axes=(-2,), keep_dims=True),
    sample(-2147483648, x=[2147483647, 1]),
)
def reduce_sum(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the sum. int32 wraps."""
    return _sum("reduce_sum", namespace(x), x, axes, keep_dims)


@operation(
    sample([5.0, 25.0], x=[[1.0, 2.0], [-3.0, 4.0]], axes=(1,)),
    sample(0, x=[65536, 65536]),
)
def reduce_sum_square(x: Array, axes: Ints | None = None, keep_dims: bool = False) -> Array:
    """Return the sum of the squares. int32 wraps."""
    return _sum("reduce_sum_square", namespace(x), x * x, axes, keep_dims)


def _axes(name: str, x: Array, axes: Ints | None) -> Ints:
    return tuple(range(x.ndim)) if axes is None else resolve_axes(name, axes, x.ndim)


def _sum(name: str, xp: Any, x: Array, axes: Ints | None, keep_dims: bool) -> Array:
    """Return the sum in the dtype of `x`."""
    return xp.sum(x, axis=_axes(name, x, axes), keepdims=keep_dims, dtype=x.dtype)


def _place(name: str, function: str, x: Array, axis: int, keep_dims: bool, dtype: str) -> Array:
    axis = resolve_axis(name, axis, x.ndim)
    if dtype not in _INDEX_DTYPES:
        raise DTypeError(f"{name}: output_dtype is {dtype!r}, expected int32 or uint16.")
    if not x.shape[axis]:
        raise ShapeError(f"{name}: axis {axis} of x of shape {x.shape} is empty, so no element has a place.")
    return getattr(namespace(x), function)(x, axis=axis, keepdims=keep_dims).astype(dtype)


def _lowest(xp: Any, x: Array) -> Any:
    return -_INF if x.dtype.kind == "f" else xp.iinfo(x.dtype).min


def _highest(xp: Any, x: Array) -> Any:
    return _INF if x.dtype.kind == "f" else xp.iinfo(x.dtype).max


def _whole(xp: Any, values: Array, x: Array) -> Array:
    """Return floats without their fractions in the integer dtype of `x`, held to its range."""
    limits = xp.iinfo(x.dtype)
    return xp.minimum(xp.maximum(values, limits.min), limits.max).astype(x.dtype)
