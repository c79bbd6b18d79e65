"""Whether operations mark their results as wanting gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["enable_grad", "is_grad_enabled", "no_grad"]

_enabled: ContextVar[bool] = ContextVar("lucid_grad_enabled", default=True)


def is_grad_enabled() -> bool:
    """Return whether results of operations carry ``requires_grad`` on."""
    return _enabled.get()


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, results do not require gradients. Works as a context manager and as a decorator."""
    token = _enabled.set(False)
    try:
        yield
    finally:
        _enabled.reset(token)


@contextmanager
def enable_grad() -> Iterator[None]:
    """Inside, results require gradients if their inputs do, even within :func:`no_grad`."""
    token = _enabled.set(True)
    try:
        yield
    finally:
        _enabled.reset(token)
