"""Verifying a build: every claim of its manifest, each golden call that is stored, and what is there besides."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lucid.errors import DiffersError, GoldenError, LucidError, PackageError
from lucid.pipeline.build import build
from lucid.pipeline.verify import verify

Arrays = dict[str, np.ndarray]


@pytest.fixture
def built(project: Path) -> Path:
    return build("total.toml").directory


def edit(folder: Path, path: tuple[str | int, ...], value: object) -> None:
    """Replace one value of a manifest."""
    content = json.loads((folder / "manifest.json").read_text("utf-8"))
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(content), "utf-8")


def refused(folder: Path) -> LucidError:
    with pytest.raises(LucidError) as caught:
        verify(folder)
    return caught.value


FALSE_CLAIMS: list[tuple[tuple[str | int, ...], object, str]] = [
    (("package", "inputs", 0, "name"), "y", "package.inputs is y float32 (1, 4), the package has x float32 (1, 4)."),
    (("package", "inputs", 0, "shape"), [4, 1], "package.inputs is x float32 (4, 1), the package has x float32 (1, 4)"),
    (("package", "outputs", 0, "dtype"), "int32", "package.outputs is scaled int32 (1, 4), the package has scaled flo"),
    (("package", "states"), [], "package.states is none, the package has total float16 (1, 4)."),
    (("package", "size"), 1, "package.size is 1, the package has "),
    (("package", "operations"), 1, "package.operations is 1, the package has "),
    (("package", "opset"), "CoreML7", "package.opset is CoreML7, the package has CoreML8."),
    (("package", "deployment_target"), "iOS17", "package.deployment_target is iOS17, the spec has iOS18."),
    (("package", "float32"), ["mul"], "package.float32 names mul, which is float16 there."),
    (("source", "spec", "package", "name"), "other", "package.path is total.mlpackage, the spec has other.mlpackage."),
    (("source", "spec", "golden", "calls"), 5, "golden.calls is 4, the spec has 5."),
    (("golden", "path"), "other.npz", "golden.path is other.npz, expected golden.npz."),
    (("golden", "passed"), False, "golden.passed is that of a check that failed"),
    (("golden", "departure"), "call 1", "golden.departure is that of a check that failed"),
    (("golden", "calls"), 3, "golden.calls is 4, the check has 3."),
    (("golden", "engine"), "coreml", "golden.engine is coreml, the check has numpy."),
    (("golden", "outputs"), {}, "golden.outputs is none, the package has scaled."),
    (("golden", "states"), {}, "golden.states is none, the package has total."),
    (("golden", "outputs", "scaled", "atol"), 100.0, "golden.outputs.scaled.atol is 100.0, the spec has 0.01."),
    (("golden", "states", "total", "rtol"), 1e-9, "golden.states.total.rtol is 1e-09, the spec has 0.01."),
    (("golden", "outputs", "scaled", "passed"), False, "golden.outputs.scaled is that of a check that failed"),
    (("golden", "outputs", "scaled", "calls", 1, "fault"), "off", "golden.outputs.scaled is that of a check that fa"),
    (("golden", "outputs", "scaled", "calls"), [], "golden.outputs.scaled.calls is 0, the check has 4."),
    (("golden", "checks", "reset", "passed"), False, "golden.checks.reset is that of a check that failed"),
    (("golden", "checks"), {}, "golden.checks is none, the check has "),
]


def test_a_false_claim_is_found(built: Path) -> None:
    assert list(verify(built).checks) == ["files", "types", "golden"]
    manifest = built / "manifest.json"
    whole = manifest.read_bytes()
    for path, value, message in FALSE_CLAIMS:
        manifest.write_bytes(whole)
        edit(built, path, value)
        error = refused(built)
        assert (type(error), error.code) == (DiffersError, 8), path
        if path == ("golden", "calls"):
            message = "golden.calls is 3, the spec has 4."
        assert error.message.startswith(message), path


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("manifest",), True, "the manifest has format true, expected 1."),
        (("manifest",), 1.0, "the manifest has format 1.0, expected 1."),
        (("manifest",), "1", 'the manifest has format "1", expected 1.'),
        (("package", "size"), "1", "the manifest is not whole: package.size is not valid: "),
        (("golden", "passed"), 1, "the manifest is not whole: golden.passed is not valid: "),
        (("golden", "outputs", "scaled", "atol"), float("nan"), "the manifest is not whole: "),
        (("package", "path"), "..", "the manifest names a package outside of its folder."),
        (("package", "path"), "/total.mlpackage", "the manifest names a package outside of its folder."),
        (("source", "spec"), {}, "the manifest is not whole: source.spec.lucid is not valid: Field required."),
        (("source", "spec", "golden", "atol"), -1, "the manifest is not whole: source.spec.golden.atol is not valid"),
    ],
)
def test_a_damaged_manifest_is_refused(built: Path, path: tuple[str, ...], value: object, message: str) -> None:
    edit(built, path, value)
    error = refused(built)
    assert (type(error), error.code) == (PackageError, 7)
    assert error.message.startswith(message)
    assert error.where == str(built / "manifest.json")


def without(key: str) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.__delitem__(key)


def with_(key: str, array: Any) -> Callable[[Arrays], None]:
    return lambda arrays: arrays.__setitem__(key, np.asarray(array))


FLOATS = np.ones((1, 4), np.float32)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (without("call/1/x"), PackageError, "call has the numbers 0, 2, 3, expected 0 to 2"),
        (without("output/3/scaled"), PackageError, "output has the numbers 0, 1, 2, expected 0 to 3"),
        (without("state/total"), DiffersError, "states of the last call: the golden calls hold none, expected total."),
        (with_("call/0/z", FLOATS), DiffersError, "call 0: the golden calls hold x, z, expected x."),
        (with_("call/1/x", FLOATS.T), DiffersError, "call 1, input x: the golden calls hold float32 (4, 1), exp"),
        (with_("call/1/x", FLOATS.astype("c8")), PackageError, "'call/1/x' is not an array of numbers"),
        (with_("call/1/x", FLOATS.astype("f8")), DiffersError, "the golden calls hold float64 (1, 4), expected"),
        (with_("call/1/x", FLOATS > 0), DiffersError, "the golden calls hold bool (1, 4), expected float32 (1, 4)."),
        (with_("output/1/scaled", FLOATS[0]), DiffersError, "call 1, output scaled: the golden calls hold float32 (4"),
        (with_("output/1/scaled", FLOATS > 0), DiffersError, "output scaled: the golden calls hold bool (1, 4)"),
        (with_("state/total", FLOATS.T), DiffersError, "the last call, state total: the golden calls hold float32 (4,"),
        (with_("output/2/other", FLOATS), DiffersError, "outputs of call 2: the golden calls hold other, scaled, exp"),
        (with_("note", FLOATS), PackageError, "the golden calls are not whole: 'note' is none of"),
        (lambda arrays: arrays.clear(), DiffersError, "the golden calls hold 0 calls, the manifest says 4."),
        (with_("output/1/scaled", FLOATS * 99), GoldenError, "output scaled, call 1: 2.0 at (0, 0), the reference has"),
    ],
)  # fmt: skip
def test_golden_calls_that_do_not_fit(
    built: Path, change: Callable[[Arrays], None], error: type[LucidError], message: str
) -> None:
    """The manifest has the digest of the changed file, so that only its content can tell."""
    with np.load(built / "golden.npz") as archive:
        arrays = {key: archive[key] for key in archive.files}
    change(arrays)
    np.savez(built / "golden.npz", **arrays)  # type: ignore[arg-type]  # names are data
    edit(built, ("golden", "sha256"), hashlib.sha256((built / "golden.npz").read_bytes()).hexdigest())
    found = refused(built)
    assert type(found) is error
    assert message in found.message
    assert "is not kept" not in found.message


def test_missing_golden_calls(built: Path) -> None:
    (built / "golden.npz").unlink()
    with pytest.raises(DiffersError, match=re.escape("golden.npz: there are no golden calls. The manifest names them")):
        verify(built)
    (built / "golden.npz").mkdir()
    with pytest.raises(PackageError, match=r"golden\.npz: the file cannot be read: Is a directory"):
        verify(built)


def test_golden_calls_that_are_no_archive(built: Path) -> None:
    (built / "golden.npz").write_bytes(b"garbage")
    edit(built, ("golden", "sha256"), hashlib.sha256(b"garbage").hexdigest())
    with pytest.raises(PackageError, match=r"the golden calls cannot be read: this is not an \.npz archive"):
        verify(built)


def test_what_is_there_besides(built: Path) -> None:
    for name, kind in (("notes.txt", "file"), ("total.mlpackage/Data/extra", "file"), ("empty", "folder"),
                       ("total.mlpackage/Data/empty", "folder")):  # fmt: skip
        path = built / name
        path.mkdir() if kind == "folder" else path.touch()
        with pytest.raises(DiffersError, match=f"{name}: the {kind} is not part of the build"):
            verify(built)
        path.rmdir() if kind == "folder" else path.unlink()
    assert verify(built / "total.mlpackage").package == built / "total.mlpackage"


def test_another_package_beside_the_manifest(built: Path) -> None:
    shutil.copytree(built / "total.mlpackage", built / "copy.mlpackage")
    with pytest.raises(DiffersError, match=r"copy\.mlpackage: the manifest is that of total\.mlpackage"):
        verify(built / "copy.mlpackage")
