"""Order along an axis. Among equal elements the lower position comes first; positions are int32."""

# ruff: noqa: A002 -- PyTorch's names

from __future__ import annotations

from typing import Any, NamedTuple

from lucid.dtypes import int32
from lucid.errors import ShapeError
from lucid.functional.operands import axis_of, matched
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = ["Sorted", "argsort", "sort", "topk"]


class Sorted(NamedTuple):
    """Elements in order, and where they stood."""

    values: Tensor
    indices: Tensor


def topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Sorted:
    """Return the `k` greatest (or smallest) elements along an axis, in order, and their positions."""
    axis = axis_of("topk", dim, x.ndim)
    size = x.shape[axis] if x.ndim else 1
    if not 0 <= k <= size:
        raise ShapeError(f"topk: k is {k}, the axis {dim} has {size} elements.")
    wide = matched("topk", x, None, int32)
    full = wide if x.ndim else wide.reshape(1)
    found: Any = mil.topk(full, k=k, axis=axis, ascending=not largest, sort=sorted, return_indices=True)
    values, places = found
    if x.ndim == 0:
        values, places = values.squeeze(), places.squeeze()
    return Sorted(values.to(x.dtype), places)


def argsort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the positions that put an axis in order. The order is stable whether asked for or not."""
    del stable
    axis = axis_of("argsort", dim, x.ndim)
    wide = matched("argsort", x, None, int32)
    if x.ndim == 0:
        return mil.argsort(wide.reshape(1), axis=0, ascending=not descending).squeeze()
    return mil.argsort(wide, axis=axis, ascending=not descending)


def sort(x: Tensor, dim: int = -1, descending: bool = False, stable: bool = True) -> Sorted:
    """Return the elements of an axis in order, and their positions."""
    places = argsort(x, dim, descending, stable)
    return Sorted(x.gather(dim, places), places)
