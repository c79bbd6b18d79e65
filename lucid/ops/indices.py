"""Index arrays: which elements they name, and the error for those that no tensor has."""

from __future__ import annotations

from typing import Any, NoReturn

from lucid.errors import DTypeError, IndexingError
from lucid.ops.array import Array

__all__ = ["check_indices", "grid", "refuse_index", "split_coordinates"]


def check_indices(operation: str, indices: Array, sizes: tuple[int, ...], is_strict: bool) -> None:
    """Raise DTypeError for indices that are no integers, and, if strict, IndexingError for one negative or too large.

    ``sizes`` has one size for all indices, or one for each entry of the last axis of ``indices``. Indices whose values
    are not known yet (JAX, while it compiles) are not looked at.
    """
    if indices.dtype.kind not in "iu":  # booleans would choose by mask
        raise DTypeError(f"{operation}: indices are {indices.dtype}, expected integers. Cast them to int32.")
    if is_strict:
        _refuse_outside(operation, indices, sizes, lowest=0)


def refuse_index(operation: str, indices: Array, sizes: tuple[int, ...]) -> NoReturn:
    """Raise the IndexingError for indices of which the array library said that one is out of range."""
    _refuse_outside(operation, indices, sizes, lowest=None)
    raise IndexingError(f"{operation}: an index is out of range for {sizes}.")


def _refuse_outside(operation: str, indices: Any, sizes: tuple[int, ...], lowest: int | None) -> None:
    columns = [(indices, sizes[0])] if len(sizes) == 1 else [(indices[..., i], size) for i, size in enumerate(sizes)]
    for values, size in columns:
        floor = -size if lowest is None else lowest
        outside = (values < floor) | (values >= size)
        try:
            is_wrong = bool(outside.any())
        except TypeError:  # JAX's error for a value that is not known while it compiles
            return
        if is_wrong:
            index = int(values[outside].reshape(-1)[0])
            raise IndexingError(
                f"{operation}: index {index} is out of range, expected {floor} to {size - 1} for size {size}. "
                "Clamp or check the indices first."
            )


def grid(xp: Any, sizes: tuple[int, ...], axis: int, rank: int) -> Array:
    """Return the numbers of the places along `axis`, shaped to broadcast over `rank` axes."""
    return xp.reshape(xp.arange(sizes[axis]), tuple(-1 if place == axis else 1 for place in range(rank)))


def split_coordinates(indices: Array) -> tuple[Array, ...]:
    """Return the coordinates that the last axis of ``indices`` holds, as one index array per axis they name."""
    return tuple(indices[..., i] for i in range(indices.shape[-1]))
