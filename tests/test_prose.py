"""Every example in a docstring or a page runs as it stands."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FLAGS = doctest.ELLIPSIS | doctest.REPORT_NDIFF


def with_examples(*patterns: str) -> list[str]:
    """Return the project's files of these patterns that hold an example, from the root."""
    files = (path for pattern in patterns for path in ROOT.glob(pattern))
    return sorted(path.relative_to(ROOT).as_posix() for path in files if ">>> " in path.read_text("utf-8"))


@pytest.mark.parametrize("name", with_examples("lucid/**/*.py"))
def test_the_examples_of_a_module_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module = import_module(name.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    outcome = doctest.testmod(module, optionflags=FLAGS)
    assert outcome.attempted
    assert outcome.failed == 0


@pytest.mark.parametrize("name", with_examples("*.md", "docs/*.md"))
def test_the_examples_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testfile(str(ROOT / name), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert outcome.attempted
    assert outcome.failed == 0


def test_the_example_of_state_is_among_them() -> None:
    assert "lucid/coreml/options.py" in with_examples("lucid/**/*.py")
