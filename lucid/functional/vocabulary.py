"""MIL's operations, seen as functions of tensors.

``mil.<name>`` is ``lucid.ops.<name>``; this view of it only tells a type checker that tensors give tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["mil"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from lucid.tensor import Tensor

    class _Vocabulary(Protocol):
        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...

    mil: _Vocabulary
else:
    from lucid import ops as mil
