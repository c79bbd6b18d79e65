"""Arithmetic of two operands with PyTorch's dtypes.

Integers stay integers and never pass through floats, except in true division; bool counts as a number only beside one.
int8, int16 and unsigned integers are computed as int32, which is what Core ML has, and wrap back to their own width.
"""

# ruff: noqa: A001 -- PyTorch's names

from __future__ import annotations

from collections.abc import Callable

from lucid.dtypes import bool_, float32, int32
from lucid.errors import DTypeError
from lucid.functional.operands import TensorLike, broadcast_shape, is_wide
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor, paired

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "lerp",
    "maximum",
    "minimum",
    "mul",
    "multiply",
    "neg",
    "negative",
    "pow",
    "remainder",
    "rsub",
    "square",
    "sub",
    "subtract",
    "true_divide",
]


def computed(name: str, function: Callable[[Tensor, Tensor], Tensor], first: TensorLike, second: TensorLike) -> Tensor:
    """Apply a function of two wide tensors in the operands' common dtype."""
    x, y = paired(first, second)
    broadcast_shape(name, x.shape, y.shape)
    if is_wide(x):
        return function(x, y)
    return function(x.to(int32), y.to(int32)).to(x.dtype)


def _numbers(name: str, first: TensorLike, second: TensorLike, remedy: str) -> None:
    if all(as_tensor(item).dtype == bool_ for item in (first, second)):
        raise DTypeError(f"{name}: both operands are bool. {remedy}")


def add(x: TensorLike, other: TensorLike, *, alpha: float = 1) -> Tensor:
    """Return ``x + alpha * other``. Two bool tensors give their logical or."""
    scaled = other if alpha == 1 else mul(other, alpha)
    return computed("add", mil.add, x, scaled)


def sub(x: TensorLike, other: TensorLike, *, alpha: float = 1) -> Tensor:
    """Return ``x - alpha * other``. Two bool tensors are refused, as in PyTorch."""
    _numbers("sub", x, other, "Use logical_xor (^) or logical_not (~).")
    scaled = other if alpha == 1 else mul(other, alpha)
    return computed("sub", mil.sub, x, scaled)


def rsub(x: TensorLike, other: TensorLike, *, alpha: float = 1) -> Tensor:
    """Return ``other - alpha * x``."""
    return sub(other, x, alpha=alpha)


def mul(x: TensorLike, other: TensorLike) -> Tensor:
    """Return ``x * other``. Two bool tensors give their logical and."""
    return computed("mul", mil.mul, x, other)


def div(x: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> Tensor:
    """Return ``x / other``: true division (integers give float32), or rounded down (``floor``) or to zero (``trunc``).

    Rounded division of integers is integer division; division of an integer by zero is undefined, as in Core ML.
    """
    if rounding_mode == "floor":
        return floor_divide(x, other)
    if rounding_mode == "trunc":
        return _truncated(x, other)
    if rounding_mode is not None:
        raise DTypeError(f"div: rounding_mode is {rounding_mode!r}. Use None, 'floor' or 'trunc'.")
    first, second = paired(x, other)
    if not first.is_floating_point():
        first, second = first.to(float32), second.to(float32)
    return computed("div", mil.real_div, first, second)


def floor_divide(x: TensorLike, other: TensorLike) -> Tensor:
    """Return ``x / other`` rounded down, in the operands' own dtype."""
    _numbers("floor_divide", x, other, "Cast one of them to int32.")
    return computed("floor_divide", mil.floor_div, x, other)


def _truncated(first: TensorLike, second: TensorLike) -> Tensor:
    from lucid.functional.pointwise import trunc

    _numbers("div", first, second, "Cast one of them to int32.")
    x, y = paired(first, second)
    if x.is_floating_point():
        return trunc(div(x, y))
    down = floor_divide(x, y)
    is_below = mil.logical_and(down * y != x, mil.logical_xor(x < 0, y < 0))
    return add(down, is_below.to(x.dtype))


def remainder(x: TensorLike, other: TensorLike) -> Tensor:
    """Return the rest of floor division, which has the sign of the divisor (Python's ``%``)."""
    _numbers("remainder", x, other, "Cast one of them to int32.")
    return computed("remainder", mil.mod, x, other)


def fmod(x: TensorLike, other: TensorLike) -> Tensor:
    """Return the rest of division rounded to zero, which has the sign of the dividend (C's ``fmod``)."""
    _numbers("fmod", x, other, "Cast one of them to int32.")
    first, second = paired(x, other)
    rest = remainder(first, second)
    crosses = mil.logical_and(rest != 0, mil.logical_xor(first < 0, second < 0))
    return sub(rest, mul(second, crosses.to(first.dtype)))


def pow(x: TensorLike, exponent: TensorLike) -> Tensor:
    """Return ``x ** exponent``. Squares and square roots use Core ML's own operations."""
    if isinstance(x, Tensor) and x.dtype != bool_ and isinstance(exponent, (int, float)) and is_wide(x):
        base = x.to(float32) if isinstance(exponent, float) and not x.is_floating_point() else x
        if exponent == 2:
            return mil.square(base)
        if exponent == 0.5:
            return mil.sqrt(base)
        if exponent == -0.5:
            return mil.rsqrt(base, epsilon=0.0)
        if exponent < 0 and not base.is_floating_point():
            raise DTypeError(f"pow: an integer tensor to the power {exponent}. Cast it with .float() first.")
    _numbers("pow", x, exponent, "Cast one of them to int32.")
    return computed("pow", mil.pow, x, exponent)


def square(x: Tensor) -> Tensor:
    """Return ``x * x``."""
    return mil.square(x) if is_wide(x) else mul(x, x)


def neg(x: Tensor) -> Tensor:
    """Return ``-x``. bool is refused, as in PyTorch."""
    if x.dtype == bool_:
        raise DTypeError("neg: the tensor is bool. Use logical_not (~).")
    return mul(x, -1)


def maximum(x: TensorLike, other: TensorLike) -> Tensor:
    """Return the greater of each pair of elements."""
    return computed("maximum", mil.maximum, x, other)


def minimum(x: TensorLike, other: TensorLike) -> Tensor:
    """Return the smaller of each pair of elements."""
    return computed("minimum", mil.minimum, x, other)


def lerp(x: Tensor, end: Tensor, weight: TensorLike) -> Tensor:
    """Return ``x + weight * (end - x)``."""
    return add(x, mul(weight, sub(end, x)))


def addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``x + value * tensor1 * tensor2``."""
    return add(x, mul(tensor1, tensor2), alpha=value)


def addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Tensor:
    """Return ``x + value * tensor1 / tensor2``."""
    return add(x, div(tensor1, tensor2), alpha=value)


divide = true_divide = div
multiply = mul
negative = neg
subtract = sub
