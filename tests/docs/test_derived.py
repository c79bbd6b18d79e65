"""What follows from the code is fresh, and the catalogue, the exit codes and the manifest's schema agree with it."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from lucid import errors
from lucid.cli.exits import EXITS

DOCS = Path(__file__).parents[2] / "docs"


def _derive() -> ModuleType:
    spec = importlib.util.spec_from_file_location("derive", DOCS / "derive.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


derive = _derive()
FILES = {path.relative_to(DOCS.parent).as_posix(): content for path, content in derive.derived()}


@pytest.mark.parametrize("name", sorted(FILES))
def test_it_is_fresh(name: str) -> None:
    path = DOCS.parent / name
    assert path.is_file(), f"{name} is missing. Run: {derive.COMMAND}"
    assert path.read_text("utf-8") == FILES[name], f"{name} is stale. Run: {derive.COMMAND}"


def test_splicing_keeps_the_words_around_the_markers() -> None:
    page = f"before\n{derive.BEGIN}\nold\n{derive.END}\nafter\n"
    assert derive.spliced(page, "| a |\n") == f"before\n{derive.BEGIN}\n\n| a |\n\n{derive.END}\nafter\n"
    with pytest.raises(SystemExit, match="lacks its markers"):
        derive.spliced("no markers", "")


def test_every_error_has_an_exit_code_of_the_table() -> None:
    classes = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, Exception)]
    assert {each.code for each in classes} == {2, 3, 4, 5, 6, 7, 8, 70}
    assert {each.code for each in classes} <= set(EXITS)
    assert {each.__name__ for each in classes} == set(errors.__all__) - {"Finding", "told"}


def test_kinds_are_unique_but_for_the_base() -> None:
    kinds = [getattr(errors, name).kind for name in errors.__all__ if name not in ("Finding", "LucidError", "told")]
    assert len(kinds) == len(set(kinds))


def test_every_option_is_in_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    from lucid.cli import main

    page = (DOCS / "cli.md").read_text("utf-8")
    for command in ("build", "check", "run", "inspect", "verify"):
        assert main([command, "--help"]) == 0
        section = page.partition(f"## `lucid {command} ")[2].partition("\n## ")[0]
        help_text = capsys.readouterr().out
        shown = {word.strip(",│|") for word in help_text.split() if word.startswith("--")} - {"--help"}
        assert shown
        assert {option for option in shown if option not in section} == set()
