"""Giving memory that nothing needs any more back to the system."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["give_back", "without_collecting"]


def give_back() -> None:
    """Collect objects that refer to each other in circles, and have the C library return what it keeps in reserve.

    Weights are many arrays of a few megabytes, which glibc serves from a heap that it does not shrink by itself.
    """
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep Python from looking for circles of objects while inside: tensors and nodes are many, and form none.

    :func:`give_back` still does, where it is called.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
