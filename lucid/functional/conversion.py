"""Other dtypes, copies, and the in-place forms, which put a new value into the tensor's box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucid.dtypes import bool_, float16, float32, float64, int32
from lucid.errors import DTypeError
from lucid.functional import arithmetic, comparison, creation, pointwise, selecting
from lucid.functional.operands import Number, TensorLike
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor

__all__ = ["clone", "contiguous", "type_as"]


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """Return `x` in the dtype of another tensor."""
    return x.to(other.dtype)


def clone(x: Tensor) -> Tensor:
    """Return a tensor with the same value in a box of its own."""
    return mil.identity(x)


def contiguous(x: Tensor) -> Tensor:
    """Return `x` itself: every tensor is laid out in row-major order."""
    return x


def as_half(x: Tensor) -> Tensor:
    """Return `x` as float16."""
    return x.to(float16)


def as_float(x: Tensor) -> Tensor:
    """Return `x` as float32."""
    return x.to(float32)


def as_double(x: Tensor) -> Tensor:
    """Return `x` as float64, which no Core ML program can hold."""
    return x.to(float64)


def as_int(x: Tensor) -> Tensor:
    """Return `x` as int32, without fractions."""
    return x.to(int32)


def as_bool(x: Tensor) -> Tensor:
    """Return where `x` is not zero."""
    return x.to(bool_)


def new_zeros(x: Tensor, *size: object, dtype: object = None) -> Tensor:
    """Return zeros of another shape in the dtype of `x`."""
    return creation.zeros(*size, dtype=dtype or x.dtype)


def new_ones(x: Tensor, *size: object, dtype: object = None) -> Tensor:
    """Return ones of another shape in the dtype of `x`."""
    return creation.ones(*size, dtype=dtype or x.dtype)


def new_full(x: Tensor, size: tuple[int, ...], fill_value: Number, *, dtype: object = None) -> Tensor:
    """Return one number in another shape and the dtype of `x`."""
    return creation.full(size, fill_value, dtype=dtype or x.dtype)


def new_tensor(x: Tensor, data: object, *, dtype: object = None) -> Tensor:
    """Return `data` as a tensor in the dtype of `x`."""
    return Tensor(data, dtype or x.dtype)


def fill_(x: Tensor, value: TensorLike) -> Tensor:
    """Put one number, cast to the tensor's dtype, into every place."""
    return x._put(as_tensor(value).to(x.dtype).expand(x.shape))


def zero_(x: Tensor) -> Tensor:
    """Put zero into every place."""
    return x._put(creation.zeros_like(x))


_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2}


def in_place(function: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """Return the form of a function that puts its result into the first operand's box."""

    def put(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = function(x, *args, **kwargs)
        if _KINDS[result.dtype.kind] > _KINDS[x.dtype.kind]:
            raise DTypeError(f"{name}: the result is {result.dtype}, which does not go into {x.dtype}. Cast x first.")
        return x._put(result.to(x.dtype))

    put.__name__ = put.__qualname__ = name
    put.__doc__ = f"Put the result of ``{name.strip('_')}`` into the tensor (see there), and return the tensor."
    return put


IN_PLACE: dict[str, Callable[..., Tensor]] = {
    f"{function.__name__}_": in_place(function, f"{function.__name__}_")
    for function in (
        arithmetic.add,
        arithmetic.addcdiv,
        arithmetic.addcmul,
        arithmetic.div,
        arithmetic.floor_divide,
        arithmetic.lerp,
        arithmetic.mul,
        arithmetic.neg,
        arithmetic.pow,
        arithmetic.remainder,
        arithmetic.sub,
        comparison.logical_and,
        comparison.logical_not,
        comparison.logical_or,
        comparison.masked_fill,
        pointwise.abs,
        pointwise.clamp,
        pointwise.exp,
        pointwise.log,
        pointwise.reciprocal,
        pointwise.round,
        pointwise.rsqrt,
        pointwise.sigmoid,
        pointwise.sqrt,
        pointwise.tanh,
        selecting.index_add,
        selecting.index_copy,
        selecting.index_fill,
        selecting.scatter,
        selecting.scatter_add,
        selecting.tril,
        selecting.triu,
    )
}
