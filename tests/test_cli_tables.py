"""Numbers and tables for people."""

from __future__ import annotations

import pytest

from lucid.cli.screen import Screen
from lucid.cli.tables import bytes_text, seconds_text, shape_text, show_table


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (2330, "2.33 KB"), (999_499, "999 KB"), (999_600, "1 MB"),
     (269_060_000, "269 MB"), (1_500_000_000, "1.5 GB"), (3 * 10**15, "3000 TB")],
)  # fmt: skip
def test_bytes(count: int, text: str) -> None:
    assert bytes_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00042, "0.42 ms"), (0.25, "250 ms"), (3.14, "3.1 s"), (59.96, "60.0 s"), (125.2, "2 min 5 s")],
)
def test_seconds(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


def test_shapes() -> None:
    assert shape_text((1, 4)) == "[1, 4]"
    assert shape_text(()) == "scalar"


def test_a_table_has_aligned_columns_and_no_trailing_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(Screen(), ["name", "size"], [["a", "1"], ["long [red]", "22"]], numbers=["size"])
    assert capsys.readouterr().out == "name         size\na               1\nlong [red]     22\n"


@pytest.mark.parametrize("screen", [Screen(json=True), Screen(quiet=True)])
def test_a_table_is_not_shown_where_results_are_not(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    show_table(screen, ["name"], [["a"]])
    assert capsys.readouterr() == ("", "")
