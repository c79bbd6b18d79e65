"""Axes and sizes as kernels take them: negative ones resolved, wrong ones refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lucid.errors import ShapeError

__all__ = ["integers", "resolve_axes", "resolve_axis"]


def integers(values: Any) -> list[int]:
    """Return a 1-D array (or any sequence) of whole numbers as Python integers."""
    return [int(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]


def resolve_axis(operation: str, axis: int, rank: int, name: str = "axis") -> int:
    """Return `axis` counted from the front, or raise ShapeError where a tensor of this rank does not have it."""
    if -rank <= axis < rank:
        return axis + rank if axis < 0 else axis
    raise ShapeError(
        f"{operation}: {name} is {axis}, expected {-rank} to {rank - 1} in a tensor of rank {rank}. Name one it has."
        if rank
        else f"{operation}: {name} is {axis}, but the tensor has rank 0. Give it an axis first (expand_dims)."
    )


def resolve_axes(operation: str, axes: Iterable[int], rank: int, name: str = "axes") -> tuple[int, ...]:
    """Return the axes counted from the front in the order given, or raise ShapeError for a wrong or repeated one."""
    found = tuple(resolve_axis(operation, axis, rank, name) for axis in axes)
    if len(set(found)) != len(found):
        raise ShapeError(f"{operation}: {name} {tuple(axes)} names one axis twice in rank {rank}. Name each axis once.")
    return found
