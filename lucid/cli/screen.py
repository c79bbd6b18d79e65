"""What a command prints, on which stream, and with which exit code it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

from lucid.errors import LucidError, SpecError

__all__ = ["Outcome", "Screen", "envelope", "has_colour", "report"]

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
            print(text)  # noqa: T201

    def complain(self, error: LucidError) -> None:
        """Print an error for people."""
        if isinstance(error, SpecError) and error.findings:
            width = max(40, _width() - 8)
            _stderr("\n".join(finding.text(paint_on(sys.stderr), width) for finding in error.findings))
        else:
            paint = paint_on(sys.stderr)
            place = f"{paint('place', error.where)}: " if error.where else ""
            _stderr(f"{paint('bad', 'error:')} {place}{error.message}")
        self.trace(error)

    def trace(self, error: BaseException) -> None:
        """Print where in the code `error` arose, if that is wanted."""
        if self.traceback:
            import traceback

            _stderr("".join(traceback.format_exception(error)).rstrip())

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
    """Run `body`, print what came of it and return the exit code."""
    result: Any = None
    failure: dict[str, Any] | None = None
    try:
        outcome = body()
        result = outcome.result
        if outcome.error is not None:
            failure = _failure(outcome.error)
    except LucidError as error:
        failure = _failure(error)
        screen.complain(error)
    except KeyboardInterrupt:
        failure = {"code": 130, "kind": "interrupted", "message": "interrupted before the end", "where": None}
        _stderr("Interrupted.")
    except BrokenPipeError:
        raise
    except Exception as error:  # whatever it is, the user gets one line and an exit code
        message = " ".join(f"{type(error).__name__}: {error}".split())
        failure = {"code": 70, "kind": "internal", "message": message, "where": None}
        hint = "" if screen.traceback else " Run it again with --traceback to see where."
        _stderr(f"{paint_on(sys.stderr)('bad', 'internal error:')} {message}{hint}")
        screen.trace(error)
    if screen.json:
        print(envelope(command, result, failure))  # noqa: T201
    return failure["code"] if failure else 0


def _failure(error: LucidError) -> dict[str, Any]:
    return {"code": error.code, "kind": error.kind, "message": error.message, "where": error.where}


def _stderr(text: str) -> None:
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        return 108
