"""The same elements under another shape or in another order. Nothing here is a view: a tensor never aliases another."""

from __future__ import annotations

import math

import numpy as np

from lucid.errors import IndexingError, ShapeError
from lucid.functional.operands import Axes, axes_of, axis_of, broadcast_shape, carried_tile, sizes_of, spread
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = [
    "broadcast_tensors",
    "broadcast_to",
    "expand",
    "expand_as",
    "flatten",
    "flip",
    "movedim",
    "permute",
    "ravel",
    "repeat",
    "repeat_interleave",
    "reshape",
    "reshape_as",
    "roll",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "tile",
    "transpose",
    "unflatten",
    "unsqueeze",
    "view",
    "view_as",
]


def reshape(x: Tensor, *shape: object) -> Tensor:
    """Return the elements under another shape, given as integers or one sequence; one -1 takes what is left."""
    sizes = list(sizes_of("reshape", shape))
    free = [axis for axis, size in enumerate(sizes) if size == -1]
    rest = math.prod(size for size in sizes if size != -1)
    count = x.numel()
    if len(free) == 1 and rest and count % rest == 0:
        sizes[free[0]] = count // rest
    if min(sizes, default=0) < 0 or math.prod(sizes) != count:
        raise ShapeError(f"reshape: shape {tuple(sizes)} does not hold the {count} elements of a tensor of {x.shape}.")
    if tuple(sizes) == x.shape:
        return x
    if not sizes:
        return mil.squeeze(x, axes=tuple(range(x.ndim)))
    if x.ndim == 0:
        return mil.expand_dims(x, axes=tuple(range(len(sizes))))
    if count == 0:
        return Tensor(np.empty(sizes, x.dtype.numpy))
    return mil.reshape(x, shape=tuple(sizes))


def view(x: Tensor, *shape: object) -> Tensor:
    """Return the elements under another shape (:func:`reshape`; it does not alias `x`)."""
    return reshape(x, *shape)


def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """Return the elements under the shape of another tensor."""
    return reshape(x, other.shape)


def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Return `x` with the axes from `start_dim` to `end_dim` made one."""
    if x.ndim == 0:
        return reshape(x, 1)
    start, end = axis_of("flatten", start_dim, x.ndim), axis_of("flatten", end_dim, x.ndim)
    if start > end:
        raise IndexingError(f"flatten: start_dim is {start_dim}, which comes after end_dim, {end_dim}.")
    return reshape(x, *x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :])


def ravel(x: Tensor) -> Tensor:
    """Return `x` with one axis."""
    return flatten(x)


def unflatten(x: Tensor, dim: int, sizes: tuple[int, ...]) -> Tensor:
    """Return `x` with one axis split into several; one size may be -1."""
    axis = axis_of("unflatten", dim, x.ndim)
    split = list(sizes)
    if split.count(-1) == 1:
        rest = math.prod(size for size in split if size != -1)
        split[split.index(-1)] = x.shape[axis] // rest if rest else 0
    if math.prod(split) != x.shape[axis]:
        raise ShapeError(f"unflatten: the sizes {tuple(sizes)} do not make up axis {dim}, of size {x.shape[axis]}.")
    return reshape(x, *x.shape[:axis], *split, *x.shape[axis + 1 :])


def permute(x: Tensor, *dims: object) -> Tensor:
    """Return `x` with its axes in another order; every axis is named once."""
    named = sizes_of("permute", dims)
    order = tuple(axis_of("permute", dim, x.ndim) for dim in named)
    if sorted(order) != list(range(x.ndim)):
        raise IndexingError(f"permute: dims is {named}; a tensor of {x.ndim} axes needs each of them once.")
    return mil.transpose(x, perm=order) if order != tuple(range(x.ndim)) else x


def transpose(x: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return `x` with two axes exchanged."""
    first, second = axis_of("transpose", dim0, x.ndim), axis_of("transpose", dim1, x.ndim)
    order = list(range(x.ndim))
    if x.ndim:
        order[first], order[second] = second, first
    return permute(x, order)


def t(x: Tensor) -> Tensor:
    """Return the transpose of a matrix (a vector stays as it is)."""
    if x.ndim > 2:
        raise ShapeError(f"t: the tensor has shape {x.shape}; it takes a matrix. Use transpose(dim0, dim1).")
    return permute(x, *reversed(range(x.ndim))) if x.ndim == 2 else x


def movedim(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Tensor:
    """Return `x` with axes moved to other places; the others keep their order."""
    sources = [axis_of("movedim", dim, x.ndim) for dim in (source if isinstance(source, tuple) else (source,))]
    places = [
        axis_of("movedim", dim, x.ndim) for dim in (destination if isinstance(destination, tuple) else (destination,))
    ]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        raise IndexingError(f"movedim: source {source} and destination {destination} do not pair axes one to one.")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permute(x, order)


def squeeze(x: Tensor, dim: Axes = None) -> Tensor:
    """Return `x` without its axes of size 1, or without those of `dim` that have size 1."""
    axes = tuple(range(x.ndim)) if dim is None else axes_of("squeeze", dim, x.ndim)
    gone = tuple(axis for axis in axes if axis < x.ndim and x.shape[axis] == 1)
    return mil.squeeze(x, axes=gone) if gone else x


def unsqueeze(x: Tensor, dim: int) -> Tensor:
    """Return `x` with a new axis of size 1 at `dim`."""
    return mil.expand_dims(x, axes=(axis_of("unsqueeze", dim, x.ndim + 1),))


def expand(x: Tensor, *sizes: object) -> Tensor:
    """Return `x` repeated along new axes and axes of size 1; -1 keeps an axis."""
    wanted = sizes_of("expand", sizes)
    lead = len(wanted) - x.ndim
    if lead < 0 or min(wanted, default=0) < -1 or -1 in wanted[:lead]:
        raise ShapeError(f"expand: a tensor of shape {x.shape} does not fill the shape {wanted}.")
    return spread(x, tuple(x.shape[axis - lead] if size == -1 else size for axis, size in enumerate(wanted)))


def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """Return `x` expanded to the shape of another tensor."""
    return spread(x, other.shape)


def broadcast_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return `x` expanded to `shape`."""
    return expand(x, shape)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors expanded to their common shape."""
    shape = broadcast_shape("broadcast_tensors", *(tensor.shape for tensor in tensors))
    return tuple(spread(tensor, shape) for tensor in tensors)


def repeat(x: Tensor, *repeats: object) -> Tensor:
    """Return `x` repeated whole along its axes; more numbers than axes make new axes in front."""
    reps = sizes_of("repeat", repeats)
    lead = len(reps) - x.ndim
    if lead < 0 or min(reps, default=1) < 0:
        raise ShapeError(
            f"repeat: repeats is {reps}, the tensor has shape {x.shape}. Pass at least one number per axis."
        )
    if 0 in reps:
        sizes = [size * rep for size, rep in zip((1,) * lead + x.shape, reps, strict=True)]
        return Tensor(np.empty(sizes, x.dtype.numpy))
    full = mil.expand_dims(x, axes=tuple(range(lead))) if lead else x
    return carried_tile(full, reps) if any(rep != 1 for rep in reps) else full


def tile(x: Tensor, *dims: object) -> Tensor:
    """Return `x` repeated whole along its last axes (:func:`repeat` with missing numbers taken as 1)."""
    reps = sizes_of("tile", dims)
    return repeat(x, (1,) * (x.ndim - len(reps)) + reps)


def repeat_interleave(x: Tensor, repeats: int | Tensor, dim: int | None = None) -> Tensor:
    """Return `x` with each element of an axis repeated; `repeats` is one number, or a tensor of one per element."""
    source, axis = (flatten(x), 0) if dim is None else (x, axis_of("repeat_interleave", dim, x.ndim))
    size = source.shape[axis]
    if isinstance(repeats, Tensor):
        counts = repeats.numpy()
        if counts.shape not in ((size,), (1,), ()):
            raise ShapeError(f"repeat_interleave: repeats has shape {counts.shape}, the axis {size} elements.")
        places = np.repeat(np.arange(size, dtype=np.int32), counts if counts.shape == (size,) else int(counts.flat[0]))
        return source.index_select(axis, Tensor(places))
    if repeats < 0:
        raise ShapeError(f"repeat_interleave: repeats is {repeats}; it must not be negative.")
    if repeats == 1:
        return source
    widened = unsqueeze(source, axis + 1)
    reps = tuple(repeats if place == axis + 1 else 1 for place in range(widened.ndim))
    return flatten(repeat(widened, reps), axis, axis + 1)


def flip(x: Tensor, *dims: object) -> Tensor:
    """Return `x` with the order along some axes reversed."""
    axes = tuple(axis_of("flip", dim, x.ndim) for dim in sizes_of("flip", dims))
    return mil.reverse(x, axes=axes) if axes and x.ndim else x


def roll(x: Tensor, shifts: int | tuple[int, ...], dims: int | tuple[int, ...] | None = None) -> Tensor:
    """Return `x` with elements moved along axes; what leaves at one end enters at the other."""
    if dims is None:
        if not isinstance(shifts, int):
            raise ShapeError(f"roll: shifts is {shifts} without dims. Pass one axis per shift.")
        return reshape(roll(flatten(x), shifts, 0), x.shape)
    steps = shifts if isinstance(shifts, tuple | list) else (shifts,)
    axes = dims if isinstance(dims, tuple | list) else (dims,)
    if len(steps) != len(axes):
        raise ShapeError(f"roll: {len(steps)} shifts for {len(axes)} dims. Pass one axis per shift.")
    from lucid.functional.joining import cat

    for step, dim in zip(steps, axes, strict=True):
        axis = axis_of("roll", dim, x.ndim)
        size = x.shape[axis]
        start = (size - step) % size if size else 0
        if start:
            x = cat([x.narrow(axis, start, size - start), x.narrow(axis, 0, start)], axis)
    return x


swapaxes = swapdims = transpose
view_as = reshape_as
