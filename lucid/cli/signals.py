"""The signals that ask a process to end: each becomes an exception of the main thread, so that all is cleaned up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Asked", "Terminated", "code_of", "endings", "word_of"]

_WORDS = {"SIGTERM": "Terminated.", "SIGHUP": "The terminal went away."}
"""The signals other than that of Ctrl-C, as far as the system has them, and what is said of each."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end by the signal `number`; whoever cleans up after Ctrl-C cleans up after it."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class Asked:
    """The signal that asked the process to end, if there was one."""

    number: int | None = None


def code_of(error: KeyboardInterrupt) -> int:
    """Return the exit code of an interruption: 128 and the number of the signal."""
    return 128 + (error.number if isinstance(error, Terminated) else signal.SIGINT)


def word_of(error: KeyboardInterrupt) -> str:
    """Return the line that is said of an interruption."""
    return _WORDS[signal.Signals(error.number).name] if isinstance(error, Terminated) else "Interrupted."


@contextmanager
def endings() -> Iterator[Asked]:
    """Raise :class:`Terminated` in the main thread where the system's way would be to end the process on the spot.

    A signal that is ignored (``nohup``) stays ignored. After the first signal the others are, so that the cleaning up
    is not cut short.
    """
    asked = Asked()
    before: dict[int, signal.Handlers] = {}

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        asked.number = number
        raise Terminated(number)

    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _WORDS if hasattr(signal, name)]
        before = {each: signal.SIG_DFL for each in numbers if signal.getsignal(each) is signal.SIG_DFL}
    for each in before:
        signal.signal(each, end)
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
