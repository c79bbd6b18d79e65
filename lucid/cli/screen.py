"""What a command prints, on which stream, and with which exit code it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from lucid.cli import streams
from lucid.cli.signals import code_of, word_of
from lucid.errors import InternalError, LucidError, SpecError

__all__ = ["Outcome", "Screen", "envelope", "failure", "has_colour", "report"]

_STYLES = {"place": "1", "key": "36", "gutter": "2", "fault": "1;31", "good": "1;32", "bad": "1;31", "dim": "2"}


@dataclass(frozen=True)
class Outcome:
    """What a command has found: its result as JSON-able data and, where it failed in part, the first error."""

    result: Any
    error: LucidError | None = None


@dataclass(frozen=True)
class Screen:
    """Where the words of a command go: results to stdout, all else to stderr; only the envelope with `json`."""

    json: bool = False
    quiet: bool = False
    traceback: bool = False

    def say(self, text: str) -> None:
        """Print a part of the result for people, unless there is an envelope or silence is wanted."""
        if self.speaks:
            streams.say(text)

    def complain(self, error: LucidError) -> None:
        """Print an error for people."""
        if isinstance(error, SpecError) and error.findings:
            width = max(40, _width() - 8)
            streams.tell("\n".join(finding.text(paint_on(sys.stderr), width) for finding in error.findings))
        else:
            paint = paint_on(sys.stderr)
            place = f"{paint('place', error.where)}: " if error.where else ""
            streams.tell(f"{paint('bad', 'error:')} {place}{error.message}")
        self.trace(error)

    def unexpected(self, error: BaseException) -> InternalError:
        """Print one line on an exception that nobody meant to raise, and return it as an error of lucid."""
        internal = InternalError(_one_line(error))
        hint = "" if self.traceback else " Run it again with --traceback to see where."
        streams.tell(f"{paint_on(sys.stderr)('bad', 'internal error:')} {internal.message}{hint}")
        self.trace(error)
        return internal

    def trace(self, error: BaseException) -> None:
        """Print where in the code `error` arose, if that is wanted."""
        if self.traceback:
            import traceback

            streams.tell("".join(traceback.format_exception(error)).rstrip())

    @property
    def speaks(self) -> bool:
        """Whether results are printed for people."""
        return not (self.json or self.quiet)


def has_colour(stream: TextIO) -> bool:
    """Say whether `stream` is a terminal that takes colours and nobody asked for none (NO_COLOR, TERM=dumb)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint_on(stream: TextIO) -> Callable[[str, str], str]:
    """Return the function that colours a text for `stream` in one of the styles."""
    if not has_colour(stream):
        return lambda style, text: text  # noqa: ARG005
    return lambda style, text: f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text else text


def envelope(command: str | None, result: Any, error: dict[str, Any] | None) -> str:
    """Return the one line that `--json` prints."""
    import json

    return json.dumps({"command": command, "ok": error is None, "result": result, "error": error}, allow_nan=False)


def report(command: str, screen: Screen, body: Callable[[], Outcome]) -> int:
    """Run `body`, print what came of it and return the exit code.

    Whatever else `body` raises, even a SystemExit, is an internal error: no other code decides the exit code.
    """
    result: Any = None
    failed: dict[str, Any] | None = None
    try:
        outcome = body()
        result = outcome.result
        if outcome.error is not None:
            failed = failure(outcome.error)
    except LucidError as error:
        failed = failure(error)
        screen.complain(error)
    except KeyboardInterrupt as error:
        failed = {"code": code_of(error), "kind": "interrupted", "message": "interrupted before the end", "where": None}
        streams.tell(word_of(error))
    except streams.OutputError:
        raise
    except BaseException as error:
        failed = failure(screen.unexpected(error))
    if screen.json:
        streams.say(envelope(command, result, failed))
    return failed["code"] if failed else 0


def failure(error: LucidError) -> dict[str, Any]:
    """Return an error as the envelope holds it."""
    return {"code": error.code, "kind": error.kind, "message": error.message, "where": error.where}


def _one_line(error: BaseException) -> str:
    """Return type and text of an exception as one line that cannot steer a terminal."""
    try:
        text = str(error)
    except Exception:
        text = "(its text cannot be made)"
    words = " ".join(text.split())
    words = "".join(each if each.isprintable() else "\ufffd" for each in words)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 108
