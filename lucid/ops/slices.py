"""MIL's way to say a slice, as the keys that arrays take."""

from __future__ import annotations

from lucid.errors import IndexingError, ShapeError
from lucid.ops.array import Array, Bools, Ints
from lucid.ops.axes import integers

__all__ = ["resolve_slices"]


def resolve_slices(
    operation: str,
    shape: tuple[int, ...],
    begin: Array,
    end: Array,
    stride: Ints | None,
    begin_mask: Bools | None,
    end_mask: Bools | None,
    squeeze_mask: Bools | None,
) -> tuple[slice | int, ...]:
    """Return one key per axis, or raise ShapeError for a list of another length, IndexingError for a wrong index."""
    rank = len(shape)
    begins, ends = integers(begin), integers(end)
    for name, given in (
        ("begin", begins),
        ("end", ends),
        ("stride", stride),
        ("begin_mask", begin_mask),
        ("end_mask", end_mask),
        ("squeeze_mask", squeeze_mask),
    ):
        if given is not None and len(given) != rank:
            raise ShapeError(
                f"{operation}: {name} has {len(given)} entries, x of shape {shape} has rank {rank}. Pass one per axis."
            )
    if stride is not None and 0 in stride:
        raise ShapeError(f"{operation}: stride {stride} has a 0. Pass steps forward (> 0) or backward (< 0).")
    keys: list[slice | int] = []
    for axis in range(rank):
        first = None if begin_mask is not None and begin_mask[axis] else begins[axis]
        if squeeze_mask is not None and squeeze_mask[axis]:
            index = first or 0
            if not -shape[axis] <= index < shape[axis]:
                raise IndexingError(
                    f"{operation}: index {index} is out of range for axis {axis} of size {shape[axis]}."
                )
            keys.append(index)
        else:
            last = None if end_mask is not None and end_mask[axis] else ends[axis]
            keys.append(slice(first, last, None if stride is None else stride[axis]))
    return tuple(keys)
