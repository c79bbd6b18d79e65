"""Written packages: what coremltools reads in them, the same bytes everywhere, and one step from old to new."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand_made import cache, const, every_kind, linear, node, text

from lucid.coreml import placing
from lucid.coreml.interface import fit_interface
from lucid.coreml.options import DeploymentTarget, Metadata, State
from lucid.coreml.packaged import Feature, Interface, PackagedModel, describe, package_of
from lucid.coreml.placing import placed
from lucid.coreml.protobuf import model
from lucid.coreml.reading import read
from lucid.coreml.states import check_states, make_stateful
from lucid.coreml.writing import write
from lucid.dtypes import DType, float16, float32, int32
from lucid.errors import InternalError, PackageError
from lucid.graph import Function, Value, render, verify

_IOS18 = DeploymentTarget.iOS18
_MODEL = "Data/com.apple.CoreML/model.mlmodel"
_WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"


def _stateful() -> Function:
    function = cache()
    pairs = check_states([State("cache", "output_0")], function, _IOS18)
    return fit_interface(make_stateful(replace(function, pairs=pairs)), _IOS18)


def _spec(path: Path) -> object:
    return model().Model.FromString((path / _MODEL).read_bytes())


def test_files_and_their_digests(tmp_path: Path) -> None:
    path = tmp_path / "linear.mlpackage"
    digests = write(package_of(linear(), DeploymentTarget.iOS15), path)
    assert list(digests) == [_MODEL, _WEIGHTS, "Manifest.json"]
    for name, digest in digests.items():
        assert hashlib.sha256((path / name).read_bytes()).hexdigest() == digest
    found = sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file())
    assert found == sorted(digests)
    assert os.listdir(tmp_path) == ["linear.mlpackage"]


def test_manifest_names_model_and_weights(tmp_path: Path) -> None:
    write(package_of(linear(), DeploymentTarget.iOS15), tmp_path / "p.mlpackage")
    manifest = json.loads((tmp_path / "p.mlpackage/Manifest.json").read_text())
    assert manifest["fileFormatVersion"] == "1.0.0"
    entries = manifest["itemInfoEntries"]
    assert entries[manifest["rootModelIdentifier"]] == {
        "author": "com.apple.CoreML",
        "description": "CoreML Model Specification",
        "name": "model.mlmodel",
        "path": "com.apple.CoreML/model.mlmodel",
    }
    paths = sorted(entry["path"] for entry in entries.values())
    assert paths == ["com.apple.CoreML/model.mlmodel", "com.apple.CoreML/weights"]


def test_package_without_weights_has_no_weight_file(tmp_path: Path) -> None:
    digests = write(package_of(_stateful(), _IOS18), tmp_path / "p.mlpackage")
    assert list(digests) == [_MODEL, "Manifest.json"]
    assert not (tmp_path / "p.mlpackage" / _WEIGHTS).parent.exists()


def test_modes_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write(package_of(linear(), DeploymentTarget.iOS15), tmp_path / "p.mlpackage")
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "p.mlpackage").rglob("*") if path.is_file()}
    assert modes == {0o644}
    folders = [tmp_path / "p.mlpackage", *(path for path in (tmp_path / "p.mlpackage").rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o755}


def test_description_of_inputs_outputs_states_and_metadata(tmp_path: Path) -> None:
    metadata = Metadata("a cache", "somebody", "MIT", "1.2", {"b": "2", "a": "1"})
    write(package_of(_stateful(), _IOS18, metadata), tmp_path / "p.mlpackage")
    spec = _spec(tmp_path / "p.mlpackage")
    description = spec.description
    assert spec.specificationVersion == 9
    (x,), (out,), (state,) = description.input, description.output, description.state
    assert (x.name, list(x.type.multiArrayType.shape), x.type.multiArrayType.dataType) == ("x", [1, 4], 65552)
    assert (out.name, list(out.type.multiArrayType.shape)) == ("output_1", [2, 4])
    held = state.type.stateType.arrayType
    assert (state.name, list(held.shape), held.dataType) == ("cache", [2, 4], 65552)
    texts = description.metadata
    assert (texts.shortDescription, texts.author, texts.license) == ("a cache", "somebody", "MIT")
    assert (texts.versionString, dict(texts.userDefined)) == ("1.2", {"a": "1", "b": "2"})
    again = read(tmp_path / "p.mlpackage")
    assert again.metadata == metadata


def test_function_is_written_for_the_opset_of_the_target(tmp_path: Path) -> None:
    for target, opset in ((DeploymentTarget.iOS15, "CoreML5"), (DeploymentTarget.macOS15, "CoreML8")):
        write(package_of(linear(), target), tmp_path / "p.mlpackage")
        function = _spec(tmp_path / "p.mlpackage").mlProgram.functions["main"]
        assert function.opset == opset
        assert list(function.block_specializations) == [opset]


def _operations(path: Path) -> list[object]:
    (block,) = _spec(path).mlProgram.functions["main"].block_specializations.values()
    return list(block.operations)


def test_constants_stand_before_their_first_use_under_names_of_their_own(tmp_path: Path) -> None:
    write(package_of(linear(), DeploymentTarget.iOS15), tmp_path / "p.mlpackage")
    found = [(each.type, each.outputs[0].name) for each in _operations(tmp_path / "p.mlpackage")]
    assert found == [("const", "bias"), ("const", "weight"), ("linear", "y"), ("const", "z_y_0"), ("add", "z")]
    weight = _operations(tmp_path / "p.mlpackage")[1].attributes["val"]
    assert weight.blobFileValue.fileName == "@model_path/weights/weight.bin"
    assert weight.blobFileValue.offset == 64


def test_equal_constants_are_written_once(tmp_path: Path) -> None:
    x = Value("x", float32, (12,))
    big = [const(np.arange(12, dtype=np.float32)) for _ in range(2)]
    small = [const(np.float32(2)) for _ in range(2)]
    other = const(np.int32(2))
    nodes, last = [], x
    for position, y in enumerate((*big, *small)):
        nodes.append(node("mul", f"v{position}", (12,), x=last, y=y))
        last = nodes[-1].output
    nodes.append(node("reduce_sum", "v4", (12,), x=last, axes=other))
    write(package_of(Function("main", (x,), tuple(nodes), {"v4": nodes[-1].output}), _IOS18), tmp_path / "p.mlpackage")
    found = [each.outputs[0].name for each in _operations(tmp_path / "p.mlpackage") if each.type == "const"]
    assert found == ["v0_y_0", "v2_y_0", "v4_axes_0"]
    assert (tmp_path / "p.mlpackage" / _WEIGHTS).stat().st_size == 64 + 64 + 48


@pytest.mark.parametrize(
    ("data", "target", "in_file"),
    [
        (np.ones(9, np.float32), DeploymentTarget.iOS15, False),
        (np.ones(10, np.float32), DeploymentTarget.iOS15, True),
        (np.ones(10, np.float16), DeploymentTarget.iOS16, True),
        (np.ones(10, np.int8), DeploymentTarget.iOS15, True),
        (np.ones(10, np.uint8), DeploymentTarget.iOS15, True),
        (np.ones(10, np.int32), DeploymentTarget.iOS17, False),
        (np.ones(10, np.int32), DeploymentTarget.iOS18, True),
        (np.ones(10, np.int16), DeploymentTarget.iOS17, False),
        (np.ones(10, np.uint16), DeploymentTarget.iOS18, True),
        (np.ones(10, np.bool_), DeploymentTarget.iOS18, False),
    ],
)
def test_where_constants_are_kept(tmp_path: Path, data: np.ndarray, target: DeploymentTarget, in_file: bool) -> None:
    value = const(data)
    x = Value("x", float32, (10,))
    function = Function("main", (x,), (made := node("some", "y", (10,), x=x, y=value),), {"y": made.output})
    write(package_of(function, target), tmp_path / "p.mlpackage")
    (constant,) = (each for each in _operations(tmp_path / "p.mlpackage") if each.type == "const")
    assert constant.attributes["val"].WhichOneof("value") == ("blobFileValue" if in_file else "immediateValue")
    back = read(tmp_path / "p.mlpackage").function.nodes[0].inputs["y"]
    assert back.data.dtype == data.dtype
    np.testing.assert_array_equal(back.data, data)


def test_values_at_the_edge_survive_as_immediates(tmp_path: Path) -> None:
    x = Value("x", float32, (1,))
    kept: dict[str, object] = {
        "a": const(np.array([np.inf, -np.inf, np.nan, -0.0, 6e-8], np.float16)),
        "b": const(np.array([3.4028235e38, 1e-45, -0.0], np.float32)),
        "c": const(np.array([-(2**31), 2**31 - 1], np.int32)),
        "d": const(np.array([True, False])),
        "e": const(np.array([-128, 127], np.int8)),
        "f": const(np.array([0, 2**32 - 1], np.uint32)),
        "g": const(np.zeros((0, 3), np.float32)),
        "h": text("é"),
        "i": const(np.array([[-32768], [32767]], np.int16)),
    }
    made = node("some", "y", (1,), x=x, **kept)
    write(package_of(Function("main", (x,), (made,), {"y": made.output}), _IOS18), tmp_path / "p.mlpackage")
    back = read(tmp_path / "p.mlpackage").function.nodes[0].inputs
    for name, value in kept.items():
        assert (back[name].dtype, back[name].shape) == (value.dtype, value.shape)
        same = value.data if isinstance(value.data, str) else value.data.tobytes()
        assert (back[name].data if isinstance(back[name].data, str) else back[name].data.tobytes()) == same


@pytest.mark.parametrize("function", [linear(), fit_interface(every_kind(), _IOS18), _stateful()])
def test_what_is_written_is_read_back(tmp_path: Path, function: Function) -> None:
    write(package_of(function, _IOS18), tmp_path / "p.mlpackage")
    package = read(tmp_path / "p.mlpackage")
    verify(package.function)
    assert package.interfaces == {"main": describe(function)}
    assert package.specification_version == 9
    sorted_inputs = tuple(replace(each, inputs=dict(sorted(each.inputs.items()))) for each in function.nodes)
    assert render(package.function) == render(replace(function, nodes=sorted_inputs))
    first = {name: (tmp_path / "p.mlpackage" / name).read_bytes() for name in write(package, tmp_path / "p.mlpackage")}
    write(read(tmp_path / "p.mlpackage"), tmp_path / "q.mlpackage")
    assert {name: (tmp_path / "q.mlpackage" / name).read_bytes() for name in first} == first


def test_weights_of_float32_are_stored_as_the_graph_says(tmp_path: Path) -> None:
    x = Value("x", float16, (20,))
    data = np.linspace(0, 1, 20, dtype=np.float32)
    weight = replace(const(data, "weight"), dtype=float16)
    made = node("add", "y", (20,), float16, x=x, y=weight)
    write(package_of(Function("main", (x,), (made,), {"y": made.output}), _IOS18), tmp_path / "p.mlpackage")
    back = read(tmp_path / "p.mlpackage").function.nodes[0].inputs["y"]
    np.testing.assert_array_equal(back.data, data.astype(np.float16))


def test_flexible_shapes_and_several_functions(tmp_path: Path) -> None:
    x = Value("x", float32, (1, None))
    made = node("relu", "y", (1, None), x=x)
    flexible = Function("longer", (x,), (made,), {"y": made.output})
    ranged = Feature("x", float32, (1, 4), ranges=((1, 1), (1, 16)), description="any length")
    chosen = Feature("x", float32, (2, 3), choices=((2, 3), (4, 3)), is_optional=True)
    output = (Feature("y", float32, ()),)
    package = PackagedModel(
        functions={"longer": flexible, "fixed": replace(linear(), name="fixed")},
        interfaces={"longer": Interface((ranged,), output), "fixed": Interface((chosen,), describe(linear()).outputs)},
        main="fixed",
        specification_version=9,
        metadata=Metadata(),
    )
    write(package, tmp_path / "p.mlpackage")
    back = read(tmp_path / "p.mlpackage")
    assert (back.main, list(back.functions)) == ("fixed", ["longer", "fixed"])
    assert back.interfaces == package.interfaces
    assert back.functions["longer"].inputs[0].shape == (1, None)
    assert back.functions["longer"].outputs["y"].shape == (1, None)


_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from test_writing import _stateful, linear, every_kind, fit_interface, package_of, write, _IOS18, Metadata
made = [linear(), _stateful(), fit_interface(every_kind(), _IOS18)]
for number, function in enumerate(made):
    notes = Metadata(user_defined={key: "x" for key in {"one", "two", "three", "four"}})
    print(write(package_of(function, _IOS18, notes), f"{sys.argv[2]}/{number}.mlpackage"))
"""


def test_same_bytes_in_other_processes_and_places(tmp_path: Path) -> None:
    printed = set()
    for seed, zone, language in (("0", "UTC", "C"), ("1", "Asia/Tokyo", "de_DE.UTF-8"), ("4242", "America/Lima", "C")):
        folder = tmp_path / seed
        folder.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        command = [sys.executable, "-c", _PROGRAM, str(Path(__file__).parent), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, cwd=Path.cwd())
        printed.add(done.stdout)
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (replace(linear(), outputs={"other": linear().outputs["z"]}), "output other is %z"),
        (replace(linear(), inputs=(Value("a b", float32, (2, 3)),)), "is no identifier, or is taken"),
        (replace(linear(), inputs=(Value("y", float32, (2, 3)),)), "is no identifier, or is taken"),
    ],
)
def test_function_that_was_not_fitted_is_refused(tmp_path: Path, function: Function, message: str) -> None:
    with pytest.raises(InternalError) as caught:
        write(package_of(function, _IOS18), tmp_path / "p.mlpackage")
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dtype", [DType("bool", "bool", "b", 8), DType("int16", "int16", "i", 16)])
def test_interface_without_a_number_is_refused(tmp_path: Path, dtype: DType) -> None:
    x = Value("x", dtype, (2,))
    made = node("identity", "y", (2,), int32, x=x)
    with pytest.raises(InternalError, match=f"the interface of a package has no {dtype.name}"):
        write(package_of(Function("main", (x,), (made,), {"y": made.output}), _IOS18), tmp_path / "p.mlpackage")


def test_older_package_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(linear(), _IOS18), path)
    (path / "stale.txt").write_text("stale")
    assert (path / _WEIGHTS).exists()
    write(package_of(_stateful(), _IOS18), path)
    assert sorted(os.listdir(path)) == ["Data", "Manifest.json"]
    assert not (path / _WEIGHTS).exists()
    assert os.listdir(tmp_path) == ["p.mlpackage"]


def test_failed_write_leaves_the_older_package(tmp_path: Path) -> None:
    path = tmp_path / "p.mlpackage"
    digests = write(package_of(linear(), _IOS18), path)
    with pytest.raises(InternalError):
        write(package_of(replace(linear(), outputs={"other": linear().outputs["z"]}), _IOS18), path)
    assert {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in digests} == digests
    assert os.listdir(tmp_path) == ["p.mlpackage"]


def test_foreign_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/thesis.txt").write_text("years")
    with pytest.raises(PackageError, match=r"a folder that is no package is in the way\. Choose another path\."):
        write(package_of(linear(), _IOS18), tmp_path / "precious")
    assert (tmp_path / "precious/thesis.txt").read_text() == "years"


def test_foreign_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_text("weights")
    with pytest.raises(PackageError, match=r"a file that is no package is in the way\."):
        write(package_of(linear(), _IOS18), tmp_path / "model.pt")
    assert (tmp_path / "model.pt").read_text() == "weights"


def test_file_system_that_cannot_exchange_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(linear(), _IOS18), path)
    monkeypatch.setattr(placing, "_exchange", lambda first, second: False)
    write(package_of(_stateful(), _IOS18), path)
    assert read(path).outputs[0].name == "output_1"
    assert os.listdir(tmp_path) == ["p.mlpackage"]


def test_package_that_a_killed_write_had_moved_aside_comes_back(tmp_path: Path) -> None:
    write(package_of(linear(), _IOS18), tmp_path / "p.mlpackage")
    os.rename(tmp_path / "p.mlpackage", tmp_path / ".p.mlpackage.x1.old.partial")

    def failing() -> None:
        with placed(tmp_path / "p.mlpackage"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        failing()
    assert os.listdir(tmp_path) == ["p.mlpackage"]
    assert read(tmp_path / "p.mlpackage").outputs[0].name == "z"


def test_leftovers_of_other_packages_stay(tmp_path: Path) -> None:
    (tmp_path / ".q.mlpackage.x1.partial").mkdir()
    write(package_of(linear(), _IOS18), tmp_path / "p[1].mlpackage")
    assert sorted(os.listdir(tmp_path)) == [".q.mlpackage.x1.partial", "p[1].mlpackage"]


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PackageError, match="the package cannot be written: File exists"):
        write(package_of(linear(), _IOS18), tmp_path / "file/p.mlpackage")


def test_full_disk_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.mlpackage"
    before = write(package_of(linear(), _IOS18), path)

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(PackageError, match="the package cannot be written: No space left on device"):
        write(package_of(_stateful(), _IOS18), path)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["p.mlpackage"]
    assert write(read(path), tmp_path / "again.mlpackage") == before


_HANGING = """
import sys, time
from pathlib import Path
from lucid.coreml.placing import placed
with placed(Path(sys.argv[1])) as folder:
    (folder / "half").write_text("half")
    print("here", flush=True)
    time.sleep(60)
"""


def test_killed_write_leaves_the_older_package_and_is_cleaned_up(tmp_path: Path) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(linear(), _IOS18), path)
    command = [sys.executable, "-c", _HANGING, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        assert len(os.listdir(tmp_path)) == 2
        write(package_of(linear(), _IOS18), path)  # another's work in progress is left alone
        assert len(os.listdir(tmp_path)) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert read(path).outputs[0].name == "z"
    write(package_of(_stateful(), _IOS18), path)
    assert os.listdir(tmp_path) == ["p.mlpackage"]
    assert read(path).outputs[0].name == "output_1"


def test_interrupted_write_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> None:
        with placed(tmp_path / "p.mlpackage") as folder:
            (folder / "half").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


def test_readers_always_find_a_whole_package(tmp_path: Path) -> None:
    path = tmp_path / "p.mlpackage"
    packages = [package_of(linear(), _IOS18), package_of(_stateful(), _IOS18)]
    write(packages[0], path)
    end = time.monotonic() + 1.0
    failures: list[BaseException] = []

    def keep_writing(package: PackagedModel) -> None:
        try:
            while time.monotonic() < end:
                write(package, path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=keep_writing, args=(package,)) for package in packages]
    for thread in threads:
        thread.start()
    looks = 0
    while time.monotonic() < end:
        assert path.is_dir()
        looks += 1
    for thread in threads:
        thread.join()
    assert failures == []
    assert looks > 100
    assert read(path).outputs[0].name in ("z", "output_1")
    assert os.listdir(tmp_path) == ["p.mlpackage"]
