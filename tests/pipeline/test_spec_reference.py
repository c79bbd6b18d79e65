"""The reference and the schema follow from the fields, and the example of the reference is a valid spec."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import lucid.errors
from lucid.pipeline.spec import Spec, read
from lucid.pipeline.spec_reference import COMMAND, refreshed, schema_text
from lucid.pipeline.spec_words import fields_at

DOCS = Path(lucid.errors.__file__).parents[1] / "docs"
TABLES = ((), ("package",), ("model",), ("input",), ("output",), ("state",), ("lowering",), ("golden",), ("build",))


def test_the_reference_is_fresh() -> None:
    page = (DOCS / "spec.md").read_text(encoding="utf-8")
    assert page == refreshed(page), f"docs/spec.md is stale. Run: {COMMAND}"


def test_the_schema_is_fresh() -> None:
    written = (DOCS / "spec.schema.json").read_text(encoding="utf-8")
    assert written == schema_text(), f"docs/spec.schema.json is stale. Run: {COMMAND}"


def test_every_form_of_values_is_in_the_reference() -> None:
    page = (DOCS / "spec.md").read_text(encoding="utf-8")
    for form in ('"ones"', '"zeros"', '"index"', "constant", "normal", "uniform", "integers", "list", "file"):
        assert f"| `{form}` | `values = " in page


@pytest.mark.parametrize("table", TABLES)
def test_every_key_has_a_description_and_a_line_in_the_reference(table: tuple[str, ...]) -> None:
    page = (DOCS / "spec.md").read_text(encoding="utf-8")
    for key, info in fields_at(table).items():
        assert info.description
        if table or key == "lucid":
            assert f"| `{key}` |" in page


def test_the_schema_names_the_keys_of_the_file() -> None:
    schema = json.loads(schema_text())
    assert set(schema["properties"]) == {key for key, _ in fields_at(()).items()}
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["lucid", "package", "model", "input"]


def test_the_example_of_the_reference_is_valid(tmp_path: Path) -> None:
    page = (DOCS / "spec.md").read_text(encoding="utf-8")
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    (tmp_path / "decoder.py").touch()
    (tmp_path / "decoder.toml").write_text(example[1])
    assert isinstance(read(tmp_path / "decoder.toml"), Spec)
