"""How many threads NumPy's matrix products use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["limited_threads"]


@contextmanager
def limited_threads() -> Iterator[None]:
    """Leave half of the processors to others while inside.

    A build works in several processes at once (the check, coremltools' reader, a fresh process), and a library whose
    threads wait actively for each other becomes ten times slower where a processor is taken away from one of them.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(max(1, (os.cpu_count() or 2) // 2)):
        yield
