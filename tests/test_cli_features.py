"""`lucid run` on classifiers, pictures, several functions and optional inputs, in packages that coremltools made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lucid.cli import main

PIXELS = np.random.default_rng(5).integers(0, 256, (4, 5, 3), np.uint8)


@pytest.fixture(scope="module")
def runnable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runnable")
    script = Path(__file__).with_name("coreml") / "runnable.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def told(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> Any:
    assert main(["run", *map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_classifier(runnable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [runnable / "numbered.mlpackage", "-i", "x=[[0, 3, 0]]", "-o", tmp_path]
    label, chances = told(capsys, *arguments)["result"]["calls"][0]["outputs"]
    wanted = np.exp([0, 3, 0]) / np.exp([0, 3, 0]).sum()
    assert (label["name"], label["dtype"], label["shape"], label["value"]) == ("classLabel", "int", [], 8)
    assert (chances["dtype"], chances["shape"]) == ("dict", [3])
    assert chances["value"] == pytest.approx(dict(zip("789", wanted, strict=True)), rel=1e-5)
    with np.load(tmp_path / "call_0.npz", allow_pickle=False) as kept:
        assert sorted(kept) == ["classLabel", "classLabel_probs", "classLabel_probs_labels"]
        assert kept["classLabel"] == 8
        np.testing.assert_allclose(kept["classLabel_probs"], wanted, rtol=1e-5)
        assert kept["classLabel_probs_labels"].tolist() == [7, 8, 9]
    assert main(["run", *map(str, arguments)]) == 0
    shown = capsys.readouterr().out
    assert "call 0  classLabel  8\n" in shown
    assert "call 0  classLabel_probs  8 0.909443, 7 0.0452785, 9 0.0452785\n" in shown


@pytest.mark.parametrize("suffix", ["png", "bmp", "npy"])
def test_a_picture_from_a_file(runnable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    path = tmp_path / f"picture.{suffix}"
    if suffix == "npy":
        np.save(path, PIXELS)
    else:
        Image.fromarray(PIXELS).save(path)
    told(capsys, runnable / "rgb.mlpackage", "-i", f"x={path}", "-n", 2, "-o", tmp_path)
    wanted = np.clip(np.rint(PIXELS * np.float32(0.5) + np.float32([11, 22, 33])), 0, 255)
    for call in range(2):
        with np.load(tmp_path / f"call_{call}.npz") as kept:
            np.testing.assert_array_equal(kept["result"], wanted)


def test_a_coloured_picture_for_a_grey_input(
    runnable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "grey.png"
    Image.fromarray(np.full((4, 5, 3), 100, np.uint8)).save(path)
    (result,) = told(capsys, runnable / "grey.mlpackage", "-i", f"x={path}")["result"]["calls"][0]["outputs"]
    assert (result["dtype"], result["shape"], result["min"], result["max"]) == ("uint8", [4, 5], 61, 61)


def test_a_file_that_is_no_picture(runnable: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(b"no picture")
    error = told(capsys, runnable / "rgb.mlpackage", "-i", f"x={path}", code=2)["error"]
    assert error["message"].startswith(f"--input x: {path} cannot be read: ")


def test_a_function_by_name(runnable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = runnable / "several.mlpackage"
    (doubled,) = told(capsys, path, "-i", "x=3", "-p")["result"]["calls"][0]["outputs"]
    assert doubled["values"] == [[6, 6, 6, 6]]
    first, second = told(capsys, path, "-f", "cached", "-i", "x=[[1, 2]]", "-n", 2, "-p")["result"]["calls"]
    assert [each["outputs"][0]["values"] for each in (first, second)] == [[0, 3], [3, 3]]
    error = told(capsys, path, "--function", "none", "-i", "x=1", code=2)["error"]
    assert error["message"] == "function none: not one of this package. It has doubled, cached."


def test_an_optional_input_may_be_left_out(runnable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (result,) = told(capsys, runnable / "optional.mlpackage", "-i", "x=1", "-p")["result"]["calls"][0]["outputs"]
    assert result["values"] == [[-1.5] * 4]


def test_an_unknown_operation_can_be_inspected_and_not_run(runnable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(runnable / "unknown.mlpackage")
    assert main(["inspect", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["operations"] == {"frobnicate": 1}
    error = told(capsys, path, "-i", "x=1", code=5)["error"]
    assert error["where"] == "function main, operation 0 (-> result)"
    assert error["message"] == "operation frobnicate: lucid does not know it."


@pytest.mark.parametrize(
    ("name", "facts", "line"),
    [
        ("ranged", {"accepts": "(1, 2 to 4, 1 to 7)"}, "input    x        float32   (1, 2 to 4, 1 to 7)"),
        ("optional", {}, "input    y        float32   [1, 4] = 2.5"),
        ("rgb", {"kind": "image", "layout": "rgb", "shape": [4, 5]}, "input    x        rgb     [4, 5]"),
    ],
)
def test_inspect_shows_what_inputs_may_be(
    runnable: Path, capsys: pytest.CaptureFixture[str], name: str, facts: dict[str, Any], line: str
) -> None:
    path = str(runnable / f"{name}.mlpackage")
    assert main(["inspect", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]["inputs"][0]
    assert facts.items() <= found.items()
    assert main(["inspect", path]) == 0
    assert line in [each.rstrip() for each in capsys.readouterr().out.splitlines()]
