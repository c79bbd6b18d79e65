"""The words that kernels are written in: array types and the namespace of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NewType

__all__ = ["Array", "Block", "Bools", "Ints", "Labels", "namespace"]

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = Any  # any array of the Array API: NumPy's, JAX's
    Block = Callable[..., tuple[Any, ...]]  # an inner block of operations, ready to be run
else:
    Array = NewType("Array", Any)  # words of their own, so that a kernel's signature says what its inputs are
    Block = NewType("Block", Any)

Ints = tuple[int, ...]
Bools = tuple[bool, ...]
Labels = tuple[str | int, ...]


def namespace(*arrays: Any) -> Any:
    """Return the Array API namespace of the first argument that is an array (NumPy's for plain numbers)."""
    for array in arrays:
        found = getattr(array, "__array_namespace__", None)
        if found is not None:
            return found()
    import numpy as np

    return np
