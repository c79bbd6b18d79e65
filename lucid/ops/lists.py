"""MIL's lists: tensors of one shape and dtype by number, changed only by making another list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lucid.errors import IndexingError, ShapeError

__all__ = ["TensorList"]


@dataclass(frozen=True, eq=False)
class TensorList:
    """`length` elements of `dtype` and `shape`, where a size of None is that of the first element written.

    ``items`` holds those that were written. ``is_dynamic`` lists grow where an element beyond their end is written.
    """

    length: int
    shape: tuple[int | None, ...]
    dtype: str
    is_dynamic: bool = True
    items: Mapping[int, Any] = field(default_factory=dict)

    def read(self, operation: str, index: int) -> Any:
        """Return an element: zeros where none was written, ShapeError where its shape is not known either."""
        if not 0 <= index < self.length:
            raise IndexingError(f"{operation}: index is {index}, the list has {self.length} elements.")
        if index in self.items:
            return self.items[index]
        if None in self.shape:
            raise ShapeError(f"{operation}: element {index} was never written, and the list's shape is not known.")
        return np.zeros([size or 0 for size in self.shape], self.dtype)

    def written(self, operation: str, changes: Mapping[int, Any]) -> TensorList:
        """Return the list with these elements replaced."""
        shape = self.shape
        for index, value in changes.items():
            if index < 0 or (index >= self.length and not self.is_dynamic):
                raise IndexingError(f"{operation}: index is {index}, the list has {self.length} elements.")
            if len(shape) != len(value.shape) or any(
                size not in (None, given) for size, given in zip(shape, value.shape, strict=True)
            ):
                raise ShapeError(f"{operation}: the value has shape {value.shape}, the list's elements {shape}.")
            shape = tuple(value.shape)
        length = max(self.length, *(index + 1 for index in changes), 0)
        return replace(self, length=length, shape=shape, items={**self.items, **changes})
