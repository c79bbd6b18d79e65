"""The standard streams of the command line: closed ones, full ones, and ones whose reader has gone away."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

from lucid.errors import LucidError

__all__ = ["OutputError", "discard", "flush", "give_all", "say", "tell"]


class OutputError(Exception):
    """Standard output does not take what is written to it; ``reason`` is what the system says."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason

    @property
    def reader_is_gone(self) -> bool:
        """Whether the other end of a pipe was closed, which is no fault."""
        return isinstance(self.reason, BrokenPipeError)

    @property
    def fault(self) -> LucidError:
        """What is wrong, in words; a fault of the command line, which chose the stream."""
        from lucid.errors import UsageError

        return UsageError(f"standard output cannot be written: {self.reason.strerror or self.reason}")


def give_all() -> None:
    """Put the null device in the place of each standard stream that was closed when the process began.

    In the order of their numbers, so that no file opened later gets the number of a standard stream.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 -- for as long as the process runs
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- likewise
            setattr(sys, name, stream)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail


def say(text: str) -> None:
    """Write a line to standard output. Raises OutputError where it does not take it."""
    try:
        print(text)  # noqa: T201
    except OSError as error:
        raise OutputError(error) from error


def flush() -> None:
    """Write what standard output still holds back. Raises OutputError where it does not take it."""
    try:
        sys.stdout.flush()
    except OSError as error:
        raise OutputError(error) from error


def tell(text: str) -> None:
    """Write a line to standard error, after all that standard output holds back; where nobody can read it, drop it."""
    flush()
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Send to nowhere what `stream` holds back and whatever it is still given, to the end of the process."""
    with contextlib.suppress(OSError, ValueError):  # a stream of a test has no number
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)
    with contextlib.suppress(OSError):
        stream.flush()
