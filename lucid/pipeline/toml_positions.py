"""Where each key and value of a TOML document stands in its text.

TOML parsers give the data and forget the places. :func:`locate` scans a document that a parser has accepted and
gives, for each path (``("input", 0, "shape", 1)``), the characters of its key and of its value. It decides nothing
about validity; for a document that a parser refuses it is still good up to the place of the refusal, and its
``repeats`` tell which key was written twice.
Source: TOML 1.1.0, the sections on keys, strings, tables and arrays of tables.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass, field

__all__ = ["Path", "Place", "Positions", "Span", "line_and_column", "locate"]

Path = tuple[str | int, ...]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_PLAIN = re.compile(r"[^,\]}#\n]*")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'", re.DOTALL
)


@dataclass(frozen=True)
class Span:
    """The characters ``text[start:stop]``, counted in code points."""

    start: int
    stop: int


@dataclass(frozen=True)
class Place:
    """The spans of a key and of its value.

    The key of a table is its header; an element of an array has no key, and a table with a header no value.
    """

    key: Span | None
    value: Span | None


@dataclass
class Positions:
    """The places of a document by path, and the keys that are written twice: path, first span, second span.

    ``last`` is the place of the last value of a ``key = value`` line that the scan has begun.
    """

    places: dict[Path, Place] = field(default_factory=dict)
    repeats: list[tuple[Path, Span, Span]] = field(default_factory=list)
    last: int = 0


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return line and column, both from 1, of the character at `offset`."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1


def locate(text: str) -> Positions:
    """Scan `text`, a TOML document, up to its end or to the first thing that is not TOML."""
    scanner = _Scanner(text)
    with suppress(_NotTomlError):
        scanner.document()
    return scanner.found


class _NotTomlError(Exception):
    """The scan met something that is not TOML; what was found before it stands."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0  # of brackets within a value
        self.found = Positions()
        self.elements: dict[Path, int] = {}  # arrays of tables: how many elements so far
        self.written: dict[Path, Span] = {}  # keys with a value and headers, for repeats

    def document(self) -> None:
        table: Path = ()
        while self.blank() < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> Path:
        start, several = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        parts = self.key()
        self.expect("]]" if several else "]")
        whole = Span(start, self.at)
        path: Path = ()
        for part, span in parts[:-1]:
            path = self.enter((*path, part), span)
        path = (*path, parts[-1][0])
        if several:
            self.found.places.setdefault(path, Place(whole, None))
            count = self.elements[path] = self.elements.get(path, 0) + 1
            path = (*path, count - 1)
        else:
            self.once(path, whole)
        self.found.places[path] = Place(whole, None)
        return path

    def enter(self, path: Path, span: Span) -> Path:
        self.found.places.setdefault(path, Place(span, None))
        return (*path, self.elements[path] - 1) if path in self.elements else path

    def once(self, path: Path, span: Span) -> None:
        first = self.written.setdefault(path, span)
        if first is not span:
            self.found.repeats.append((path, first, span))

    def pair(self, base: Path) -> None:
        parts = self.key()
        path = base
        for part, span in parts[:-1]:
            path = (*path, part)
            self.found.places.setdefault(path, Place(span, None))
        path = (*path, parts[-1][0])
        key = parts[-1][1]
        self.once(path, key)
        self.expect("=")
        self.space()
        if not self.depth:
            self.found.last = self.at
        self.value(path, key)

    def key(self) -> list[tuple[str, Span]]:
        parts: list[tuple[str, Span]] = []
        while True:
            self.space()
            start = self.at
            parts.append((self.key_part(), Span(start, self.at)))
            self.space()
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def key_part(self) -> str:
        if self.text[self.at : self.at + 1] in ('"', "'"):
            raw = self.take(_STRING)
            return _ESCAPE.sub(_unescape, raw[1:-1]) if raw[0] == '"' else raw[1:-1]
        return self.take(_BARE_KEY)

    def value(self, path: Path, key: Span | None) -> None:
        start = self.at
        first = self.text[start : start + 1]
        if first in ("'", '"'):
            self.take(_STRING)
        elif first in ("[", "{"):
            self.depth += 1
            (self.array if first == "[" else self.inline_table)(path)
            self.depth -= 1
        else:
            plain = self.take(_PLAIN)
            self.at -= len(plain) - len(plain.rstrip())
        if self.at == start:
            raise _NotTomlError
        self.found.places[path] = Place(key, Span(start, self.at))

    def array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while not self.closes("]"):
            self.value((*path, index), None)
            index += 1
            self.separator("]")

    def inline_table(self, path: Path) -> None:
        self.at += 1
        while not self.closes("}"):
            self.pair(path)
            self.separator("}")

    def closes(self, bracket: str) -> bool:
        self.blank()
        closed = self.text.startswith(bracket, self.at)
        self.at += closed
        return closed

    def separator(self, bracket: str) -> None:
        self.blank()
        if not self.text.startswith(bracket, self.at):
            self.expect(",")

    def blank(self) -> int:
        self.take(_BLANK)
        return self.at

    def space(self) -> None:
        self.take(_SPACE)

    def expect(self, token: str) -> None:
        if not self.text.startswith(token, self.at):
            raise _NotTomlError
        self.at += len(token)

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _NotTomlError
        self.at = match.end()
        return match[0]


def _unescape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    return chr(int(digits, 16)) if digits else _ESCAPED.get(match[4], match[4])
