"""Specs: nothing unknown is accepted, and what the target cannot do is refused before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from lucid.errors import SpecError
from lucid.pipeline.spec import read

GOOD = """\
lucid = 1

[package]
name = "model"

[model]
entry = "model.py:Model"

[[input]]
name = "x"
shape = [1, 4]
values = {normal = {mean = 0, std = 1}}

[[input]]
name = "s"
shape = [1, 4]

[[output]]
name = "y"

[[output]]
name = "new_s"

[[state]]
input = "s"
output = "new_s"

[lowering]
precision = "float16"

[golden]
calls = 4

[build]
directory = "build/model"
"""


def refused(tmp_path: Path, text: str) -> str:
    (tmp_path / "model.py").write_text("raise RuntimeError\n")
    path = tmp_path / "model.toml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        read(path)
    return str(caught.value)


def test_f37_the_spec_itself_is_good(tmp_path: Path) -> None:
    """What the cases below change is accepted as it is."""
    (tmp_path / "model.py").write_text("raise RuntimeError\n")
    (tmp_path / "model.toml").write_text(GOOD)
    assert read(tmp_path / "model.toml").lowering.precision == "float16"


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("precision =", "precison =", 'lowering.precison: unknown key. Did you mean "precision"?'),
        ('name = "model"', 'nmae = "model"', 'package.nmae: unknown key. Did you mean "name"?'),
        ("entry =", "entyr =", 'model.entyr: unknown key. Did you mean "entry"?'),
        ("shape = [1, 4]\nvalues", "shpae = [1, 4]\nvalues", 'input[0].shpae: unknown key. Did you mean "shape"?'),
        ("std = 1", "sdt = 1", 'input[0].values.normal.sdt: unknown key. Did you mean "std"?'),
        ('[[output]]\nname = "y"', '[[output]]\nnaem = "y"', 'output[0].naem: unknown key. Did you mean "name"?'),
        ('output = "new_s"', 'ouput = "new_s"', 'state[0].ouput: unknown key. Did you mean "output"?'),
        ("calls =", "call =", 'golden.call: unknown key. Did you mean "calls"?'),
        ("directory =", "directroy =", 'build.directroy: unknown key. Did you mean "directory"?'),
        ("[lowering]", "[lowring]", "lowring: unknown"),
    ],
)
def test_f37_an_unknown_key_of_every_table_is_an_error(tmp_path: Path, right: str, wrong: str, complaint: str) -> None:
    """A misspelt key was ignored, and the result was of no use."""
    assert right in GOOD
    text = refused(tmp_path, GOOD.replace(right, wrong, 1))
    assert complaint in text
    assert "model.toml:" in text


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("[golden]\n", '[golden]\nprecision = "float16"\n', "golden.precision"),
        ("[package]\n", "[package]\ncalls = 3\n", "package.calls"),
        ("[lowering]\n", '[lowering]\ndirectory = "x"\n', "lowering.directory"),
        ("[[state]]\n", "[[state]]\nshape = [1, 4]\n", "state[0].shape"),
        ("[[output]]\n", '[[output]]\nvalues = "ones"\n', "output[0].values"),
    ],
)
def test_f37_a_key_in_the_wrong_table_is_an_error(tmp_path: Path, right: str, wrong: str, complaint: str) -> None:
    """A key that another table has."""
    assert f"{complaint}: unknown key" in refused(tmp_path, GOOD.replace(right, wrong, 1))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('precision = "float16"', 'precision = "float16"\nprecision = "float32"'),
        ("calls = 4", "calls = 4\ncalls = 5"),
        ("[golden]", "[golden]\n[golden]"),
    ],
)
def test_f37_a_key_or_table_twice_is_an_error(tmp_path: Path, right: str, wrong: str) -> None:
    """TOML itself forbids it; the line is named."""
    assert "model.toml:" in refused(tmp_path, GOOD.replace(right, wrong, 1))


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ("calls = 4", 'calls = "4"', "golden.calls"),
        ("calls = 4", "calls = true", "golden.calls"),
        ("calls = 4", "calls = 4.5", "golden.calls"),
        ("shape = [1, 4]\nvalues", "shape = 4\nvalues", "input[0].shape"),
        ('precision = "float16"', "precision = 16", "lowering.precision"),
        ('precision = "float16"', 'precision = "float8"', "lowering.precision"),
        ("lucid = 1", 'lucid = "1"', "lucid"),
        ('name = "model"', 'name = ["model"]', "package.name"),
    ],
)
def test_f37_a_value_of_another_type_is_an_error(tmp_path: Path, right: str, wrong: str, complaint: str) -> None:
    """Text is never read as a number, and a boolean is none."""
    assert f"{complaint}: " in refused(tmp_path, GOOD.replace(right, wrong, 1))


@pytest.mark.parametrize(
    "shape", ["[-1, 4]", "[0, 4]", '["n", 4]', "[[1, 1024], 4]", "{ranges = [1, 1024]}", "[1, 2, 3, 4, 5, 6]"]
)
def test_f38_f39_a_flexible_shape_is_refused(tmp_path: Path, shape: str) -> None:
    """Fixed, ranged and enumerated shapes beside a state were built and then failed to load: every size is fixed."""
    assert "input[0].shape" in refused(tmp_path, GOOD.replace("shape = [1, 4]\nvalues", f"shape = {shape}\nvalues", 1))


@pytest.mark.parametrize("target", ["iOS15", "iOS16", "iOS17", "macOS14", "watchOS10", "tvOS17"])
def test_f48_a_target_without_states_is_refused(tmp_path: Path, target: str) -> None:
    """Naming the key, before the model is looked for."""
    text = refused(tmp_path, GOOD.replace("[lowering]\n", f'[lowering]\ndeployment_target = "{target}"\n'))
    assert f"lowering.deployment_target: {target} has no states" in text


def test_f51_a_second_entry_point_is_refused(tmp_path: Path) -> None:
    """Several functions in one package: a spec has one model, and says so of a second."""
    second = '[model]\nentry = "model.py:Other"\n'
    assert "model.toml:" in refused(tmp_path, GOOD + second)
    assert "model.entries: unknown key" in refused(
        tmp_path, GOOD.replace("[model]\n", '[model]\nentries = ["model.py:Model", "model.py:Other"]\n')
    )
    listed = GOOD.replace('entry = "model.py:Model"', 'entry = ["model.py:Model", "model.py:Other"]')
    assert "model.entry: " in refused(tmp_path, listed)


@pytest.mark.parametrize("name", ["1/logits", "1.logits", "état", "tensor", "x"])
def test_f40_an_output_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    """Names that Core ML cannot have, its own words, and a name that is taken."""
    assert "output[0].name" in refused(tmp_path, GOOD.replace('name = "y"', f'name = "{name}"', 1))
