"""Reading packages that coremltools made, and every kind of damage, each with its own words."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_made import linear

from lucid.coreml.options import DeploymentTarget
from lucid.coreml.packaged import Feature, package_of
from lucid.coreml.protobuf import model
from lucid.coreml.reading import read
from lucid.coreml.referee import referee
from lucid.coreml.writing import write
from lucid.dtypes import float32, string
from lucid.errors import PackageError
from lucid.graph import Constant, Function, Node, render, verify

_MODEL = "Data/com.apple.CoreML/model.mlmodel"
_WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"
_PROGRAMS = (
    *("cond", "while_loop", "states", "constexpr_attributes", "constexpr_inputs", "lists", "longer"),
    *("classifier", "ranged", "chosen", "several"),
)


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    script = Path(__file__).with_name("foreign.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def _node(function: Function, op: str) -> Node:
    (found,) = (each for each in function.nodes if each.op == op)
    return found


def _data(node: Node, name: str) -> np.ndarray:
    value = node.inputs[name]
    assert isinstance(value, Constant)
    assert isinstance(value.data, np.ndarray)
    return value.data


@pytest.mark.parametrize("name", _PROGRAMS)
def test_reading_writing_and_reading_again_changes_nothing(foreign: Path, tmp_path: Path, name: str) -> None:
    package = read(foreign / f"{name}.mlpackage")
    first = write(package, tmp_path / "again.mlpackage")
    again = read(tmp_path / "again.mlpackage")
    assert again.interfaces == package.interfaces
    assert (again.main, again.metadata) == (package.main, package.metadata)
    assert [render(each) for each in again.functions.values()] == [render(each) for each in package.functions.values()]
    for function in again.functions.values():
        verify(function)
    assert write(again, tmp_path / "third.mlpackage") == first
    assert referee(tmp_path / "again.mlpackage").operations > 0


def test_cond(foreign: Path) -> None:
    function = read(foreign / "cond.mlpackage").function
    choice = _node(function, "cond")
    assert [[each.op for each in block.nodes] for block in choice.blocks] == [["reshape", "add"], ["mul"]]
    for block, factor in zip(choice.blocks, (1, 2), strict=True):
        np.testing.assert_array_equal(_data(block.nodes[-1], "y"), factor * np.arange(12, dtype=np.float32))
        assert block.outputs == (block.nodes[-1].output,)
    assert function.outputs == {"chosen": choice.output}


def test_while_loop(foreign: Path) -> None:
    function = read(foreign / "while_loop.mlpackage").function
    loop = _node(function, "while_loop")
    condition, body = loop.blocks
    assert [value.name for value in condition.inputs] == [value.name for value in body.inputs]
    assert condition.inputs[0] is not body.inputs[0]
    assert [each.op for each in body.nodes] == ["mul", "add"]
    assert body.nodes[0].inputs["x"] is body.inputs[0]
    variables = loop.inputs["loop_vars"]
    assert isinstance(variables, tuple)
    assert variables[0] is function.inputs[0]
    assert isinstance(variables[1], Constant)


def test_states(foreign: Path) -> None:
    package = read(foreign / "states.mlpackage")
    assert [feature.name for feature in package.inputs] == ["x"]
    assert [(feature.name, feature.dtype.name, feature.shape) for feature in package.states] == [
        ("held", "float16", (2, 4))
    ]
    function = package.function
    assert [each.op for each in function.nodes] == [
        *("cast", "read_state", "slice_update", "write_state", "read_state", "reduce_sum")
    ]
    write_state = _node(function, "write_state")
    assert (write_state.inputs["input"], write_state.outputs) == (function.states[0], ())


def test_constexpr_with_attributes(foreign: Path) -> None:
    function = read(foreign / "constexpr_attributes.mlpackage").function
    looked = _node(function, "constexpr_lut_to_dense")
    assert _data(looked, "lut").tolist() == [0.0, 0.5, -1.0, 2.0]
    assert _data(looked, "shape").tolist() == [4, 16]
    assert _data(looked, "shape").dtype == np.uint32
    scaled = _node(function, "constexpr_affine_dequantize")
    np.testing.assert_array_equal(_data(scaled, "quantized_data"), np.arange(16, dtype=np.int8).reshape(4, 4))
    assert (_data(scaled, "zero_point").item(), _data(scaled, "scale").item()) == (3, 0.25)


def test_constexpr_with_packed_inputs(foreign: Path) -> None:
    function = read(foreign / "constexpr_inputs.mlpackage").function
    scaled = _node(function, "constexpr_blockwise_shift_scale")
    value = scaled.inputs["data"]
    assert isinstance(value, Constant)
    assert (value.dtype.name, value.shape) == ("int4", (4, 16))
    np.testing.assert_array_equal(value.data, (np.arange(64) % 16 - 8).reshape(4, 16))
    np.testing.assert_array_equal(_data(scaled, "scale").ravel(), np.linspace(0.5, 2, 4, dtype=np.float32))


def test_lists(foreign: Path) -> None:
    made = _node(read(foreign / "lists.mlpackage").function, "make_list")
    assert (made.output.dtype.mil, made.output.shape) == ("list<fp32>", (2, 3))
    shape = made.inputs["elem_shape"]
    assert isinstance(shape, tuple)
    assert [int(value.data) for value in shape if isinstance(value, Constant)] == [3]


def test_classifier(foreign: Path) -> None:
    package = read(foreign / "classifier.mlpackage")
    assert [(feature.name, feature.kind) for feature in package.outputs] == [
        ("classLabel", "string"),
        ("classLabel_probs", "dictionary"),
    ]
    node = _node(package.function, "classify")
    assert _data(node, "classes").tolist() == ["cat", "dog", "eel"]
    assert [value.dtype.mil for value in node.outputs] == ["string", "dict<string, fp64>"]
    assert node.outputs[0].dtype == string


def test_flexible_shapes(foreign: Path) -> None:
    ranged, chosen = read(foreign / "ranged.mlpackage"), read(foreign / "chosen.mlpackage")
    assert ranged.inputs == (Feature("x", float32, (1, 4), ranges=((1, 1), (2, 8))),)
    assert set(chosen.inputs[0].choices) == {(1, 4), (1, 7)}
    assert chosen.inputs[0].shape == (1, 7)
    for package in (ranged, chosen):
        assert package.function.inputs[0].shape == (1, None)
        assert package.outputs[0].shape == ()


def test_several_functions(foreign: Path) -> None:
    package = read(foreign / "several.mlpackage")
    assert (sorted(package.functions), package.main) == (["first", "second"], "second")
    assert package.function is package.functions["second"]
    assert [feature.name for feature in package.states] == ["held"]
    assert package.interfaces["first"].states == ()


def test_weights_are_mapped_and_outlive_the_package(foreign: Path, tmp_path: Path) -> None:
    shutil.copytree(foreign / "longer.mlpackage", tmp_path / "p.mlpackage")
    data = _data(_node(read(tmp_path / "p.mlpackage").function, "add"), "y")
    shutil.rmtree(tmp_path / "p.mlpackage")
    assert not data.flags.owndata
    np.testing.assert_array_equal(data, np.arange(12, dtype=np.float32).reshape(3, 4))


def test_reading_needs_no_coremltools(foreign: Path) -> None:
    program = (
        "import sys\nfrom lucid.coreml.reading import read\nread(sys.argv[1])\n"
        "print([name for name in ('coremltools', 'torch', 'pydantic', 'typer', 'lucid.nn') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(foreign / "cond.mlpackage")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("network", "the model is a NeuralNetwork, not an ML Program. Convert it to an ML Program first."),
        ("pipeline", "the model is a pipeline, not an ML Program. Convert it to an ML Program first."),
    ],
)
def test_foreign_models_are_named(foreign: Path, name: str, message: str) -> None:
    path = foreign / f"{name}.mlpackage"
    with pytest.raises(PackageError) as caught:
        read(path)
    assert str(caught.value) == f"{path / _MODEL}: {message}"
    assert caught.value.code == 7


def _change_model(change: Callable[[Any], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        spec = model().Model.FromString((path / _MODEL).read_bytes())
        change(spec)
        (path / _MODEL).write_bytes(spec.SerializeToString())

    return damage


def _change_block(change: Callable[[Any], object]) -> Callable[[Path], None]:
    return _change_model(lambda spec: change(spec.mlProgram.functions["main"].block_specializations["CoreML5"]))


def _change_manifest(change: Callable[[Any], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = json.loads((path / "Manifest.json").read_text())
        change(content)
        (path / "Manifest.json").write_text(json.dumps(content))

    return damage


def _move(where: str) -> Callable[[Any], object]:
    return lambda content: content["itemInfoEntries"][content["rootModelIdentifier"]].update(path=where)


def _weight(block: Any) -> Any:
    (found,) = (each for each in block.operations if each.outputs[0].name == "weight")
    return found.attributes["val"]


def _loop(path: Path) -> None:
    (path / _MODEL).unlink()
    (path / _MODEL).symlink_to(path / _MODEL)


@pytest.mark.parametrize(
    ("damage", "member", "message"),
    [
        (_loop, "", "the package cannot be read: "),
        (_change_manifest(_move("x" * 5000)), "", "the package cannot be read: File name too long."),
        (shutil.rmtree, "", "there is no such package. Check the path."),
        (
            lambda path: (path / "Manifest.json").unlink(),
            "",
            "this is a folder without Manifest.json, not an .mlpackage",
        ),
        (lambda path: (path / "Manifest.json").write_text("{"), "Manifest.json", "it is not JSON"),
        (lambda path: (path / "Manifest.json").write_text("[" * 9999), "Manifest.json", "it is not JSON"),
        (lambda path: (path / "Manifest.json").write_text("[]"), "Manifest.json", "it names no model"),
        (lambda path: (path / "Manifest.json").write_bytes(b"\xff\xfe\0"), "Manifest.json", "it is not JSON"),
        (_change_manifest(lambda content: content.pop("rootModelIdentifier")), "Manifest.json", "it names no model"),
        (_change_manifest(_move("../../../../etc/passwd")), "Manifest.json", "of an item leaves the package"),
        (_change_manifest(_move("/etc/passwd")), "Manifest.json", "'/etc/passwd' of an item leaves the package"),
        (_change_manifest(_move("a\0b")), "Manifest.json", "of an item is not a path"),
        (_change_manifest(lambda content: _move(7)(content)), "Manifest.json", "the path 7 of an item is not a path"),
        (
            _change_manifest(_move("gone.mlmodel")),
            "Manifest.json",
            "the model it names, Data/gone.mlmodel, does not exist",
        ),
        (lambda path: (path / _MODEL).write_bytes(b""), _MODEL, "the model is empty, not an ML Program"),
        (lambda path: (path / _MODEL).write_bytes(b"\xff"), _MODEL, "it is no protobuf, or cut short"),
        (
            lambda path: (path / _MODEL).write_bytes((path / _MODEL).read_bytes()[:-40]),
            _MODEL,
            "it is no protobuf, or cut short",
        ),
        (lambda path: (path / _WEIGHTS).unlink(), _WEIGHTS, "the weight file is missing"),
        (lambda path: (path / _WEIGHTS).write_bytes(b"x"), _WEIGHTS, "it has 1 bytes, a weight file at least 64"),
        (
            _change_block(lambda block: setattr(_weight(block).blobFileValue, "offset", 65)),
            _WEIGHTS,
            "no blob can begin at 65",
        ),
        (
            _change_block(lambda block: setattr(_weight(block).blobFileValue, "fileName", "@model_path/../../../x")),
            _MODEL,
            "the program names the weight file '@model_path/../../../x', which leaves the package.",
        ),
        (
            _change_block(lambda block: setattr(_weight(block).blobFileValue, "fileName", "/etc/passwd")),
            _MODEL,
            "which leaves the package.",
        ),
        (
            _change_block(lambda block: block.operations.pop(0)),
            _MODEL,
            "function main: linear -> y: bias read %bias, which nothing defines before.",
        ),
        (
            _change_block(lambda block: block.outputs.append("nowhere")),
            _MODEL,
            "function main: the function's outputs read %nowhere, which nothing defines before.",
        ),
        (
            _change_block(lambda block: block.operations[0].attributes.clear()),
            _MODEL,
            "function main: a const needs one output and a value.",
        ),
        (
            _change_block(lambda block: block.operations[0].attributes["val"].ClearField("immediateValue")),
            _MODEL,
            "constant %bias has no value that its type %bias: (4, fp32) can have.",
        ),
        (
            _change_block(
                lambda block: block.operations[0].attributes["val"].immediateValue.tensor.floats.values.pop()
            ),
            _MODEL,
            "constant %bias is damaged: it has 3 values for the shape (4,).",
        ),
        (
            _change_block(lambda block: setattr(block.operations[2].outputs[0].type.tensorType, "dataType", 13)),
            _MODEL,
            "value %y has the unknown element type 13.",
        ),
        (
            _change_block(lambda block: setattr(block.operations[2].outputs[0].type.tensorType, "rank", 3)),
            _MODEL,
            "value %y has rank 3 but 2 sizes.",
        ),
        (
            _change_block(lambda block: setattr(block.operations[2].outputs[0], "name", "")),
            _MODEL,
            "the program has a value without a name.",
        ),
        (
            _change_block(lambda block: block.operations[2].outputs[0].type.tupleType.SetInParent()),
            _MODEL,
            "value %y has the type tupleType, which lucid does not read.",
        ),
        (
            _change_model(lambda spec: setattr(spec, "specificationVersion", 99)),
            _MODEL,
            "the specification version is 99, lucid reads 6 to 10. Update lucid.",
        ),
        (
            _change_model(lambda spec: setattr(spec.mlProgram.functions["main"], "opset", "CoreML9")),
            _MODEL,
            "function main is for the opset 'CoreML9', but has blocks for CoreML5.",
        ),
        (
            _change_model(lambda spec: spec.mlProgram.functions.clear()),
            _MODEL,
            "the description names the function main, the program has none.",
        ),
        (
            _change_model(lambda spec: setattr(spec.description.input[0], "name", "a")),
            _MODEL,
            "function main: the description has the inputs a, the program x.",
        ),
        (
            _change_model(lambda spec: spec.description.output.pop()),
            _MODEL,
            "function main: the description has the outputs none, the program z.",
        ),
        (
            _change_model(lambda spec: setattr(spec.description.input[0].type.multiArrayType, "dataType", 0)),
            _MODEL,
            "the feature x has the unknown element type 0.",
        ),
        (
            _change_model(lambda spec: spec.description.input[0].type.sequenceType.SetInParent()),
            _MODEL,
            "the feature x is of the type sequenceType, which no ML Program has.",
        ),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], None], member: str, message: str) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(linear(), DeploymentTarget.iOS15), path)
    damage(path)
    with pytest.raises(PackageError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path / member}: ")
    assert message in str(caught.value)


def test_file_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "model.mlmodel").write_bytes(b"model")
    with pytest.raises(PackageError, match=r"this is a file, not an \.mlpackage\. Name the folder of a package\."):
        read(tmp_path / "model.mlmodel")


def test_link_out_of_the_package_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(linear(), DeploymentTarget.iOS15), path)
    shutil.move(path / _WEIGHTS, tmp_path / "weight.bin")
    (path / _WEIGHTS).symlink_to(tmp_path / "weight.bin")
    with pytest.raises(PackageError, match="which leaves the package"):
        read(path)


def _outcome(path: Path) -> str:
    try:
        return "read" if read(path).function else "nothing"
    except PackageError as error:
        return "refused" if error.where and error.where.startswith(str(path)) else f"refused without a place: {error}"


@pytest.mark.parametrize(
    ("name", "member"),
    [(name, _MODEL) for name in ("constexpr_inputs", "several", "classifier", "while_loop", "lists")]
    + [(name, _WEIGHTS) for name in ("constexpr_inputs", "several", "cond")]
    + [("states", "Manifest.json")],
)
def test_any_changed_byte_is_read_or_refused(foreign: Path, tmp_path: Path, name: str, member: str) -> None:
    path = tmp_path / "p.mlpackage"
    shutil.copytree(foreign / f"{name}.mlpackage", path)
    whole = (path / member).read_bytes()
    random = np.random.default_rng(len(whole))
    outcomes = set()
    for attempt in range(150):
        changed = bytearray(whole)
        for place in random.integers(0, len(whole), random.integers(1, 4)):
            changed[place] = random.integers(0, 256)
        cut = random.integers(0, len(whole)) if attempt % 2 else 0
        (path / member).write_bytes(changed[: len(whole) - cut])
        outcomes.add(_outcome(path))
    assert "refused" in outcomes
    assert outcomes <= {"read", "refused"}
