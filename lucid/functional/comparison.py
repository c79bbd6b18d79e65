"""Comparison, logic and selection: functions whose results are bool tensors, and what chooses by them."""

from __future__ import annotations

from lucid.dtypes import bool_, int32
from lucid.errors import UnsupportedError
from lucid.functional.operands import TensorLike, broadcast_shape, is_wide, spread
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor, paired

__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "eq",
    "equal",
    "ge",
    "gt",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "masked_fill",
    "ne",
    "where",
]


def _compared(name: str, x: TensorLike, other: TensorLike) -> Tensor:
    first, second = paired(x, other)
    broadcast_shape(name, first.shape, second.shape)
    if not is_wide(first):
        first, second = first.to(int32), second.to(int32)
    result: Tensor = getattr(mil, name)(first, second)
    return result


def eq(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where the operands are equal. NaN equals nothing."""
    return _compared("equal", x, other)


def ne(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where the operands differ."""
    return _compared("not_equal", x, other)


def lt(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where ``x < other``."""
    return _compared("less", x, other)


def le(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where ``x <= other``."""
    return _compared("less_equal", x, other)


def gt(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where ``x > other``."""
    return _compared("greater", x, other)


def ge(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where ``x >= other``."""
    return _compared("greater_equal", x, other)


def truth(x: TensorLike) -> Tensor:
    """Return where `x` is not zero."""
    box = as_tensor(x)
    return box if box.dtype == bool_ else ne(box, 0)


def logical_and(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where both operands are true (not zero)."""
    return mil.logical_and(truth(x), truth(other))


def logical_or(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where at least one operand is true (not zero)."""
    return mil.logical_or(truth(x), truth(other))


def logical_xor(x: TensorLike, other: TensorLike) -> Tensor:
    """Return where exactly one operand is true (not zero)."""
    return mil.logical_xor(truth(x), truth(other))


def logical_not(x: TensorLike) -> Tensor:
    """Return where `x` is false (zero)."""
    return mil.logical_not(truth(x))


def _only_bool(name: str, *operands: TensorLike) -> None:
    for operand in operands:
        dtype = as_tensor(operand).dtype
        if dtype != bool_:
            raise UnsupportedError(f"{name}: the operand is {dtype}. Core ML has bitwise operations for bool only.")


def bitwise_and(x: TensorLike, other: TensorLike) -> Tensor:
    """Return ``x & other`` of bool tensors; Core ML has no bitwise operations on integers."""
    _only_bool("bitwise_and", x, other)
    return logical_and(x, other)


def bitwise_or(x: TensorLike, other: TensorLike) -> Tensor:
    """Return ``x | other`` of bool tensors; Core ML has no bitwise operations on integers."""
    _only_bool("bitwise_or", x, other)
    return logical_or(x, other)


def bitwise_xor(x: TensorLike, other: TensorLike) -> Tensor:
    """Return ``x ^ other`` of bool tensors; Core ML has no bitwise operations on integers."""
    _only_bool("bitwise_xor", x, other)
    return logical_xor(x, other)


def bitwise_not(x: Tensor) -> Tensor:
    """Return ``~x``: logical not of bool, and ``-x - 1`` of signed integers."""
    if x.dtype == bool_:
        return mil.logical_not(x)
    if x.dtype.kind != "i":
        raise UnsupportedError(f"bitwise_not: the operand is {x.dtype}. It takes bool or a signed integer.")
    return -1 - x


def isnan(x: Tensor) -> Tensor:
    """Return where `x` is not a number."""
    return ne(x, x)


def isinf(x: Tensor) -> Tensor:
    """Return where `x` is plus or minus infinity."""
    return eq(x.abs(), float("inf"))


def isfinite(x: Tensor) -> Tensor:
    """Return where `x` is neither infinite nor NaN."""
    return lt(x.abs(), float("inf"))


def isclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Return where ``|x - other| <= atol + rtol * |other|``; infinities are close to themselves."""
    first, second = paired(x, other)
    if not first.is_floating_point():
        first, second = first.float(), second.float()
    near = logical_and(le((first - second).abs(), second.abs() * rtol + atol), isfinite(second))
    close = logical_or(near, eq(first, second))
    return logical_or(close, logical_and(isnan(first), isnan(second))) if equal_nan else close


def allclose(x: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Return whether every element of `x` is close to its counterpart (see :func:`isclose`)."""
    return bool(isclose(x, other, rtol, atol, equal_nan).all())


def equal(x: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same shape and elements."""
    return x.shape == other.shape and bool(eq(x, other).all())


def where(condition: Tensor, x: TensorLike | None = None, other: TensorLike | None = None) -> Tensor:
    """Return `x` where the condition holds and `other` elsewhere; the three broadcast together."""
    if x is None or other is None:
        raise UnsupportedError("where: x and other are missing. The positions of true elements have no fixed shape.")
    cond = as_tensor(condition)
    if cond.dtype != bool_:
        raise UnsupportedError(f"where: the condition is {cond.dtype}. Compare it first (condition != 0).")
    first, second = paired(x, other)
    shape = broadcast_shape("where", cond.shape, first.shape, second.shape)
    dtype = first.dtype
    if not (is_wide(first) or dtype == bool_):
        first, second = first.to(int32), second.to(int32)
    first, second = (box if box.ndim == 0 else spread(box, shape) for box in (first, second))
    if first.ndim == second.ndim == 0 and shape:
        first = spread(first, shape)
    return mil.select(cond=spread(cond, shape), a=first, b=second).to(dtype)


def masked_fill(x: Tensor, mask: Tensor, value: TensorLike) -> Tensor:
    """Return `x` with `value`, cast to its dtype, where the mask holds."""
    return where(mask, as_tensor(value).to(x.dtype), x)
