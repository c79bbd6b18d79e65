"""What every function of the library asks of its operands: which axes, which dtype, which shape."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from lucid.dtypes import DType, as_dtype, bool_, float16, float32, float64, int32
from lucid.errors import DTypeError, IndexingError, ShapeError
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor

__all__ = [
    "Axes",
    "Number",
    "TensorLike",
    "axes_of",
    "axis_of",
    "broadcast_shape",
    "carried",
    "floating",
    "is_wide",
    "matched",
    "needs_floating",
    "sizes_of",
    "spread",
]

Number: TypeAlias = bool | int | float
TensorLike: TypeAlias = Tensor | bool | int | float
Axes: TypeAlias = int | Sequence[int] | None

_WIDE = (int32, float16, float32, float64)


def axis_of(name: str, dim: int, rank: int) -> int:
    """Return `dim` counted from the front, or raise IndexingError where a tensor of `rank` axes has no such axis."""
    try:
        axis = dim.__index__()
    except AttributeError:
        raise IndexingError(f"{name}: dim is {dim!r}. It takes an integer.") from None
    if not -max(rank, 1) <= axis < max(rank, 1):
        raise IndexingError(f"{name}: dim is {axis}, the tensor has {rank} axes. Use one from {-rank} to {rank - 1}.")
    return axis % max(rank, 1)


def axes_of(name: str, dim: Axes, rank: int) -> tuple[int, ...]:
    """Return the axes that `dim` names, in order: all of them for ``None`` and for an empty sequence."""
    if dim is None:
        return tuple(range(rank))
    if not isinstance(dim, Sequence):
        return (axis_of(name, dim, rank),)
    axes = [axis_of(name, item, rank) for item in dim]
    if len(set(axes)) < len(axes):
        raise IndexingError(f"{name}: dim is {tuple(dim)}, which names an axis twice. Name each axis once.")
    return tuple(sorted(axes)) or tuple(range(rank))


def sizes_of(name: str, sizes: tuple[object, ...]) -> tuple[int, ...]:
    """Return sizes that were given as several integers or as one sequence of them."""
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], Sequence) else sizes
    try:
        return tuple(operator.index(size) for size in given)  # type: ignore[arg-type]  # refused below
    except TypeError:
        raise ShapeError(f"{name}: the sizes are {given!r}. Give integers, or one sequence of them.") from None


def is_wide(x: Tensor) -> bool:
    """Whether Core ML computes on this dtype itself (int32 and the floating types)."""
    return x.dtype in _WIDE


def carried(function: Callable[..., Tensor], first: Tensor, *others: Tensor) -> Tensor:
    """Apply a function that only moves or compares values; bool and narrow integers travel as int32 and come back."""
    if is_wide(first):
        return function(first, *others)
    return function(first.to(int32), *(other.to(int32) for other in others)).to(first.dtype)


def floating(x: TensorLike) -> Tensor:
    """Return `x` as a floating tensor: integers and booleans become float32, as in PyTorch."""
    box = as_tensor(x)
    return box if box.is_floating_point() else box.to(float32)


def needs_floating(name: str, x: Tensor, dtype: object = None) -> Tensor:
    """Return `x` in `dtype` if one is given; raise DTypeError where the result is not floating."""
    result = x if dtype is None else x.to(dtype)
    if not result.is_floating_point():
        raise DTypeError(
            f"{name}: the tensor is {result.dtype}. Cast it with .float() first, or pass a floating dtype=."
        )
    return result


def broadcast_shape(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape of operands, or raise ShapeError with all their shapes."""
    rank = max(map(len, shapes), default=0)
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, start=rank - len(shape)):
            if size != 1 and common[place] not in (1, size):
                raise ShapeError(f"{name}: the shapes {', '.join(map(str, shapes))} do not broadcast to one shape.")
            if size != 1:
                common[place] = size
    return tuple(common)


def spread(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return `x` repeated along new axes and axes of size 1 to fill `shape`."""
    if x.shape == shape:
        return x
    lead = len(shape) - x.ndim
    sizes = (1,) * lead + x.shape
    if lead < 0 or any(old not in (1, new) for old, new in zip(sizes, shape, strict=True)):
        raise ShapeError(f"expand: a tensor of shape {x.shape} does not fill the shape {shape}.")
    if 0 in shape:
        import numpy as np

        return Tensor(np.empty(shape, x.dtype.numpy))
    full = x if lead == 0 else mil.expand_dims(x, axes=tuple(range(lead)))
    reps = tuple(new if old == 1 else 1 for old, new in zip(sizes, shape, strict=True))
    return carried_tile(full, reps) if any(rep != 1 for rep in reps) else full


def carried_tile(x: Tensor, reps: tuple[int, ...]) -> Tensor:
    """Repeat `x` whole along its axes."""
    if x.dtype == bool_ or is_wide(x):
        return mil.tile(x, reps=reps)
    return carried(lambda wide: mil.tile(wide, reps=reps), x)


def matched(name: str, x: Tensor, dtype: object, default: DType) -> Tensor:
    """Return `x` in `dtype`, or, where none is asked for and `x` is bool or a narrow integer, in `default`."""
    if dtype is not None:
        wanted = as_dtype(dtype)
        if not (wanted.is_floating_point or wanted.is_integer):
            raise DTypeError(f"{name}: dtype is {wanted}. It takes a number type.")
        return x.to(wanted)
    return x if is_wide(x) else x.to(default)
