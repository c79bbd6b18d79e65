"""Choosing between values."""

from __future__ import annotations

from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = ["select"]


@operation(
    sample([1.0, 20.0], cond=[True, False], a=[1.0, 2.0], b=[10.0, 20.0]),
    sample([[1, 7], [7, 4]], cond=[[True, False], [False, True]], a=[[1, 2], [3, 4]], b=7),
    sample(5, cond=False, a=3, b=5),
    exact=True,
)
def select(cond: Array, a: Array, b: Array) -> Array:
    """Return `a` where `cond` is true, `b` elsewhere. ``cond`` is bool, `a` and `b` share a dtype; all three broadcast.

    What is not chosen has no influence, NaN and infinity included.
    """
    return namespace(cond, a, b).where(cond, a, b)
