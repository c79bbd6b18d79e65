"""Numbers and tables for people."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lucid.cli import main
from lucid.cli.build import build_all
from lucid.cli.screen import Screen
from lucid.cli.tables import bytes_text, folded, seconds_text, shape_text, show_table


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


def test_the_lines_of_a_build_and_of_operations_fit_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n126 operations, constants not counted: " + ", ".join(f"{number} slice_update" for number in range(20))
    assert folded(text) == text
    path = "build/a_folder_with_a_long_name/and_another/decoder.mlpackage"
    built = SimpleNamespace(
        package=Path(path), size=123_456_789, sha256="0123456789abcdef" * 4,
        verdict="1000 calls agree to 1.2e-05", seconds=754.2, as_json=dict,
    )  # fmt: skip
    monkeypatch.setattr("lucid.pipeline.build.build", lambda *_, **__: built)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    lines = folded(text).split("\n")
    assert len(lines) > 3
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    build_all(["decoder.toml"], None, Screen())
    header, row, place = capsys.readouterr().out.splitlines()
    assert header.split() == ["package", "size", "SHA-256", "golden", "check", "time"]
    assert "decoder" in row
    assert "0123456789ab " in row
    assert len(row) <= 80
    assert place == path


def test_a_pipe_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["inspect", str(tmp_path / "pipe")]) == 7
    assert "this is a special file, not an .mlpackage." in capsys.readouterr().err
