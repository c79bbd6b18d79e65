"""Words for what a spec's key expected and found, and the nearest name to one that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lucid.pipeline.spec import FORMAT, Spec
from lucid.pipeline.spec_base import Table
from lucid.pipeline.spec_values import FORMS, WORDS
from lucid.pipeline.toml_positions import Path

__all__ = ["describe", "fields_at", "found", "header", "key_name", "near", "unknown_key"]

ARRAYS = (["input"], ["output"], ["state"])
_SIZES = r"[\[(\s]*\d{1,18}([\s,x*]+\d{1,18})*[\])\s,]*"
"""What is meant as a shape but written as text: `1,4`, `1 x 4`, `[1, 4]`."""

_EXPECTED = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "an array",
    "dict_type": "a table",
    "model_type": "a table",
}


def near(word: str, names: Iterable[str]) -> str | None:
    """Return the one of `names` that `word` was probably meant to be."""
    import difflib

    lowered = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)
    return lowered[close[0]] if close else None


def key_name(path: Path) -> str:
    """Write a path as ``input[0].values.normal``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            quoted = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{part}"'
            text += f".{quoted}" if text else quoted
    return text


def header(path: Path) -> str:
    """Write the path of a table as its header: ``[golden]``, ``[[input]]``, or ``the top level``."""
    names = [part for part in path if isinstance(part, str)]
    if not names:
        return "the top level"
    return f"[[{names[0]}]]" if names in ARRAYS else f"[{'.'.join(names)}]"


def fields_at(path: Path) -> dict[str, FieldInfo]:
    """Return the fields, by key, that a table at `path` may have; none where no table can be."""
    tables: list[type[Table]] = [Spec]
    for part in path:
        if isinstance(part, str):
            tables = [
                inner
                for table in tables
                for key, info in _fields(table)
                if key == part
                for inner in _tables(info.annotation)
            ]
    return {key: info for table in tables for key, info in _fields(table)}


def _fields(table: type[Table]) -> Iterator[tuple[str, FieldInfo]]:
    for name, info in table.model_fields.items():
        yield info.alias or name, info


def _tables(annotation: Any) -> Iterator[type[Table]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for argument in get_args(annotation):
        yield from _tables(argument)


def found(value: object) -> str:
    """Say what `value` is: ``the text "x"``, ``the whole number 3``, ``a table``."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'the text "{value if len(value) <= 40 else value[:39] + "…"}"'
        case int():
            return f"the whole number {value}"
        case float():
            return f"the number {value}"
        case tuple():
            return f"an array of {len(value)}"
        case dict():
            return "a table"
        case _:
            return "a date or time"


def unknown_key(path: Path) -> tuple[str, Path | None]:
    """Say what is wrong with the unknown key at `path`, and the path of the key that was probably meant."""
    *parent_parts, key = path
    parent, word = tuple(parent_parts), str(key)
    siblings = fields_at(parent)
    homes = [home for home in _homes(word) if home != tuple(part for part in parent if isinstance(part, str))]
    meant = near(word, siblings)
    if homes and not (meant and meant.lower() == word.lower()):
        headers = " or ".join(map(header, homes))
        intended = (*homes[0], word) if len(homes) == 1 else None
        return f"unknown key in {header(parent)}; it belongs in {headers}.", intended
    if meant:
        return f'unknown key. Did you mean "{meant}"?', (*parent, meant)
    known = ", ".join(siblings)
    return f"unknown key. {header(parent)[:1].upper()}{header(parent)[1:]} has {known}.", None


def _homes(word: str) -> list[Path]:
    """Return the tables, other than those of values, in which `word` is a key."""
    tops = fields_at(())
    homes: list[Path] = [()] if word in tops else []
    return homes + [(top,) for top in tops if word in fields_at((top,))]


def missing(path: Path) -> str:
    """Say that the key at `path` is missing, what it is for, and how it may look."""
    info = fields_at(path[:-1]).get(str(path[-1]))
    key = str(path[-1])
    inner = fields_at(path)
    if inner and len(path) == 1:
        first, example = next((name, each.examples[0]) for name, each in inner.items() if each.examples)
        return f"missing table {header(path)}. Write {header(path)} and, below it, {first} = {toml(example)}."
    text = f'missing key "{key}"'
    if info is not None and info.description:
        text += f": {info.description[0].lower()}{info.description[1:].split(';')[0].rstrip('.')}"
    example_text = f". Write {key} = {toml(info.examples[0])}." if info is not None and info.examples else "."
    return text + example_text


def toml(value: object) -> str:
    """Write a plain value as TOML, on one line."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list() | tuple():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
        case _:
            return str(value)


def describe(errors: list[ErrorDetails], path: Path, value: object) -> str:
    """Say what was expected at `path` instead of `value`, from the errors that pydantic has for that one place."""
    kinds = [error["type"] for error in errors]
    telling = next((error for error in errors if error["type"] not in _EXPECTED), errors[0])
    context: dict[str, Any] = telling.get("ctx") or {}
    many = path[-1] in ("input", "output", "state") and len(path) == 1
    if path == ("lucid",):
        return f"this lucid reads format {FORMAT}, found {found(value)}. Write lucid = {FORMAT}."
    match telling["type"]:
        case "value_error":
            return str(context["error"])
        case "tuple_type" if many and isinstance(value, dict):
            return f"there may be several. Write [[{path[0]}]] with two brackets."
        case "model_type" if isinstance(value, tuple) and len(path) == 1:
            return f"there is only one. Write [{path[0]}] with one bracket."
        case "union_tag_invalid" | "union_tag_not_found":
            return _values(value)
        case "literal_error":
            return _choice(path, value, context)
        case "greater_than":
            return f"expected a number above {context['gt']:g}, found {value}."
        case "greater_than_equal":
            return f"expected at least {context['ge']}, found {value}."
        case "less_than":
            return f"expected less than {context['lt']}, found {value}."
        case "less_than_equal":
            return f"expected at most {context['le']}, found {value}."
        case "finite_number":
            return f"expected a finite number, found {value}."
        case "string_too_short" | "too_short":
            return (
                "expected something, found nothing between the quotes."
                if isinstance(value, str)
                else (f"expected at least {context['min_length']}, found none.")
            )
        case "too_long":
            what = "axes" if path[-1] == "shape" else "entries"
            return f"expected at most {context['max_length']} {what}, found {context['actual_length']}."
    expected = list(dict.fromkeys(_EXPECTED.get(kind, "something else") for kind in kinds))
    if {"bool_type", "float_type"} <= set(kinds):
        expected = ["a number (for a bool input, true or false)"]
    text = f"expected {' or '.join(expected)}, found {found(value)}."
    remedy = _rewritten(kinds, path, value)
    return f"{text} Write {remedy}." if remedy else text


def _rewritten(kinds: list[str], path: Path, value: object) -> str | None:
    """Write the key with `value` as the type that was expected, where that is plain to see."""
    key = path[-1]
    if "string_type" in kinds and isinstance(value, (int, float)):
        new = f'"{toml(value)}"'
    elif "tuple_type" in kinds and isinstance(value, str) and re.fullmatch(_SIZES, value):
        new = toml(tuple(map(int, re.findall(r"\d+", value))))
    elif "tuple_type" in kinds and isinstance(value, (str, int)):
        new = f"[{toml(value)}]"
    elif isinstance(value, str) and "bool_type" in kinds and value.lower() in ("true", "false"):
        new = value.lower()
    elif isinstance(value, str) and {"int_type", "float_type"} & set(kinds) and re.fullmatch(r"-?\d+(\.\d+)?", value):
        new = value
    elif "int_type" in kinds and isinstance(value, float) and value.is_integer():
        new = str(int(value))
    else:
        return None
    return f"{key} = {new}" if isinstance(key, str) else new


def _choice(path: Path, value: object, context: dict[str, Any]) -> str:
    if path[-1] == "values":
        return _values(value)
    options = re.findall(r"'([^']*)'", str(context["expected"]))
    meant = near(value, options) if isinstance(value, str) else None
    listed = ", ".join(f'"{option}"' for option in options)
    if meant and len(options) > 8:
        return f'{found(value)} is none of the {len(options)} choices. Did you mean "{meant}"?'
    text = f"expected {listed if len(options) == 1 else f'one of {listed}'}, found {found(value)}."
    return f'{text} Did you mean "{meant}"?' if meant else text


def _values(value: object) -> str:
    words = ", ".join(f'"{word}"' for word in WORDS)
    forms = ", ".join(FORMS)
    text = f"expected {words} or a table with one of {forms}"
    forms_found = [form for form in FORMS if isinstance(value, dict) and form in value]
    if len(forms_found) > 1:
        return f"found {' and '.join(forms_found)}. Give one kind of values."
    names = [value] if isinstance(value, str) else list(value) if isinstance(value, dict) else []
    for name in names:
        meant = near(name, (*WORDS, *FORMS))
        if meant is not None:
            written = f'"{meant}"' if meant in WORDS else f"{{{meant} = …}}"
            return f"{text}, found {found(value)}. Did you mean {written}?"
    if isinstance(value, (int, float)):
        return f"{text}, found {found(value)}. Write values = {{constant = {toml(value)}}}."
    return f"{text}, found {found(value) if value else 'an empty table'}."
