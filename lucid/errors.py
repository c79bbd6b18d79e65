"""The catalogue of errors: every way lucid can fail is a class with an exit code of its own kind.

A message names the subject first, then both values, and the remedy last. Code that knows more about the place
(a spec key, a module path, a package member) adds it with :meth:`LucidError.at` while the error passes by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

__all__ = [
    "DTypeError",
    "DiffersError",
    "Finding",
    "GoldenError",
    "IndexingError",
    "InternalError",
    "LoadError",
    "LucidError",
    "MutationError",
    "PackageError",
    "RefusedError",
    "ShapeError",
    "SpecError",
    "StateError",
    "TraceError",
    "UnsupportedError",
    "UsageError",
    "told",
]


class LucidError(Exception):
    """The base of all errors that lucid raises on purpose.

    ``code`` is the process exit code, ``kind`` the word that ``--json`` reports, ``where`` the path to the
    subject (``decoder.toml:14:3``, ``layers.0.attention``, ``decoder.mlpackage/Manifest.json``).
    """

    code: ClassVar[int] = 70
    kind: ClassVar[str] = "internal"

    def __init__(self, message: str, *, where: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where

    def at(self, where: str) -> Self:
        """Put `where` in front of the place that is known so far, and return the error itself."""
        self.where = where if self.where is None else f"{where}: {self.where}"
        return self

    def __str__(self) -> str:
        return self.message if self.where is None else f"{self.where}: {self.message}"


class UsageError(LucidError):
    """A command or function was called in a way it does not allow."""

    code, kind = 2, "usage"


@dataclass(frozen=True)
class Finding:
    """One fault in a text file: where it is, what is wrong there, and the line itself.

    ``line`` and ``column`` count from 1, in characters; ``length`` characters are at fault. ``key`` is the dotted
    path of the key, empty where there is none; ``excerpt`` is the line, empty where no line shows the fault.
    """

    file: str
    line: int
    column: int
    length: int
    key: str
    message: str
    excerpt: str

    @property
    def where(self) -> str:
        """The place as editors read it: ``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def statement(self) -> str:
        """Key and message: ``golden.calls: expected a whole number, found true.``."""
        return f"{self.key}: {self.message}" if self.key else self.message

    def picture(self, width: int = 100) -> tuple[str, str, str]:
        """Cut the line to `width` characters around the fault: what stands before it, the fault, what follows."""
        start, stop = self.column - 1, self.column - 1 + self.length
        first = max(0, min(start - width // 3, len(self.excerpt) - width))
        last = first + width
        before = ("…" if first else "") + self.excerpt[first:start]
        after = self.excerpt[stop:last] + ("…" if last < len(self.excerpt) else "")
        return before, self.excerpt[start : min(stop, last)], after if stop < last else "…" * (after != "")

    def carets(self, width: int = 100) -> tuple[str, str]:
        """Return the blank that leads to the fault and the carets below it, for a line cut to `width`."""
        before, marked, _ = self.picture(width)
        blank = "".join(each if each == "\t" else " " * _columns(each) for each in before)
        return blank, "^" * max(1, sum(map(_columns, marked)))

    def text(self, paint: Callable[[str, str], str] = lambda style, text: text, width: int = 100) -> str:  # noqa: ARG005
        """Write place, statement, line and carets; ``paint(style, text)`` may colour the parts.

        The styles are ``place``, ``key``, ``gutter`` and ``fault``.
        """
        key = paint("key", self.key) + ": " if self.key else ""
        text = f"{paint('place', self.where)}: {key}{self.message}"
        if not self.excerpt:
            return text
        before, marked, after = self.picture(width)
        blank, carets = self.carets(width)
        number = f"{self.line:>5} | "
        return (
            f"{text}\n{paint('gutter', number)}{before}{paint('fault', marked)}{after}"
            f"\n{paint('gutter', ' ' * (len(number) - 2) + '| ')}{blank}{paint('fault', carets)}"
        )

    def __str__(self) -> str:
        return self.text()


def _columns(character: str) -> int:
    """Return how many columns of a terminal a character takes."""
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class SpecError(LucidError):
    """A spec is not valid; ``findings`` are its independent faults, in the order of the file."""

    code, kind = 3, "spec"

    def __init__(self, message: str, *, where: str | None = None, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message, where=where)
        self.findings = findings

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) if self.findings else super().__str__()


class LoadError(LucidError):
    """The model of a spec, its weights or its example inputs cannot be loaded."""

    code, kind = 4, "load"


class TraceError(LucidError):
    """The model cannot be run or recorded on its example inputs."""

    code, kind = 4, "trace"


class ShapeError(LucidError, ValueError):
    """An operation was given shapes or sizes that do not fit."""

    code, kind = 4, "shape"


class DTypeError(LucidError, TypeError):
    """An operation was given a dtype that it does not take."""

    code, kind = 4, "dtype"


class IndexingError(LucidError, IndexError):
    """An index is out of range or of a form that tensors do not take."""

    code, kind = 4, "index"


class RefusedError(LucidError):
    """The model is sound, but Core ML cannot express it, or lucid refuses to guess."""

    code, kind = 5, "refused"


class StateError(RefusedError):
    """A declared state pair breaks one of the rules of Core ML states."""

    kind = "state"


class MutationError(RefusedError):
    """The forward pass leaves something behind that a pure graph cannot carry."""

    kind = "mutation"


class UnsupportedError(RefusedError):
    """An operation, dtype or form has no counterpart in Core ML or in the chosen deployment target."""

    kind = "unsupported"


class GoldenError(LucidError):
    """The written package does not do what the original model does."""

    code, kind = 6, "golden"


class PackageError(LucidError):
    """A package cannot be read or has been closed."""

    code, kind = 7, "package"


class DiffersError(LucidError):
    """Files differ from their manifest, or a build is not reproducible."""

    code, kind = 8, "differs"


class InternalError(LucidError):
    """lucid itself is at fault."""

    code, kind = 70, "internal"


def told(error: BaseException) -> str:
    """Return the type and the words of somebody else's error on one line, whatever its own methods do."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # an error whose text cannot be had is still to be reported
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
