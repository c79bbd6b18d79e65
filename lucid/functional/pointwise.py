"""Functions of one operand, element by element. Integers become float32 where the result is not an integer."""

# ruff: noqa: A001, A002 -- PyTorch's names

from __future__ import annotations

import builtins
import math

from lucid.dtypes import bool_
from lucid.errors import DTypeError
from lucid.functional.arithmetic import maximum, minimum, sub
from lucid.functional.comparison import eq, logical_and, where
from lucid.functional.operands import TensorLike, carried, floating
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clamp",
    "clip",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "log",
    "log1p",
    "log2",
    "log10",
    "nan_to_num",
    "reciprocal",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]


def abs(x: Tensor) -> Tensor:
    """Return the absolute value."""
    return x if x.dtype.kind == "u" else carried(mil.abs, x)


def sign(x: Tensor) -> Tensor:
    """Return -1, 0 or 1, and NaN for NaN."""
    return carried(mil.sign, x)


def exp(x: Tensor) -> Tensor:
    """Return e to the power `x`."""
    return mil.exp(floating(x))


def exp2(x: Tensor) -> Tensor:
    """Return 2 to the power `x`."""
    return mil.exp2(floating(x))


def expm1(x: Tensor) -> Tensor:
    """Return ``exp(x) - 1``, exact also near zero: ``2 exp(x/2) sinh(x/2)``."""
    half = floating(x) * 0.5
    return where(half.abs() < 0.5, 2.0 * mil.exp(half) * mil.sinh(half), mil.exp(half * 2.0) - 1.0)


def log(x: Tensor) -> Tensor:
    """Return the natural logarithm: minus infinity at 0, NaN below."""
    return mil.log(floating(x), epsilon=0.0)


def log1p(x: Tensor) -> Tensor:
    """Return ``log(1 + x)``, exact also near zero (Kahan's correction of the rounding of ``1 + x``)."""
    small = floating(x)
    whole = small + 1.0
    lost = whole - 1.0
    corrected = mil.log(whole, epsilon=0.0) * small / where(eq(lost, 0.0), 1.0, lost)
    return where(eq(lost, 0.0), small, where(eq(whole, math.inf), whole, corrected))


def log2(x: Tensor) -> Tensor:
    """Return the logarithm to base 2."""
    return log(x) * (1.0 / math.log(2.0))


def log10(x: Tensor) -> Tensor:
    """Return the logarithm to base 10."""
    return log(x) * (1.0 / math.log(10.0))


def sqrt(x: Tensor) -> Tensor:
    """Return the square root, NaN below zero."""
    return mil.sqrt(floating(x))


def rsqrt(x: Tensor) -> Tensor:
    """Return ``1 / sqrt(x)``: infinity at zero."""
    return mil.rsqrt(floating(x), epsilon=0.0)


def reciprocal(x: Tensor) -> Tensor:
    """Return ``1 / x``."""
    return 1.0 / floating(x)


def sin(x: Tensor) -> Tensor:
    """Return the sine of an angle in radians."""
    return mil.sin(floating(x))


def cos(x: Tensor) -> Tensor:
    """Return the cosine of an angle in radians."""
    return mil.cos(floating(x))


def tan(x: Tensor) -> Tensor:
    """Return the tangent of an angle in radians."""
    return mil.tan(floating(x))


def asin(x: Tensor) -> Tensor:
    """Return the inverse sine, in radians."""
    return mil.asin(floating(x))


def acos(x: Tensor) -> Tensor:
    """Return the inverse cosine, in radians."""
    return mil.acos(floating(x))


def atan(x: Tensor) -> Tensor:
    """Return the inverse tangent, in radians."""
    return mil.atan(floating(x))


def atan2(y: Tensor, x: Tensor) -> Tensor:
    """Return the angle of the point (x, y), in radians from -pi to pi. The sign of a zero is not seen."""
    above, along = floating(y), floating(x)
    is_origin = logical_and(eq(along, 0.0), eq(above, 0.0))
    angle = mil.atan(above / where(is_origin, 1.0, along))
    turned = angle + where(above < 0.0, -math.pi, math.pi)
    return where(along < 0.0, turned, angle)


def sinh(x: Tensor) -> Tensor:
    """Return the hyperbolic sine."""
    return mil.sinh(floating(x))


def cosh(x: Tensor) -> Tensor:
    """Return the hyperbolic cosine."""
    return mil.cosh(floating(x))


def tanh(x: Tensor) -> Tensor:
    """Return the hyperbolic tangent."""
    return mil.tanh(floating(x))


def asinh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine, ``sign(x) log1p(|x| + x^2 / (1 + sqrt(1 + x^2)))``."""
    size = mil.abs(floating(x))
    grown = mil.square(size)
    near = log1p(size + grown / (1.0 + mil.sqrt(grown + 1.0)))
    return mil.sign(floating(x)) * where(size > 1e9, log(size) + math.log(2.0), near)


def acosh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine, NaN below 1: ``log1p(t + sqrt(2 t + t^2))`` with ``t = x - 1``."""
    above = floating(x) - 1.0
    near = log1p(above + mil.sqrt(above * 2.0 + mil.square(above)))
    return where(above > 1e9, log(x) + math.log(2.0), near)


def atanh(x: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent."""
    return mil.atanh(floating(x))


def sigmoid(x: Tensor) -> Tensor:
    """Return ``1 / (1 + exp(-x))``."""
    return mil.sigmoid(floating(x))


def erf(x: Tensor) -> Tensor:
    """Return the error function."""
    return mil.erf(floating(x))


def erfc(x: Tensor) -> Tensor:
    """Return ``1 - erf(x)``; its far tail, below the rounding of 1, is zero."""
    return 1.0 - mil.erf(floating(x))


def _is_whole(name: str, x: Tensor) -> bool:
    if x.dtype == bool_:
        raise DTypeError(f"{name}: the tensor is bool. Cast it to a number type first.")
    return not x.is_floating_point()


def floor(x: Tensor) -> Tensor:
    """Return the greatest whole number not above `x`. Integers stay as they are."""
    return x if _is_whole("floor", x) else mil.floor(x)


def ceil(x: Tensor) -> Tensor:
    """Return the least whole number not below `x`. Integers stay as they are."""
    return x if _is_whole("ceil", x) else mil.ceil(x)


def trunc(x: Tensor) -> Tensor:
    """Return `x` without its fraction. Integers stay as they are."""
    return x if _is_whole("trunc", x) else where(x < 0.0, mil.ceil(x), mil.floor(x))


def frac(x: Tensor) -> Tensor:
    """Return the fraction of `x`, with its sign."""
    return sub(x, trunc(x))


def round(x: Tensor, *, decimals: int = 0) -> Tensor:
    """Return the nearest whole number (or multiple of ``10 ** -decimals``); halves go to the even neighbour."""
    if _is_whole("round", x):
        return x
    if decimals == 0:
        return mil.round(x)
    scale = 10.0 ** builtins.abs(decimals)
    return mil.round(x * scale) / scale if decimals > 0 else mil.round(x / scale) * scale


def clamp(x: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Return `x` held between `min` and `max`, numbers or tensors; where they cross, `max` wins."""
    if min is None and max is None:
        raise DTypeError("clamp: min and max are both missing. Pass at least one.")
    if x.is_floating_point() and isinstance(min, (int, float)) and isinstance(max, (int, float)) and min <= max:
        return mil.clip(x, alpha=float(min), beta=float(max))
    low = x if min is None else maximum(x, min)
    return low if max is None else minimum(low, max)


def nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Return `x` with NaN and the infinities replaced (by the dtype's largest numbers where none are given)."""
    import numpy as np

    if not x.is_floating_point():
        return x
    largest = float(np.finfo(x.dtype.name).max)
    finite = where(eq(x, x), x, nan)
    finite = where(eq(finite, math.inf), largest if posinf is None else posinf, finite)
    return where(eq(finite, -math.inf), -largest if neginf is None else neginf, finite)


absolute = abs
clip = clamp
