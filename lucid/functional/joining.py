"""Several tensors made one, and one made several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from lucid.dtypes import promote
from lucid.errors import ShapeError
from lucid.functional.operands import axis_of, spread
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor, as_tensor

__all__ = ["cat", "chunk", "concat", "concatenate", "hstack", "meshgrid", "split", "stack", "unbind", "vstack"]


def _together(name: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    if not tensors:
        raise ShapeError(f"{name}: there are no tensors to join.")
    boxes = [as_tensor(tensor) for tensor in tensors]
    common = reduce(promote, (box.dtype for box in boxes))
    return [box.to(common) for box in boxes]


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return the tensors joined along an axis they have; other sizes agree. Empty tensors of one axis are left out."""
    boxes = _together("cat", tensors)
    boxes = [box for box in boxes if box.shape != (0,)] or boxes[:1]
    axis = axis_of("cat", dim, boxes[0].ndim)
    for box in boxes:
        sizes = list(box.shape)
        if len(sizes) == boxes[0].ndim and sizes:
            sizes[axis] = boxes[0].shape[axis]
        if tuple(sizes) != boxes[0].shape or not sizes:
            shapes = ", ".join(str(box.shape) for box in boxes)
            raise ShapeError(f"cat: the shapes {shapes} differ outside axis {dim}. Only that axis may differ.")
    boxes = [box for box in boxes if box.shape[axis]] or boxes[:1]
    return boxes[0] if len(boxes) == 1 else mil.concat(boxes, axis=axis, interleave=False)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Return tensors of one shape joined along a new axis."""
    boxes = _together("stack", tensors)
    for box in boxes:
        if box.shape != boxes[0].shape:
            shapes = ", ".join(str(box.shape) for box in boxes)
            raise ShapeError(f"stack: the shapes {shapes} differ. Use cat to join along an axis they have.")
    axis = axis_of("stack", dim, boxes[0].ndim + 1)
    return mil.stack(boxes, axis=axis) if len(boxes) > 1 else mil.expand_dims(boxes[0], axes=(axis,))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along axis 1 (axis 0 for vectors)."""
    boxes = [box if box.ndim else box.reshape(1) for box in tensors]
    return cat(boxes, 0 if boxes and boxes[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors joined along axis 0; vectors are rows."""
    return cat([box if box.ndim > 1 else box.reshape(1, -1) for box in tensors], 0)


def split(x: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Return pieces along an axis: of one size (the last may be smaller), or of the sizes given."""
    axis = axis_of("split", dim, x.ndim)
    size = x.shape[axis] if x.ndim else 0
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step <= 0:
            raise ShapeError(f"split: the size of a piece is {step}; it must be positive.")
        sizes = [min(step, size - start) for start in range(0, size, step)] or [0]
    else:
        sizes = [int(part) for part in split_size_or_sections]
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise ShapeError(f"split: the sections {sizes} do not make up axis {dim}, of size {size}.")
    if len(sizes) == 1:
        return (x,)
    if 0 in sizes or x.dtype.name not in ("bool", "int32", "float16", "float32", "float64"):
        starts = np.cumsum([0, *sizes]).tolist()
        return tuple(x.narrow(axis, start, part) for start, part in zip(starts, sizes, strict=False))
    pieces: Any = mil.split(x, num_splits=len(sizes), split_sizes=tuple(sizes), axis=axis)
    return tuple(pieces)


def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return at most `chunks` pieces of one size along an axis (the last may be smaller)."""
    if chunks <= 0:
        raise ShapeError(f"chunk: chunks is {chunks}; it must be positive.")
    size = x.shape[axis_of("chunk", dim, x.ndim)]
    if size == 0:
        return (x,) * chunks
    return split(x, math.ceil(size / chunks), dim)


def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along an axis, without that axis."""
    axis = axis_of("unbind", dim, x.ndim)
    return tuple(piece.squeeze(axis) for piece in split(x, 1, axis)) if x.shape[axis] else ()


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Return the coordinates of the grid that vectors span: one tensor per vector, axes in their order (``ij``)."""
    vectors: list[Any] = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], Sequence) else list(tensors)
    if indexing not in ("ij", "xy"):
        raise ShapeError(f"meshgrid: indexing is {indexing!r}. Use 'ij' or 'xy'.")
    flat = [vector.reshape(-1) for vector in vectors]
    shape = tuple(vector.numel() for vector in flat)
    grids = []
    for place, vector in enumerate(flat):
        column = vector.reshape([vector.numel() if axis == place else 1 for axis in range(len(flat))])
        grid = spread(column, shape)
        grids.append(grid.transpose(0, 1) if indexing == "xy" and len(flat) > 1 else grid)
    return tuple(grids)


concat = concatenate = cat
