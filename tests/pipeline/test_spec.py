"""Valid specs: what is read, what is filled in, and what reading does not touch."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

import lucid.errors
from lucid.pipeline.spec import Spec, Tolerance, read
from lucid.pipeline.spec_tables import TARGETS, DeploymentTarget
from lucid.pipeline.spec_values import Constant, File, Integers, Listed, Normal, Uniform

ROOT = Path(lucid.errors.__file__).parents[1]
LEAST = """
lucid = 1
package.name = "least"
model.entry = "models.decoder:make.default"
[[input]]
name = "x"
shape = []
values = "ones"
"""
FULL = """
lucid = 1
[package]
name = "full"
description = "Ein Modell für alles"
author = "A"
license = "MIT"
version = "1.0"
[model]
entry = "src/model.py:Model"
arguments = {width = 4, deep = {names = ["a", "b"], rate = 0.5, flag = true}}
seed = 7
weights = "w.safetensors"
[[input]]
name = "a"
shape = [2, 2]
dtype = "float16"
values = {normal = {mean = 1, std = 0.5}}
[[input]]
name = "b"
shape = [2]
values = {uniform = {low = -1, high = 1}}
[[input]]
name = "c"
shape = [1]
dtype = "int32"
values = {integers = {low = -5, high = 5}}
[[input]]
name = "d"
shape = [2]
dtype = "int32"
values = {list = [1, [2, 3], 4]}
[[input]]
name = "e"
shape = [1, 3]
dtype = "bool"
values = {constant = true}
[[input]]
name = "f"
shape = [1]
values = {file = "data/f.npz", key = "f"}
[[input]]
name = "g"
shape = [1]
dtype = "int32"
values = "index"
[[input]]
name = "h"
shape = [1, 4]
[[output]]
name = "y"
atol = 1
[[output]]
name = "h_out"
[[state]]
input = "h"
output = "h_out"
[lowering]
precision = "float32"
interface = "float16"
float32 = ["layers.*"]
deployment_target = "macOS15"
compute_units = "cpu_and_gpu"
[golden]
calls = 3
rtol = 0.25
seed = 9
[build]
directory = "out/full"
"""


@pytest.fixture
def full(tmp_path: Path) -> Path:
    for name in ("src/model.py", "w.safetensors", "data/f.npz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('nobody may run this')")
    path = tmp_path / "full.toml"
    path.write_text(FULL, encoding="utf-8")
    return path


def test_a_spec_with_every_key(full: Path) -> None:
    spec = read(full)
    assert spec.path == full
    assert spec.root == full.parent
    assert spec.digest == hashlib.sha256(FULL.encode()).hexdigest()
    assert spec.directory == Path("out/full")
    assert (spec.model.source, spec.model.attribute, spec.model.is_file) == ("src/model.py", "Model", True)
    assert spec.model.arguments == {"width": 4, "deep": {"names": ("a", "b"), "rate": 0.5, "flag": True}}
    kinds = [type(each.values) for each in spec.inputs]
    assert kinds == [Normal, Uniform, Integers, Listed, Constant, File, str, type(None)]
    assert spec.inputs[3].values == Listed(list=(1, (2, 3), 4))
    assert spec.inputs[4].values == Constant(constant=True)
    assert spec.inputs[4].values.constant is True
    assert spec.lowering.ios == 18
    assert spec.states[0].output == "h_out"


def test_the_defaults_of_the_least_spec(tmp_path: Path) -> None:
    path = tmp_path / "least.toml"
    path.write_text(LEAST)
    assert read(path).resolved() == {
        "lucid": 1,
        "package": {"name": "least", "description": "", "author": "", "license": "", "version": ""},
        "model": {"entry": "models.decoder:make.default", "arguments": {}, "seed": 0, "weights": None},
        "input": [{"name": "x", "shape": [], "dtype": "float32", "values": "ones"}],
        "output": [],
        "state": [],
        "lowering": {
            "precision": "float16",
            "interface": None,
            "float32": [],
            "deployment_target": "iOS18",
            "compute_units": "all",
        },
        "golden": {"calls": 8, "seed": 0, "atol": 0.01, "rtol": 0.01},
        "build": {"directory": "build/least"},
    }


def test_resolved_is_json_in_the_layout_of_the_file(full: Path) -> None:
    resolved = json.loads(json.dumps(read(full).resolved(), allow_nan=False))
    assert resolved["input"][0]["values"] == {"normal": {"mean": 1.0, "std": 0.5}}
    assert resolved["input"][3]["values"] == {"list": [1, [2, 3], 4]}
    assert resolved["input"][7]["values"] == "zeros"
    assert resolved["output"] == [
        {"name": "y", "atol": 1.0, "rtol": 0.25},
        {"name": "h_out", "atol": 0.002, "rtol": 0.25},
    ]
    assert resolved["model"]["arguments"]["deep"]["names"] == ["a", "b"]


def test_tolerances_come_from_the_output_then_from_golden_then_the_default(full: Path) -> None:
    spec = read(full)
    assert spec.tolerance("y") == Tolerance(atol=1.0, rtol=0.25)
    assert spec.tolerance("h_out") == Tolerance(atol=0.002, rtol=0.25)


def test_nothing_of_a_spec_can_be_changed(full: Path) -> None:
    spec = read(full)
    with pytest.raises(ValidationError, match="frozen"):
        spec.golden.calls = 5  # type: ignore[misc]  # that it is refused is the point
    with pytest.raises(ValidationError, match="frozen"):
        spec.package = spec.package  # type: ignore[misc]  # that it is refused is the point


def test_line_ends_and_byte_order_mark_of_windows_are_read(full: Path) -> None:
    full.write_bytes(b"\xef\xbb\xbf" + FULL.encode().replace(b"\n", b"\r\n"))
    assert read(full).package.description == "Ein Modell für alles"


def test_deployment_targets_are_those_of_the_package_writer() -> None:
    options = pytest.importorskip("lucid.coreml.options")
    assert set(get_args(DeploymentTarget)) == {target.value for target in options.DeploymentTarget} == set(TARGETS)
    for target in options.DeploymentTarget:
        assert target.specification_version == int(TARGETS[target.value][3:]) - 9


@pytest.mark.parametrize("is_valid", [True, False])
def test_reading_imports_no_array_library_and_no_user_code(full: Path, is_valid: bool) -> None:
    if not is_valid:
        full.write_text(FULL.replace("seed = 7", "sed = 7"))
    (full.parent / "sitecustomize.py").unlink(missing_ok=True)
    code = """
import sys
from lucid.errors import SpecError
from lucid.pipeline.spec import read
try:
    read(sys.argv[1])
except SpecError as error:
    print(len(error.findings))
heavy = {"numpy", "coremltools", "torch", "jax", "safetensors", "typer", "rich", "click", "model", "src"}
print(sorted(heavy & set(sys.modules)))
"""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{full.parent}"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(full)], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n") == ([] if is_valid else ["1"]) + ["[]", ""]


def test_specs_compare_by_what_they_say(full: Path) -> None:
    assert read(full) == read(full)
    assert isinstance(read(str(full)), Spec)
