"""`lucid run` and `lucid inspect` on a package that coremltools wrote, and the reading of `--input`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from lucid.cli import main
from lucid.cli.run_inputs import per_call
from lucid.coreml.packaged import Feature
from lucid.dtypes import bool_, float16, float32, int32
from lucid.errors import UsageError

X, N, B = Feature("x", float32, (1, 2)), Feature("n", int32, (1,)), Feature("b", bool_, (2,))
H = Feature("h", float16, (2,))
VALUES = np.arange(6, dtype=np.float32).reshape(3, 1, 2)


@pytest.mark.parametrize("suffix", ["npy", "npz", "json", "safetensors"])
def test_a_file_has_one_entry_a_call(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"values.{suffix}"
    if suffix == "npy":
        np.save(path, VALUES)
    elif suffix == "npz":
        np.savez(path, x=VALUES, other=VALUES[0])
    elif suffix == "json":
        path.write_text(json.dumps(VALUES.tolist()))
    else:
        save_file({"x": VALUES, "other": VALUES[0]}, path)
    arrays = per_call([f"x={path}"], [X], 2)["x"]
    assert len(arrays) == 2
    np.testing.assert_array_equal(arrays, VALUES[:2])
    assert all(each.dtype == np.float32 for each in arrays)


def test_the_only_array_of_a_file_needs_no_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", whatever=VALUES[1])
    np.testing.assert_array_equal(per_call([f"x={tmp_path / 'a.npz'}"], [X], 3)["x"], [VALUES[1]] * 3)


@pytest.mark.parametrize(
    ("feature", "text", "expected"),
    [
        (X, "1.5", [[1.5, 1.5]]),
        (X, "[[1, 2]]", [[1.0, 2.0]]),
        (N, "7", [7]),
        (N, "[-7]", [-7]),
        (N, "16777217", [16777217]),
        (B, "[true, false]", [True, False]),
        (B, "1", [True, True]),
        (H, "0.1", [np.float16(0.1)] * 2),
    ],
)
def test_literals(feature: Feature, text: str, expected: list[Any]) -> None:
    (array,) = per_call([f"{feature.name}={text}"], [feature], 1)[feature.name]
    assert array.dtype == feature.dtype.numpy
    assert array.tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], '--input "x": expected NAME=VALUE, such as x=1.5.'),
        (["y=1"], "--input y: no such input; the inputs are x, n."),
        (["x=1", "x=2"], "--input x: given twice. Give each input once."),
        (["x=1"], "no value for the input n. Add --input n=VALUE."),
        (["x=[1, 2, 3]", "n=1"], "--input x: shape (3,), expected (1, 2), or ('calls', 1, 2) with one entry a call."),
        (["x=[[[1, 2]]]", "n=1"], "--input x: 1 entries for 2 calls. Lower --calls."),
        (["x=1", "n=1.5"], "--input n: 1.5 cannot be a int32."),
        (["x=1", "n=2147483648"], "--input n: 2147483648 cannot be a int32."),
        (["x=1e39", "n=1"], "--input x: 1e+39 cannot be a float32."),
        (["x=", "n=1"], '--input x: "" is neither a number, a nested list nor a .npy, .npz, .safetensors, .json file.'),
        (["x=none.npy", "n=1"], "--input x: there is no file none.npy."),
    ],
)  # fmt: skip
def test_inputs_that_do_not_fit(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        per_call(arguments, [X, N], 2)
    assert str(caught.value) == message


def test_files_that_are_damaged_or_hold_other_names(tmp_path: Path) -> None:
    for suffix in (".npy", ".npz", ".safetensors", ".json"):
        (tmp_path / f"a{suffix}").write_bytes(b"not this")
        with pytest.raises(UsageError, match="cannot be read"):
            per_call([f"x={tmp_path / f'a{suffix}'}"], [X], 1)
    np.savez(tmp_path / "b.npz", p=VALUES, q=VALUES)
    with pytest.raises(UsageError) as caught:
        per_call([f"x={tmp_path / 'b.npz'}"], [X], 1)
    assert str(caught.value) == f'--input x: no "x" in {tmp_path / "b.npz"}, which holds p, q.'


ADDER = """
import sys
import coremltools as ct
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types

specs = [mb.TensorSpec((1, 4), dtype=types.fp32), mb.TensorSpec((1,), dtype=types.int32),
         mb.StateTensorSpec((1, 4), dtype=types.fp16)]

@mb.program(input_specs=specs, opset_version=ct.target.iOS18)
def program(x, n, total):
    new = mb.add(x=mb.read_state(input=total), y=mb.cast(x=x, dtype="fp16"))
    mb.coreml_update_state(state=total, value=new)
    return mb.mul(x=mb.cast(x=new, dtype="fp32"), y=mb.cast(x=n, dtype="fp32"), name="y")

model = ct.convert(program, minimum_deployment_target=ct.target.iOS18, skip_model_load=True,
                   compute_precision=ct.precision.FLOAT32)
model.author, model.short_description = "A. Uthor", "Adds up"
model.save(sys.argv[1])
"""


@pytest.fixture(scope="module")
def adder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a package that adds x to a state and returns the state times n, written by coremltools."""
    path = tmp_path_factory.mktemp("package") / "adder.mlpackage"
    # A process of its own, because coremltools leaves temporary folders and warnings behind.
    subprocess.run([sys.executable, "-c", ADDER, str(path)], check=True, capture_output=True)
    return path


def test_inspect(adder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(adder), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["result"]
    assert facts["inputs"] == [
        {"name": "x", "dtype": "float32", "shape": [1, 4], "kind": "array"},
        {"name": "n", "dtype": "int32", "shape": [1], "kind": "array"},
    ]
    assert facts["states"] == [{"name": "total", "dtype": "float16", "shape": [1, 4], "kind": "array"}]
    assert (facts["opset"], facts["specification_version"]) == ("CoreML8", 9)
    assert (facts["operations"]["add"], facts["operations"]["write_state"]) == (1, 1)
    assert facts["size"] == sum(file.stat().st_size for file in adder.rglob("*") if file.is_file())
    assert main(["inspect", str(adder)]) == 0
    out = capsys.readouterr().out
    assert "author" in out
    assert "\ninput    n       int32     [1]\n" in out
    assert "\nstate    total   float16   [1, 4]\n" in out


def test_run_carries_the_state_from_call_to_call(
    adder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 1, 4)
    np.save(tmp_path / "x.npy", values)
    arguments = ["run", str(adder), "-i", f"x={tmp_path / 'x.npy'}", "-i", "n=2", "--calls", "3", "--json", "--print"]
    assert main([*arguments, "--output-dir", str(tmp_path / "out"), "--timing"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    expected = [[[0, 2, 4, 6]], [[8, 12, 16, 20]], [[24, 30, 36, 42]]]
    assert [call["outputs"][0]["values"] for call in result["calls"]] == expected
    assert [call["outputs"][0]["max"] for call in result["calls"]] == [6, 20, 42]
    assert set(result["timing"]) == {"load", "first_call", "median_later_call"}
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == ["call_0.npz", "call_1.npz", "call_2.npz"]
    assert np.load(tmp_path / "out" / "call_2.npz")["y"].tolist() == expected[2]


def test_run_prints_a_line_for_each_output(adder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(adder), "-i", "x=1.5", "-i", "n=2", "-n", "2"]) == 0
    assert capsys.readouterr().out == (
        "call   output   dtype     shape    min   max   mean   not finite\n"
        "   0   y        float32   [1, 4]     3     3      3            0\n"
        "   1   y        float32   [1, 4]     6     6      6            0\n"
    )


def test_values_that_are_not_finite_are_counted_and_stay_json(adder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(adder), "-i", "x=[[NaN, Infinity, 1, 2]]", "-i", "n=1", "--json", "--print"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["result"]["calls"][0]["outputs"]
    assert output["values"] == [["nan", "inf", 1.0, 2.0]]
    assert (output["not_finite"], output["min"], output["max"]) == (2, 1.0, 2.0)


def test_run_without_an_input_is_a_usage_error(adder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(adder), "-i", "x=1"]) == 2
    assert capsys.readouterr().err == "error: no value for the input n. Add --input n=VALUE.\n"


@pytest.mark.parametrize("command", ["run", "inspect", "verify"])
def test_what_is_not_there_is_an_error_of_the_package(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(tmp_path / "none.mlpackage"), "--json"]) == 7
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == "package"
    assert len(err.splitlines()) == 1


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[[1],[2,3]]", "--input x: the nested list makes no array: "),
        (deep(5000), "--input x: the list is nested too deeply. Give it the input's axes."),
        (deep(900), "--input x: "),
        (deep(70), "--input x: "),
        ("1" * 5000, f'--input x: "{"1" * 60}…" is neither a number, '),
        ('{"a": 1}', "--input x: object values, expected float32."),
        ("null", "--input x: object values, expected float32."),
        ('"text"', "--input x: <U4 values, expected float32."),
        ("1e999", "--calls"),
    ],
)
def test_values_that_make_no_array_are_usage_errors(
    adder: Path, capsys: pytest.CaptureFixture[str], value: str, message: str
) -> None:
    code = main(["run", str(adder), "-i", f"x={value}", "-i", "n=1", "-n", "1000001" if message == "--calls" else "1"])
    err = capsys.readouterr().err
    assert code == 2, err
    assert message in err
    assert len(err.splitlines()) == (3 if message == "--calls" else 1)


@pytest.mark.parametrize("number", ["1000001", str(10**9), str(10**30), "-1", "1.5"])
def test_absurd_numbers_of_calls_are_usage_errors(adder: Path, capsys: pytest.CaptureFixture[str], number: str) -> None:
    assert main(["run", str(adder), "-i", "x=1", "-i", "n=1", "-n", number]) == 2
    assert "--calls" in capsys.readouterr().err


def test_input_files_that_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "deep.json").write_text(deep(5000))
    (tmp_path / "ragged.json").write_text("[[1], [2, 3]]")
    expected = {
        "pipe.npy": "{} is no regular file. Give a file.",
        "folder.npy": "{} is no regular file. Give a file.",
        "loop.npy": "{} cannot be read: Too many levels of symbolic links",
        f"{'n' * 300}.npy": "{} cannot be read: File name too long",
        "deep.json": "{} cannot be read: its lists are nested too deeply.",
        "ragged.json": "the nested list makes no array: ",
    }
    for name, message in expected.items():
        path = tmp_path / name
        with pytest.raises(UsageError) as caught:
            per_call([f"x={path}"], [X], 1)
        assert str(caught.value).startswith(f"--input x: {message.format(path)}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("file", "the folder cannot be made: File exists. Choose another place."),
        ("file/below", "the folder cannot be made: Not a directory. Choose another place."),
        ("/dev/null/below", "the folder cannot be made: Not a directory. Choose another place."),
        ("n" * 300, "the folder cannot be made: File name too long. Choose another place."),
        ("loop", "the folder cannot be made: File exists. Choose another place."),
        ("loop/below", "the folder cannot be made: Too many levels of symbolic links. Choose another place."),
        ("taken", "call_0.npz cannot be written: Is a directory. Choose another place."),
        ("half", "call_0.npz cannot be written: Is a directory. Choose another place."),
    ],
)
def test_places_where_outputs_cannot_be_kept(
    adder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "taken" / "call_0.npz").mkdir(parents=True)
    (tmp_path / "half" / ".call_0.npz").mkdir(parents=True)
    folder = tmp_path / place
    assert main(["run", str(adder), "-i", "x=1", "-i", "n=1", "-o", str(folder)]) == 2
    assert capsys.readouterr() == ("", f"error: --output-dir {folder}: {message}\n")
    assert [each.name for each in (tmp_path / "taken").iterdir()] == ["call_0.npz"]
