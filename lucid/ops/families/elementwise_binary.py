"""Element-wise operations of two tensors. Both inputs have one dtype and broadcast as NumPy's do.

Arithmetic takes float16, float32 and int32, comparisons too and bool besides, the logical operations bool. Inputs that
do not broadcast raise ValueError (the array library's). int32 wraps and never passes through floats. NaN compares as
IEEE 754 says.
"""

from __future__ import annotations

from typing import Any

from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = [
    "add",
    "equal",
    "floor_div",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "not_equal",
    "pow_",
    "real_div",
    "sub",
]

_INF, _NAN = float("inf"), float("nan")


@operation(
    sample([4.0, 6.0], x=[1.0, 2.0], y=[3.0, 4.0]),
    sample([-2147483648], x=[2147483647], y=[1]),
    sample([[11, 21], [12, 22]], x=[[1], [2]], y=[10, 20]),
)
def add(x: Array, y: Array) -> Array:
    """Return ``x + y``. int32 wraps."""
    return namespace(x, y).add(x, y)


@operation(
    sample([-2.0, 1.0], x=[1.0, 2.0], y=[3.0, 1.0]),
    sample([2147483647], x=[-2147483648], y=[1]),
)
def sub(x: Array, y: Array) -> Array:
    """Return ``x - y``. int32 wraps."""
    return namespace(x, y).subtract(x, y)


@operation(
    sample([3.0, -8.0], x=[1.0, 2.0], y=[3.0, -4.0]),
    sample([0, -2], x=[65536, 2147483647], y=[65536, 2]),
)
def mul(x: Array, y: Array) -> Array:
    """Return ``x * y``. int32 wraps."""
    return namespace(x, y).multiply(x, y)


@operation(
    sample([0.5, -_INF, _NAN], x=[1.0, -1.0, 0.0], y=[2.0, 0.0, 0.0]),
    sample([3, -3, 0, 2147483647], x=[7, -7, 5, 2147483647], y=[2, 2, 0, 1]),
)
def real_div(x: Array, y: Array) -> Array:
    """Return ``x / y``.

    The quotient of two int32 tensors is int32: MIL gives the result the dtype of the inputs, and its own lowering
    divides sizes that way (its value function, which returns fractions, disagrees). Core ML leaves the rounding open;
    lucid drops the fraction, as a cast to int32 would. A zero divisor gives 0, and -2147483648 / -1 wraps.
    """
    xp = namespace(x, y)
    if _are_floats(x, y):
        return xp.divide(x, y)
    quotient = _floor_quotient(xp, x, y)
    return quotient + ((quotient < 0) & (quotient * y != x))


@operation(
    sample([3.0, -4.0, 9.0], x=[7.0, -7.0, 1.0], y=[2.0, 2.0, 0.1]),
    sample([_INF, -1.0], x=[1.0, -1.0], y=[0.0, _INF]),
    sample([3, -4, -4, 3, 0], x=[7, -7, 7, -7, 5], y=[2, 2, -2, -2, 0]),
)
def floor_div(x: Array, y: Array) -> Array:
    """Return ``x / y`` rounded towards negative infinity, as Python's ``//`` does for numbers of either kind.

    The quotient is floored before it is rounded: ``1.0 // 0.1`` is 9, since the float 0.1 is above a tenth. A zero
    divisor gives an infinity or NaN in floats and 0 in int32; -2147483648 // -1 wraps.
    """
    xp = namespace(x, y)
    return xp.floor_divide(x, y) if _are_floats(x, y) else _floor_quotient(xp, x, y)


@operation(
    sample([1.5, 0.5, -0.5], x=[5.5, -5.5, 5.5], y=[2.0, 2.0, -2.0]),
    sample([_NAN, _INF], x=[1.0, -1.0], y=[0.0, _INF]),
    sample([1, 1, -1, -1, 0], x=[7, -7, 7, -7, 5], y=[2, 2, -2, -2, 0]),
)
def mod(x: Array, y: Array) -> Array:
    """Return the remainder of ``floor_div``, which has the sign of `y`, as Python's ``%`` does.

    A zero divisor gives NaN in floats and 0 in int32.
    """
    xp = namespace(x, y)
    if _are_floats(x, y) or _is_numpy(xp):
        return xp.remainder(x, y)
    return xp.where(y == 0, 0, xp.remainder(x, xp.where(y == 0, 1, y)))


@operation(
    sample([8.0, 0.5, 1.0, _NAN], x=[2.0, 4.0, _NAN, -8.0], y=[3.0, -0.5, 0.0, 0.5]),
    sample([9, -8, 1, 0], x=[3, -2, 0, 65536], y=[2, 3, 0, 2]),
    sample([1, -1, 1, 0, 0], x=[1, -1, -1, 2, 0], y=[-5, -3, -2, -1, -1]),
    name="pow",
)
def pow_(x: Array, y: Array) -> Array:
    """Return `x` to the power `y`.

    A negative float to a power that is no whole number is NaN; anything to the power 0 is 1. int32 wraps; to a
    negative power, whose result is a fraction, Core ML leaves int32 open: lucid drops the fraction (1 and -1 keep their
    powers, others give 0, 0 included).
    """
    xp = namespace(x, y)
    if _are_floats(x, y):
        return xp.pow(x, y)
    powers = xp.pow(x, xp.maximum(y, 0))
    signs = xp.where(x == 1, 1, xp.where(x == -1, 1 - 2 * (y & 1), 0))
    return xp.where(y < 0, signs, powers).astype(powers.dtype)


@operation(
    sample([3.0, 2.0], x=[1.0, 2.0], y=[3.0, -4.0]),
    sample([_NAN, _NAN, _INF], x=[_NAN, 1.0, _INF], y=[1.0, _NAN, 1.0]),
    sample([2147483647], x=[2147483647], y=[-2147483648]),
    exact=True,
)
def maximum(x: Array, y: Array) -> Array:
    """Return the larger of the two. Core ML leaves NaN open; in lucid NaN on either side gives NaN, as in PyTorch.

    Which of 0.0 and -0.0 is returned is open.
    """
    return namespace(x, y).maximum(x, y)


@operation(
    sample([1.0, -4.0], x=[1.0, 2.0], y=[3.0, -4.0]),
    sample([_NAN, _NAN, -_INF], x=[_NAN, 1.0, -_INF], y=[1.0, _NAN, 1.0]),
    sample([-2147483648], x=[2147483647], y=[-2147483648]),
    exact=True,
)
def minimum(x: Array, y: Array) -> Array:
    """Return the smaller of the two. Core ML leaves NaN open; in lucid NaN on either side gives NaN, as in PyTorch.

    Which of 0.0 and -0.0 is returned is open.
    """
    return namespace(x, y).minimum(x, y)


@operation(
    sample([True, False, False, True], x=[1.0, 2.0, _NAN, 0.0], y=[1.0, 3.0, _NAN, -0.0]),
    sample([[True, False], [False, True]], x=[[1], [2]], y=[1, 2]),
    exact=True,
)
def equal(x: Array, y: Array) -> Array:
    """Return whether ``x == y``, as bool. NaN equals nothing."""
    return namespace(x, y).equal(x, y)


@operation(
    sample([False, True, True, False], x=[1.0, 2.0, _NAN, 0.0], y=[1.0, 3.0, _NAN, -0.0]),
    sample([False, True], x=[16777217, 16777217], y=[16777217, 16777216]),
    exact=True,
)
def not_equal(x: Array, y: Array) -> Array:
    """Return whether ``x != y``, as bool. NaN differs from everything."""
    return namespace(x, y).not_equal(x, y)


@operation(
    sample([False, True, False, False], x=[1.0, 4.0, 1.0, _NAN], y=[1.0, 3.0, 2.0, 1.0]),
    sample([True], x=[16777217], y=[16777216]),
    exact=True,
)
def greater(x: Array, y: Array) -> Array:
    """Return whether ``x > y``, as bool. False where either is NaN."""
    return namespace(x, y).greater(x, y)


@operation(
    sample([True, True, False, False], x=[1.0, 4.0, 1.0, _NAN], y=[1.0, 3.0, 2.0, 1.0]),
    sample([False], x=[16777216], y=[16777217]),
    exact=True,
)
def greater_equal(x: Array, y: Array) -> Array:
    """Return whether ``x >= y``, as bool. False where either is NaN."""
    return namespace(x, y).greater_equal(x, y)


@operation(
    sample([False, False, True, False], x=[1.0, 4.0, 1.0, _NAN], y=[1.0, 3.0, 2.0, 1.0]),
    sample([True], x=[16777216], y=[16777217]),
    exact=True,
)
def less(x: Array, y: Array) -> Array:
    """Return whether ``x < y``, as bool. False where either is NaN."""
    return namespace(x, y).less(x, y)


@operation(
    sample([True, False, True, False], x=[1.0, 4.0, 1.0, _NAN], y=[1.0, 3.0, 2.0, 1.0]),
    sample([False], x=[16777217], y=[16777216]),
    exact=True,
)
def less_equal(x: Array, y: Array) -> Array:
    """Return whether ``x <= y``, as bool. False where either is NaN."""
    return namespace(x, y).less_equal(x, y)


@operation(
    sample([False, False, False, True], x=[False, False, True, True], y=[False, True, False, True]),
    sample([[False, True]], x=[[True]], y=[False, True]),
    exact=True,
)
def logical_and(x: Array, y: Array) -> Array:
    """Return whether both are true, as bool. Numbers other than 0 count as true."""
    return namespace(x, y).logical_and(x, y)


@operation(
    sample([False, True, True, True], x=[False, False, True, True], y=[False, True, False, True]),
    sample([[True, True]], x=[[True]], y=[False, True]),
    exact=True,
)
def logical_or(x: Array, y: Array) -> Array:
    """Return whether one or both are true, as bool. Numbers other than 0 count as true."""
    return namespace(x, y).logical_or(x, y)


@operation(
    sample([False, True, True, False], x=[False, False, True, True], y=[False, True, False, True]),
    sample([[True, False]], x=[[True]], y=[False, True]),
    exact=True,
)
def logical_xor(x: Array, y: Array) -> Array:
    """Return whether exactly one is true, as bool. Numbers other than 0 count as true."""
    return namespace(x, y).logical_xor(x, y)


def _are_floats(x: Any, y: Any) -> bool:
    return bool((y.dtype if hasattr(y, "dtype") else x.dtype).kind == "f")


def _is_numpy(xp: Any) -> bool:
    return bool(xp.__name__ == "numpy")


def _floor_quotient(xp: Any, x: Array, y: Array) -> Array:
    """Return the floored quotient of integers, 0 where `y` is 0 (which is what NumPy gives, and not all others)."""
    if _is_numpy(xp):
        return xp.floor_divide(x, y)
    return xp.where(y == 0, 0, xp.floor_divide(x, xp.where(y == 0, 1, y)))
