"""Numbers of classes as vectors."""

from __future__ import annotations

from lucid.dtypes import int32
from lucid.errors import DTypeError, IndexingError
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = ["one_hot"]


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """Return int32 vectors, in a new last axis, with a one at the position that each number names.

    ``num_classes`` is the length of the vectors; -1 takes the greatest number plus one (known only by looking).
    """
    if not x.dtype.is_integer:
        raise DTypeError(f"one_hot: the tensor is {x.dtype}. It takes integers.")
    size = num_classes if num_classes >= 0 else int(x.amax()) + 1 if x.numel() else 0
    if size <= 0:
        raise IndexingError(
            f"one_hot: num_classes is {num_classes}; it must be positive (or -1 for a tensor with elements)."
        )
    return mil.one_hot(x.to(int32), one_hot_vector_size=size, axis=-1, on_value=1, off_value=0)
