"""Element-wise operations of two tensors. Both inputs have one dtype and broadcast as NumPy's do."""

from __future__ import annotations

from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = ["add", "sub"]


@operation(sample([4.0, 6.0], x=[1.0, 2.0], y=[3.0, 4.0]), sample([-2147483648], x=[2147483647], y=[1]))
def add(x: Array, y: Array) -> Array:
    """Return ``x + y``. int32 wraps."""
    return namespace(x, y).add(x, y)


@operation(sample([-2.0, 1.0], x=[1.0, 2.0], y=[3.0, 1.0]))
def sub(x: Array, y: Array) -> Array:
    """Return ``x - y``. int32 wraps."""
    return namespace(x, y).subtract(x, y)
