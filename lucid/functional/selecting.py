"""Taking elements by position, and putting them there. Positions are int32; negative ones count from the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lucid.dtypes import bool_, int32
from lucid.errors import DTypeError, IndexingError, ShapeError
from lucid.functional.operands import TensorLike, axis_of, carried, spread
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor

__all__ = [
    "diagonal",
    "gather",
    "index_add",
    "index_copy",
    "index_fill",
    "index_select",
    "masked_select",
    "narrow",
    "nonzero",
    "scatter",
    "scatter_add",
    "select",
    "select_scatter",
    "slice_scatter",
    "take_along_dim",
    "tril",
    "triu",
]


def _places(name: str, index: Tensor) -> Tensor:
    box = as_tensor(index)
    if not box.dtype.is_integer:
        raise DTypeError(f"{name}: the index is {box.dtype}. It takes integers.")
    return box.to(int32)


def _at(axis: int, item: object) -> tuple[Any, ...]:
    return (slice(None),) * axis + (item,)


def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return `length` elements of an axis from `start` on."""
    axis = axis_of("narrow", dim, x.ndim)
    size = x.shape[axis]
    begin = start + size if start < 0 else start
    if not 0 <= begin <= size or length < 0 or begin + length > size:
        raise IndexingError(f"narrow: start {start} and length {length} leave axis {dim}, of size {size}.")
    return x[_at(axis, slice(begin, begin + length))]


def select(x: Tensor, dim: int, index: int) -> Tensor:
    """Return one slice of an axis, without the axis."""
    return x[_at(axis_of("select", dim, x.ndim), index)]


def index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the elements of an axis at the positions of a vector."""
    axis, places = axis_of("index_select", dim, x.ndim), _places("index_select", index)
    if places.ndim > 1:
        raise ShapeError(f"index_select: the index has shape {places.shape}; it takes a vector.")
    vector = places if places.ndim else places.reshape(1)
    return carried(lambda wide: mil.gather(wide, indices=vector, axis=axis, batch_dims=0, validate_indices=False), x)


def _fits(name: str, x: Tensor, axis: int, index: Tensor) -> None:
    wrong = any(place != axis and size > x.shape[place] for place, size in enumerate(index.shape[: x.ndim]))
    if index.ndim != x.ndim or wrong:
        raise ShapeError(
            f"{name}: the index has shape {index.shape}, the tensor {x.shape}. "
            f"It takes as many axes, none but axis {axis} longer than the tensor's."
        )


def _corner(x: Tensor, axis: int, shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(0, x.shape[place] if place == axis else size) for place, size in enumerate(shape))


def gather(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return, for each place of `index`, the element of `x` whose position along `dim` is the number found there."""
    axis, places = axis_of("gather", dim, x.ndim), _places("gather", index)
    if x.ndim == 0:
        return gather(x.reshape(1), 0, places.reshape(1)).reshape(places.shape)
    _fits("gather", x, axis, places)
    corner = _corner(x, axis, places.shape)
    part = x[corner] if any(item.stop != size for item, size in zip(corner, x.shape, strict=True)) else x
    return carried(lambda wide: mil.gather_along_axis(wide, indices=places, axis=axis, validate_indices=False), part)


def take_along_dim(x: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Return elements by their positions along an axis (:func:`gather` with broadcasting), or in the flat tensor."""
    if dim is None:
        return gather(x.reshape(-1), 0, indices.reshape(-1))
    axis = axis_of("take_along_dim", dim, x.ndim)
    shape = [max(a, b) for a, b in zip(x.shape, indices.shape, strict=True)]
    own, other = list(shape), list(shape)
    own[axis], other[axis] = x.shape[axis], indices.shape[axis]
    return gather(spread(x, tuple(own)), dim, spread(_places("take_along_dim", indices), tuple(other)))


def scatter(x: Tensor, dim: int, index: Tensor, src: TensorLike, *, reduce: str | None = None) -> Tensor:
    """Return `x` with the elements of `src` put where `index` says along an axis.

    `src` is a number or a tensor at least as large as `index`. With ``reduce`` ``"add"`` or ``"multiply"`` they are
    joined with what is there. Where two elements go to one place without it, the last one stays.
    """
    modes = {None: "update", "add": "add", "multiply": "mul"}
    if reduce not in modes:
        raise DTypeError(f"scatter: reduce is {reduce!r}. Use None, 'add' or 'multiply'.")
    return _scattered("scatter", x, dim, index, src, modes[reduce])


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return `x` with the elements of `src` added where `index` says along an axis."""
    return _scattered("scatter_add", x, dim, index, src, "add")


def _scattered(name: str, x: Tensor, dim: int, index: Tensor, src: TensorLike, mode: str) -> Tensor:
    axis, places = axis_of(name, dim, x.ndim), _places(name, index)
    _fits(name, x, axis, places)
    values = as_tensor(src)
    if isinstance(src, Tensor) and src.ndim:
        if src.dtype != x.dtype:
            raise DTypeError(f"{name}: src is {src.dtype}, the tensor {x.dtype}. Cast one of them.")
        if src.ndim != x.ndim or any(size > have for size, have in zip(places.shape, src.shape, strict=True)):
            raise ShapeError(f"{name}: src has shape {src.shape}, smaller than the index, {places.shape}.")
        if src.shape != places.shape:
            values = src[tuple(slice(0, size) for size in places.shape)]
    values = spread(values.to(x.dtype), places.shape)
    if places.numel() == 0:
        return x
    corner = _corner(x, axis, places.shape)
    is_whole = all(item.stop == size for item, size in zip(corner, x.shape, strict=True))

    def put(wide: Tensor, updates: Tensor) -> Tensor:
        return mil.scatter_along_axis(
            wide, indices=places, updates=updates, axis=axis, mode=mode, validate_indices=False
        )

    if is_whole:
        return carried(put, x, values)
    from lucid.indexing import replaced

    return replaced(x, corner, carried(put, x[corner], values))


def _rows(name: str, x: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[int, Tensor, Tensor]:
    axis, places = axis_of(name, dim, x.ndim), _places(name, index)
    vector = places if places.ndim else places.reshape(1)
    if source.dtype != x.dtype:
        raise DTypeError(f"{name}: the source is {source.dtype}, the tensor {x.dtype}. Cast one of them.")
    expected = (*x.shape[:axis], vector.numel(), *x.shape[axis + 1 :])
    if vector.ndim != 1 or source.shape != expected:
        raise ShapeError(
            f"{name}: the source has shape {source.shape}, expected {expected} for an index of {index.shape}."
        )
    return axis, vector, source


def _put_rows(mode: str, axis: int, index: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda wide, updates: mil.scatter(
        wide, indices=index, updates=updates, axis=axis, mode=mode, validate_indices=False
    )


def index_copy(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return `x` with the slices of `source` put at the positions of a vector along an axis.

    One position becomes a ``slice_update``, which Core ML runs in a state's own memory.
    """
    axis, places, rows = _rows("index_copy", x, dim, index, source)
    if places.numel() == 1:
        from lucid.indexing import replaced

        return replaced(x, _at(axis, places), rows)
    return carried(_put_rows("update", axis, places), x, rows)


def index_add(x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """Return `x` with the slices of `source`, times `alpha`, added at the positions of a vector along an axis."""
    axis, places, rows = _rows("index_add", x, dim, index, source)
    return carried(_put_rows("add", axis, places), x, rows if alpha == 1 else rows * alpha)


def index_fill(x: Tensor, dim: int, index: Tensor, value: TensorLike) -> Tensor:
    """Return `x` with one value at the positions of a vector along an axis."""
    axis, places = axis_of("index_fill", dim, x.ndim), _places("index_fill", index)
    shape = (*x.shape[:axis], places.numel(), *x.shape[axis + 1 :])
    return index_copy(x, dim, places, spread(as_tensor(value).to(x.dtype), shape))


def slice_scatter(
    x: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Return `x` with a slice of an axis replaced by `src`, which has the slice's shape."""
    from lucid.indexing import replaced

    axis = axis_of("slice_scatter", dim, x.ndim)
    place = slice(start, end, step)
    expected = (*x.shape[:axis], len(range(*place.indices(x.shape[axis]))), *x.shape[axis + 1 :])
    if src.shape != expected:
        raise ShapeError(f"slice_scatter: src has shape {src.shape}, expected {expected}, the shape of the slice.")
    return replaced(x, _at(axis, place), src)


def select_scatter(x: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return `x` with one slice of an axis replaced by `src`, which lacks the axis."""
    from lucid.indexing import replaced

    axis = axis_of("select_scatter", dim, x.ndim)
    expected = (*x.shape[:axis], *x.shape[axis + 1 :])
    if src.shape != expected:
        raise ShapeError(f"select_scatter: src has shape {src.shape}, expected {expected}, the shape of the slice.")
    return replaced(x, _at(axis, index), src)


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where a mask of the same shape holds, in a vector whose length depends on the mask."""
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return spread(x, shape)[spread(mask, shape)]


def nonzero(x: Tensor) -> Tensor:
    """Return the positions of the elements that are not zero: one row each, as many columns as axes."""
    return mil.non_zero(x.to(int32) if x.dtype == bool_ else x)


def _triangle(name: str, x: Tensor, keep: Callable[[Any], Any]) -> Tensor:
    if x.ndim < 2:
        raise ShapeError(f"{name}: the tensor has shape {x.shape}; it takes at least two axes.")
    rows, columns = x.shape[-2:]
    distance = np.arange(columns, dtype=np.int32)[None, :] - np.arange(rows, dtype=np.int32)[:, None]
    return x.masked_fill(Tensor(~keep(distance)), 0)


def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """Return the matrices of the last two axes with zeros above a diagonal."""
    if x.ndim >= 2 and diagonal == 0 and x.dtype.name in ("bool", "int32", "float16", "float32", "float64"):
        return mil.band_part(x, lower=-1, upper=0)
    return _triangle("tril", x, lambda distance: distance <= diagonal)


def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """Return the matrices of the last two axes with zeros below a diagonal."""
    if x.ndim >= 2 and diagonal == 0 and x.dtype.name in ("bool", "int32", "float16", "float32", "float64"):
        return mil.band_part(x, lower=0, upper=-1)
    return _triangle("triu", x, lambda distance: distance >= diagonal)


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a diagonal of the matrices of two axes, as the last axis."""
    first, second = axis_of("diagonal", dim1, x.ndim), axis_of("diagonal", dim2, x.ndim)
    if first == second:
        raise IndexingError(f"diagonal: dim1 and dim2 are both axis {first}.")
    rest = [axis for axis in range(x.ndim) if axis not in (first, second)]
    matrices = x.permute(*rest, first, second)
    rows, columns = matrices.shape[-2:]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = offset if offset >= 0 else -offset * columns
    flat = matrices.reshape(*matrices.shape[:-2], rows * columns)
    return flat.index_select(-1, Tensor(start + np.arange(length, dtype=np.int32) * (columns + 1)))
