"""Element-wise operations of one tensor. Results have the shape and, but for ``cast``, the dtype of `x`.

Operations on floats take float16 and float32; where int32 is taken too, the docstring says so. Outside its domain a
function gives NaN, at its poles an infinity, as IEEE 754 says; no warning is raised.
"""

from __future__ import annotations

from typing import Any

from lucid.errors import DTypeError
from lucid.ops import error_function
from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = [
    "abs_",
    "acos",
    "asin",
    "atan",
    "atanh",
    "cast",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "floor",
    "inverse",
    "log",
    "logical_not",
    "round_",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "threshold",
]

_INF, _NAN = float("inf"), float("nan")
_DTYPES = {
    "fp16": "float16",
    "fp32": "float32",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "uint8": "uint8",
    "uint16": "uint16",
    "bool": "bool",
}


@operation(
    sample([1.0, 0.0, _INF, _NAN], x=[-1.0, -0.0, -_INF, _NAN]),
    sample([3, -2147483648], x=[-3, -2147483648]),
    exact=True,
    name="abs",
)
def abs_(x: Array) -> Array:
    """Return the absolute value, of int32 too, where -2147483648 stays as it is (its absolute value wraps)."""
    return namespace(x).abs(x)


@operation(sample([1.0471976, 0.0, 3.1415927, _NAN], x=[0.5, 1.0, -1.0, 1.5]))
def acos(x: Array) -> Array:
    """Return the inverse cosine in radians, 0 to pi. NaN outside -1 to 1."""
    return namespace(x).acos(x)


@operation(sample([0.5235988, -1.5707964, _NAN], x=[0.5, -1.0, 1.5]))
def asin(x: Array) -> Array:
    """Return the inverse sine in radians, -pi/2 to pi/2. NaN outside -1 to 1."""
    return namespace(x).asin(x)


@operation(sample([0.7853982, 0.0, -1.5707964], x=[1.0, 0.0, -_INF]))
def atan(x: Array) -> Array:
    """Return the inverse tangent in radians, -pi/2 to pi/2."""
    return namespace(x).atan(x)


@operation(sample([0.5493061, _INF, -_INF, _NAN], x=[0.5, 1.0, -1.0, 1.5]))
def atanh(x: Array) -> Array:
    """Return the inverse hyperbolic tangent. Infinite at -1 and 1, NaN beyond."""
    return namespace(x).atanh(x)


@operation(sample([2.0, -1.0, 3.0, _INF], x=[1.25, -1.75, 3.0, _INF]), exact=True)
def ceil(x: Array) -> Array:
    """Return the smallest whole number that is not below `x`."""
    return namespace(x).ceil(x)


@operation(
    sample([0.5, 1.0, 2.0, _NAN], x=[-3.0, 1.0, _INF, _NAN], alpha=0.5, beta=2.0),
    sample([2.0], x=[0.0], alpha=3.0, beta=2.0),
)
def clip(x: Array, alpha: float, beta: float) -> Array:
    """Return `x` held between ``alpha`` and ``beta``. NaN stays NaN.

    From opset iOS17 MIL asks for ``alpha < beta``; before, and in lucid, ``alpha >= beta`` gives ``beta`` everywhere.
    """
    xp = namespace(x)
    return xp.minimum(xp.maximum(x, alpha), beta)


@operation(sample([1.0, 0.5403023, _NAN], x=[0.0, -1.0, _INF]))
def cos(x: Array) -> Array:
    """Return the cosine of `x` radians."""
    return namespace(x).cos(x)


@operation(sample([1.0, 1.5430806, _INF], x=[0.0, -1.0, -_INF]))
def cosh(x: Array) -> Array:
    """Return the hyperbolic cosine."""
    return namespace(x).cosh(x)


@operation(sample([0.0, 0.5204999, -0.8427008, 1.0, -1.0], x=[0.0, 0.5, -1.0, 8.0, -_INF]))
def erf(x: Array) -> Array:
    """Return the error function ``2 / sqrt(pi) * integral of exp(-t * t) from 0 to x``, within 1 ulp in float32."""
    return error_function.erf(x)


@operation(sample([1.0, 2.7182818, 0.0, _INF], x=[0.0, 1.0, -_INF, 200.0]))
def exp(x: Array) -> Array:
    """Return ``e ** x``."""
    return namespace(x).exp(x)


@operation(
    sample([8.0, 0.25, 1.4142135, 0.0], x=[3.0, -2.0, 0.5, -_INF]),
    sample([1, 8, -2147483648, 0, 0], x=[0, 3, 31, 32, -1]),
)
def exp2(x: Array) -> Array:
    """Return ``2 ** x``, of int32 too: there it wraps (31 gives -2147483648, more gives 0).

    MIL gives int32 for int32. Core ML leaves negative powers, which are fractions, open; in lucid they are 0.
    """
    xp = namespace(x)
    if x.dtype.kind == "f":
        return xp.exp2(x)
    is_inside = (x >= 0) & (x < 32)
    ones = xp.ones_like(x)
    return xp.where(is_inside, xp.left_shift(ones, xp.where(is_inside, x, 0)), 0)


@operation(sample([1.0, -2.0, 3.0, -_INF], x=[1.75, -1.25, 3.0, -_INF]), exact=True)
def floor(x: Array) -> Array:
    """Return the largest whole number that is not above `x`."""
    return namespace(x).floor(x)


@operation(
    sample([0.49997500, 10000.0], x=[2.0, 0.0]),
    sample([0.5, -4.0, _INF], x=[2.0, -0.25, 0.0], epsilon=0.0),
    later={"epsilon:dtype": "iOS17"},
    float32=("epsilon",),
)
def inverse(x: Array, epsilon: float = 1e-4) -> Array:
    """Return ``1 / (x + epsilon)``."""
    return 1.0 / (x + epsilon)


@operation(
    sample([0.0, 0.6931472, -103.27893, _NAN], x=[1.0, 2.0, 0.0, -1.0]),
    sample([0.6931472, -_INF], x=[1.0, -1.0], epsilon=1.0),
    later={"epsilon:dtype": "iOS17"},
    float32=("epsilon",),
)
def log(x: Array, epsilon: float = 1e-45) -> Array:
    """Return the natural logarithm of ``x + epsilon``.

    The default is float32's smallest number: the logarithm of 0 is -103.28, not minus infinity. A program that says
    the epsilon in float16 says 0.
    """
    return namespace(x).log(x + epsilon)


@operation(sample([False, True], x=[True, False]), sample(True, x=False), exact=True)
def logical_not(x: Array) -> Array:
    """Return whether `x` is false, as bool. Numbers other than 0 count as true."""
    return namespace(x).logical_not(x)


@operation(sample([0.0, 2.0, 2.0, -2.0, -1.0, _INF], x=[0.5, 1.5, 2.5, -2.5, -0.75, _INF]), exact=True, name="round")
def round_(x: Array) -> Array:
    """Return the nearest whole number; of two that are as near, the even one (MIL: 0.5 is rounded to 0)."""
    return namespace(x).rint(x)


@operation(
    sample([0.5, 1.0, _NAN], x=[4.0, 1.0, -1.0]),
    sample([2.0, 1.0, 0.0], x=[0.0, 0.75, _INF], epsilon=0.25),
    sample([_INF], x=[0.0], epsilon=0.0),
    later={"epsilon:dtype": "iOS17"},
    float32=("epsilon",),
)
def rsqrt(x: Array, epsilon: float = 1e-12) -> Array:
    """Return ``1 / sqrt(x + epsilon)``. A program that says the default epsilon in float16 says 0."""
    return 1.0 / namespace(x).sqrt(x + epsilon)


@operation(
    sample([-1.0, 0.0, 1.0, _NAN], x=[-_INF, -0.0, 1e-3, _NAN]),
    sample([-1, 0, 1], x=[-2147483648, 0, 7]),
    exact=True,
)
def sign(x: Array) -> Array:
    """Return -1, 0 or 1 after the sign of `x`, of int32 too. Core ML leaves NaN open; in lucid it stays NaN."""
    return namespace(x).sign(x)


@operation(sample([0.0, 0.8414710, _NAN], x=[0.0, 1.0, -_INF]))
def sin(x: Array) -> Array:
    """Return the sine of `x` radians."""
    return namespace(x).sin(x)


@operation(sample([0.0, -1.1752012, _INF], x=[0.0, -1.0, _INF]))
def sinh(x: Array) -> Array:
    """Return the hyperbolic sine."""
    return namespace(x).sinh(x)


@operation(sample([1.5, 0.0, _INF, _NAN], x=[2.25, 0.0, _INF, -1.0]))
def sqrt(x: Array) -> Array:
    """Return the square root. NaN below 0."""
    return namespace(x).sqrt(x)


@operation(sample([4.0, 2.25, _INF], x=[-2.0, 1.5, -_INF]), sample([9, 0], x=[-3, 65536]))
def square(x: Array) -> Array:
    """Return ``x * x``, of int32 too, where it wraps."""
    return x * x


@operation(sample([0.0, 1.5574077, _NAN], x=[0.0, 1.0, _INF]))
def tan(x: Array) -> Array:
    """Return the tangent of `x` radians."""
    return namespace(x).tan(x)


@operation(sample([0.0, 0.7615942, -1.0], x=[0.0, 1.0, -_INF]))
def tanh(x: Array) -> Array:
    """Return the hyperbolic tangent, -1 to 1."""
    return namespace(x).tanh(x)


@operation(
    sample([0.5, 1.0, _INF, _NAN], x=[-1.0, 1.0, _INF, _NAN], alpha=0.5),
    sample([3, 7], x=[-5, 7], alpha=3),
)
def threshold(x: Array, alpha: float) -> Array:
    """Return the larger of `x` and ``alpha``, of int32 too (``alpha`` is a whole number there). NaN stays NaN."""
    return namespace(x).maximum(x, alpha if x.dtype.kind == "f" else int(alpha))


@operation(
    sample([1, -1, 0], x=[1.75, -1.75, 0.5], dtype="int32"),
    sample([2147483647, -2147483648, 0], x=[_INF, -_INF, _NAN], dtype="int32"),
    sample([1.0, 0.0], x=[True, False], dtype="fp32"),
    sample([True, False, True], x=[0.5, -0.0, _NAN], dtype="bool"),
    typed=True,
    later={"x:integers": "iOS17"},
)
def cast(x: Array, dtype: str) -> Array:
    """Return the elements in another dtype: fp16, fp32, int32, bool, and from opset iOS17 int8, uint8, int16, uint16.

    Float to integer drops the fraction. Number to bool says whether it is not 0 (NaN is not). Bool to number gives 0 or
    1. To fp16 rounds to the nearest, ties to even; what is too large becomes infinite.

    What an integer type does not hold Core ML leaves open. In lucid a float is held to the type's range and NaN becomes
    0, on every machine (as ARM processors do), and an integer keeps its low bits. Another name of a dtype raises
    DTypeError.
    """
    name = _DTYPES.get(dtype)
    if name is None:
        raise DTypeError(f"cast: dtype is {dtype!r}, expected one of {', '.join(_DTYPES)}.")
    if x.dtype == name:
        return x[...]
    xp = namespace(x)
    if "int" in name and x.dtype.kind == "f" and xp.__name__ == "numpy":  # XLA holds to the range by itself
        return _to_integers(xp, x, name)
    return x.astype(name)


def _to_integers(xp: Any, x: Array, name: str) -> Array:
    limits = xp.iinfo(name)
    wide = x.astype("float64")
    held = xp.minimum(xp.maximum(wide, limits.min), limits.max)
    return xp.where(held == held, held, 0.0).astype(name)  # NaN differs from itself
