"""What is wrong with a spec, put into words and tied to the line and column where it is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path as File
from typing import Any

import tomli
from pydantic import TypeAdapter, ValidationError

from lucid.errors import Finding, SpecError
from lucid.pipeline.spec import Spec, parsed
from lucid.pipeline.spec_rules import Problem, problems
from lucid.pipeline.spec_words import describe, key_name, missing, near, unknown_key
from lucid.pipeline.toml_positions import Path, Positions, Span, line_and_column, locate

__all__ = ["explain", "located", "unreadable"]


def explain(error: ValueError | RecursionError, content: bytes, path: File) -> SpecError:
    """Turn the error that reading `content`, the bytes of the spec at `path`, has met into findings."""
    if isinstance(error, UnicodeDecodeError):
        return _undecodable(error, content, path)
    text = content.decode("utf-8-sig").replace("\r\n", "\n")
    if isinstance(error, ValidationError):
        return located(_structure(error, text, path), text, path)
    if isinstance(error, tomli.TOMLDecodeError):
        return _syntax(error, text, path)
    if isinstance(error, RecursionError):
        nested = re.search(r"[\[{](?:\s*[\[{])+", text)
        return _failure(path, text, nested.start() if nested else 0, 1, "arrays or tables are nested too deeply.")
    digits = re.search(r"[0-9_]{1000,}", text)
    return _failure(path, text, digits.start() if digits else 0, 1, "the number has too many digits.")


def located(found: Iterable[Problem], text: str, path: File) -> SpecError:
    """Tie problems to their places in `text` and gather them in one error."""
    text = text.replace("\r\n", "\n")
    places = locate(text).places
    findings = []
    for problem in found:
        span = None
        for length in range(len(problem.path), 0, -1):
            place = places.get(problem.path[:length])
            if place is not None:
                whole = length == len(problem.path) and not problem.at_key
                span = (place.value or place.key) if whole else (place.key or place.value)
                break
        findings.append(_finding(path, text, span, key_name(problem.path), problem.message))
    return _gather(sorted(findings, key=lambda finding: (finding.line, finding.column)))


def unreadable(error: OSError | ValueError, path: File) -> SpecError:
    """Say why the file at `path` cannot be read, and which one may be meant."""
    if os.path.isdir(path):  # unlike that of Path it takes a name that is too long
        specs = sorted(each.name for each in path.glob("*.toml"))
        hint = f" Give a file in it: {', '.join(specs[:8])}." if specs else " Give the path of a TOML file."
        return SpecError(f"this is a folder.{hint}", where=str(path))
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if not os.path.isdir(folder):
            return SpecError(f"there is no folder {folder}.", where=str(path))
        meant = near(path.stem, [each.stem for each in folder.glob("*.toml")])
        hint = f' Did you mean "{folder / meant}.toml"?' if meant else ""
        return SpecError(f"there is no such file.{hint}", where=str(path))
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SpecError(f"the file cannot be read: {reason}.", where=str(path))


def _finding(path: File, text: str, span: Span | None, key: str, message: str) -> Finding:
    if span is None:
        return Finding(str(path), 1, 1, 0, key, message, "")
    line, column = line_and_column(text, span.start)
    excerpt = _printable(text.split("\n")[line - 1])
    length = max(1, min(span.stop - span.start, len(excerpt) - column + 1))
    return Finding(str(path), line, column, length, _printable(key), _printable(message), excerpt)


def _printable(text: str) -> str:
    """Return `text` without the characters that would steer a terminal; each becomes U+FFFD."""
    return "".join(each if each.isprintable() or each == "\t" else "\ufffd" for each in text)


def _gather(findings: list[Finding]) -> SpecError:
    first = findings[0]
    message = f"{first.key}: {first.message}" if first.key else first.message
    if len(findings) > 1:
        message += f" ({len(findings) - 1} more)"
    return SpecError(message, where=first.where, findings=tuple(findings))


def _failure(path: File, text: str, offset: int, length: int, message: str) -> SpecError:
    return _gather([_finding(path, text, Span(offset, offset + length), "", message)])


def _undecodable(error: UnicodeDecodeError, content: bytes, path: File) -> SpecError:
    before = content[: error.start].decode("utf-8-sig")
    line = before + content[error.start :].split(b"\n")[0].decode("utf-8", "replace")
    message = f"the byte 0x{content[error.start]:02x} is not UTF-8. Save the file as UTF-8."
    return _failure(path, line, len(before), 1, message)


def _syntax(error: tomli.TOMLDecodeError, text: str, path: File) -> SpecError:
    positions = locate(text)
    for key, first, second in positions.repeats:
        if second.start <= error.pos:
            line, _ = line_and_column(text, first.start)
            message = f"written twice, first in line {line}. Remove one of the two."
            return _gather([_finding(path, text, second, key_name(key), message)])
    return _failure(path, text, *_syntax_words(error, text, positions))


def _syntax_words(error: tomli.TOMLDecodeError, text: str, positions: Positions) -> tuple[int, int, str]:
    """Return offset, length and message of a syntax error."""
    offset = min(error.pos, len(text))
    word = re.compile(r"[^\s,\]}#=]*").match(text, offset)
    bare = word[0] if word else ""
    if not text[offset:].strip() and positions.last < offset:
        return positions.last, 1, "the value that begins here is not closed."
    if error.msg == "Invalid value":
        if not bare:
            return offset, 1, "a value is missing here."
        if bare.lower() in ("true", "false"):
            return offset, len(bare), f"truth values are in small letters. Write {bare.lower()}."
        if re.fullmatch(r"[A-Za-z_./][\w./:*-]*", bare):
            return offset, len(bare), f'text stands in quotes. Write "{bare}".'
        return offset, len(bare), f"{bare} is not a TOML value."
    if error.msg.startswith("Expected newline or end of document"):
        return offset, max(1, len(text[offset:].split("\n")[0])), "expected the end of the line here."
    if error.msg.startswith("Expected '='"):
        return offset, 1, 'expected "=" after the key.'
    return offset, 1, f"not TOML: {error.msg[0].lower()}{error.msg[1:]}."


def _structure(error: ValidationError, text: str, path: File) -> list[Problem]:
    """Return what is wrong with the tables themselves, and what breaks a rule among those that are sound."""
    data = parsed(text)
    if "lucid" not in data and not {"package", "model", "input"} & data.keys():
        return [Problem((), 'this is not a spec: it has no key "lucid". A spec begins with lucid = 1.')]
    groups: dict[Path, list[Any]] = {}
    for detail in error.errors(include_url=False):
        groups.setdefault(_real_path(detail["loc"], data), []).append(detail)
    for place in list(groups):  # what is wrong inside is the root: a bad entry also leaves its array one short
        if any(other[: len(place)] == place and other != place for other in groups):
            del groups[place]
    if ("lucid",) in groups and "lucid" in data:
        return [Problem(("lucid",), describe(groups["lucid",], ("lucid",), data["lucid"]))]
    found: list[Problem] = []
    meant: set[Path] = set()
    for place, details in groups.items():
        if details[0]["type"] == "extra_forbidden":
            message, intended = unknown_key(place)
            found.append(Problem(place, message, at_key=True))
            if intended is not None:
                meant.add(_names(intended))
    for place, details in groups.items():
        if details[0]["type"] == "missing" and _names(place) not in meant:
            found.append(Problem(place, missing(place), at_key=True))
        elif details[0]["type"] not in ("missing", "extra_forbidden"):
            found.append(Problem(place, describe(details, place, _at(place, data))))
    unsound = {str(place[0]) for place in (*groups, *meant) if place}
    return found + list(problems(_sound(data, unsound, path), unsound))


def _sound(data: dict[str, Any], unsound: set[str], path: File) -> Spec:
    """Return a spec of the sound tables alone."""
    tables: dict[str, Any] = {}
    for name, info in Spec.model_fields.items():
        key = info.alias or name
        if key not in unsound:
            adapter: TypeAdapter[Any] = TypeAdapter(info.rebuild_annotation())
            tables[name] = (
                adapter.validate_python(data[key]) if key in data else info.get_default(call_default_factory=True)
            )
    spec = Spec.model_construct(None, **tables)
    spec._path = path
    return spec


def _names(path: Path) -> Path:
    return tuple(part for part in path if isinstance(part, str))


def _at(path: Path, data: Any) -> Any:
    for part in path:
        data = data[part]
    return data


def _real_path(loc: Path, data: Any) -> Path:
    """Leave out of `loc` the parts that name a member of a union and not a key of `data`."""
    path: Path = ()
    for index, part in enumerate(loc):
        inside = part in data if isinstance(data, dict) else isinstance(data, tuple) and isinstance(part, int)
        if inside:
            path, data = (*path, part), data[part]
        elif index == len(loc) - 1 and isinstance(data, dict):
            path = (*path, part)
    return path
