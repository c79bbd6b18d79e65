"""Letting go of the pages of a mapped file that an array is a view of."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["drop_pages"]


def drop_pages(array: NDArray[Any]) -> None:
    """Give the memory of a mapped file's pages back to the system, if `array` is a view of one.

    The array stays valid: reading it again reads the file again. Pages that it shares with its neighbours stay.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    owner = owner.obj if isinstance(owner, memoryview) else owner
    if not isinstance(owner, mmap.mmap) or not hasattr(owner, "madvise") or not array.flags.c_contiguous:
        return
    begin = array.ctypes.data - np.frombuffer(owner, np.uint8).ctypes.data
    first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
    length = (begin + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)
