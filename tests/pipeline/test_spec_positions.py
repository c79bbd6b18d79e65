"""The locator against tomli: it finds every key and value that tomli reads, and each span reads as that value."""

from __future__ import annotations

import math
from typing import Any

import tomli
from hypothesis import given, settings
from hypothesis import strategies as st

from lucid.pipeline.toml_positions import Path, line_and_column, locate

BARE = st.text("abcXYZ019_-", min_size=1, max_size=4)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from('"\\#=[]{}\n\t,.'), max_size=8)
SPACE = st.sampled_from(["", " ", "\t", "  "])
BREAK = st.sampled_from(["", " ", "\n", "  # ] } ' \" comment\n", "\n\n\t"])


def basic(text: str) -> str:
    return (
        '"' + "".join(each if each >= " " and each not in '"\\\x7f' else f"\\u{ord(each):04x}" for each in text) + '"'
    )


@st.composite
def strings(draw: st.DrawFn) -> str:
    text = draw(ANY_TEXT)
    forms = [basic(text)]
    if "'" not in text and "\n" not in text:
        forms.append(f"'{text}'")
    if "'''" not in text and not text.endswith("'"):
        forms.append(f"'''{text}'''")
    if '"' not in text and "\\" not in text:
        forms += [f'"""{text}"""', f'"""\n{text}\\"""""', f'"""{text}\\\n   x"""']
    return draw(st.sampled_from(forms))


@st.composite
def keys(draw: st.DrawFn) -> str:
    text = draw(ANY_TEXT.filter(lambda each: "\n" not in each))
    return draw(
        st.sampled_from([draw(BARE), basic(text)]) if "'" in text else st.sampled_from([draw(BARE), f"'{text}'"])
    )


PLAIN = st.sampled_from(
    ["1", "-0x1F".replace("-", ""), "1_000", "3.5e-2", "inf", "nan", "true", "false", "1979-05-27 07:32:00", "07:32:00"]
)


@st.composite
def arrays(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    items = draw(st.lists(inner, max_size=3))
    text = ",".join(f"{draw(BREAK)}{item}{draw(BREAK)}" for item in items)
    return f"[{text}{draw(st.sampled_from(['', ','])) if items else ''}{draw(BREAK)}]"


@st.composite
def pairs(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    key = ".".join(f"{draw(SPACE)}{each}{draw(SPACE)}" for each in draw(st.lists(keys(), min_size=1, max_size=2)))
    return f"{key}={draw(SPACE)}{draw(inner)}"


@st.composite
def inline_tables(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    return "{" + ", ".join(draw(st.lists(pairs(inner), max_size=3))) + "}"


VALUES = st.recursive(strings() | PLAIN, lambda inner: arrays(inner) | inline_tables(inner), max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["pair", "pair", "table", "array", "comment"]))
        if kind == "pair":
            lines.append(draw(pairs(VALUES)) + draw(st.sampled_from(["", " # comment = [1]", "  "])))
        elif kind == "comment":
            lines.append("# [table] key = 'x'")
        else:
            path = ".".join(draw(st.lists(keys(), min_size=1, max_size=2)))
            lines.append(f"[{path}]" if kind == "table" else f"[[ {path} ]]")
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


def leaves(value: Any, path: Path = ()) -> dict[Path, Any]:
    found: dict[Path, Any] = {path: value} if path else {}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        found |= leaves(each, (*path, key))
    return found


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


@settings(max_examples=400, deadline=None)
@given(documents())
def test_every_value_of_tomli_is_located_and_reads_the_same(text: str) -> None:
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError:
        locate(text)  # it must come to an end all the same
        return
    places = locate(text).places
    read = leaves(data)
    assert places.keys() == read.keys()
    for path, place in places.items():
        if place.value is not None:
            written = text[place.value.start : place.value.stop]
            assert same(tomli.loads(f"x = {written}")["x"], read[path]), path
        if place.key is not None and not text[place.key.start :].startswith("["):
            written = text[place.key.start : place.key.stop]
            assert tomli.loads(f"{written} = 1") == {path[-1]: 1}


@settings(max_examples=300, deadline=None)
@given(st.text("[]{}=\"'\\.,#ab1 \n\t\u00e9", max_size=40))
def test_the_scan_of_anything_comes_to_an_end(text: str) -> None:
    places = locate(text).places
    try:
        data = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError):
        return
    assert places.keys() == leaves(data).keys()


def test_places_of_a_small_document() -> None:
    text = 'a.b = 1\n[[c]]\n"d e" = [10, {f = "x"}]\n[[c]]\n[c.g]\nh = """\ni\n"""\n'
    found = {
        path: (
            place.key and text[place.key.start : place.key.stop],
            place.value and text[place.value.start : place.value.stop],
        )
        for path, place in locate(text).places.items()
    }
    assert found == {
        ("a",): ("a", None),
        ("a", "b"): ("b", "1"),
        ("c",): ("[[c]]", None),
        ("c", 0): ("[[c]]", None),
        ("c", 0, "d e"): ('"d e"', '[10, {f = "x"}]'),
        ("c", 0, "d e", 0): (None, "10"),
        ("c", 0, "d e", 1): (None, '{f = "x"}'),
        ("c", 0, "d e", 1, "f"): ("f", '"x"'),
        ("c", 1): ("[[c]]", None),
        ("c", 1, "g"): ("[c.g]", None),
        ("c", 1, "g", "h"): ("h", '"""\ni\n"""'),
    }


def test_repeated_keys_are_found_with_both_places() -> None:
    text = "a = 1\n[b]\nc = 1\nc = 2\n[b]\n"
    repeats = [
        (path, line_and_column(text, first.start), line_and_column(text, second.start))
        for path, first, second in locate(text).repeats
    ]
    assert repeats == [(("b", "c"), (3, 1), (4, 1)), (("b",), (2, 1), (5, 1))]


def test_lines_and_columns_count_characters_from_one() -> None:
    assert line_and_column("é = 1\nab", 0) == (1, 1)
    assert line_and_column("é = 1\nab", 4) == (1, 5)
    assert line_and_column("é = 1\nab", 7) == (2, 2)
