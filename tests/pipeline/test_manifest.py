"""The manifest of a real build: what it holds, what it must not hold, and what a damaged one leads to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lucid.errors import DiffersError, PackageError
from lucid.pipeline.build import BuildResult, build
from lucid.pipeline.manifest import read_manifest, tree_digest
from lucid.pipeline.manifest_model import Manifest, schema_text
from lucid.pipeline.verify import verify


@pytest.fixture
def built(project: Path) -> BuildResult:
    return build(project / "total.toml")


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every plain value of JSON data with its path."""
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(each, (*path, str(key)))
    else:
        yield path, value


def content_of(result: BuildResult) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((result.directory / "manifest.json").read_text("utf-8"))
    return content


def test_the_written_manifest_is_what_the_build_returns(built: BuildResult) -> None:
    text = (built.directory / "manifest.json").read_text("utf-8")
    assert Manifest.model_validate_json(text, strict=True) == built.manifest
    assert read_manifest(built.directory / "manifest.json") == built.manifest
    assert built.as_json()["manifest"] == json.loads(text)


def test_it_describes_the_package(built: BuildResult, project: Path) -> None:
    content = content_of(built)
    package = content["package"]
    assert package["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 4]}]
    assert package["outputs"] == [{"name": "scaled", "dtype": "float32", "shape": [1, 4]}]
    assert package["states"] == [{"name": "total", "dtype": "float16", "shape": [1, 4]}]
    assert (package["opset"], package["deployment_target"]) == ("CoreML8", "iOS18")
    files = {path.relative_to(built.package).as_posix(): path for path in built.package.rglob("*") if path.is_file()}
    assert package["files"] == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    assert package["size"] == sum(path.stat().st_size for path in files.values()) == built.size
    lines = "".join(f"{package['files'][name]}  {name}\n" for name in sorted(files))
    assert package["tree"] == hashlib.sha256(lines.encode()).hexdigest() == built.sha256


def test_it_names_the_sources_and_the_spec(built: BuildResult, project: Path) -> None:
    source = content_of(built)["source"]
    assert source["files"] == {"total.py": hashlib.sha256((project / "total.py").read_bytes()).hexdigest()}
    assert source["spec_sha256"] == hashlib.sha256((project / "total.toml").read_bytes()).hexdigest()
    assert source["weights_sha256"] is None
    assert source["spec"]["golden"]["calls"] == 4
    assert source["spec"]["lowering"]["precision"] == "float16"


def test_it_holds_the_verdict_of_every_call(built: BuildResult) -> None:
    golden = content_of(built)["golden"]
    assert golden["passed"] is True
    assert golden["calls"] == 4
    assert [call["max_abs"] for call in golden["outputs"]["scaled"]["calls"]] == [0.0] * 4  # small whole numbers
    assert len(golden["states"]["total"]["calls"]) == 1
    assert all(point["passed"] for point in golden["checks"].values())
    assert golden["sha256"] == hashlib.sha256((built.directory / "golden.npz").read_bytes()).hexdigest()


def test_only_one_part_differs_between_two_builds(project: Path) -> None:
    first, second = (content_of(build(project / "total.toml", directory=project / name)) for name in ("one", "two"))
    runs = first.pop("run"), second.pop("run")
    assert first == second
    assert all(list(run["stages"]) == ["load", "trace", "pair", "lower", "package", "golden"] for run in runs)
    assert all(run["seconds"] > 0 for run in runs)


def test_no_path_of_this_machine_is_outside_that_part(built: BuildResult, project: Path) -> None:
    content = content_of(built)
    del content["run"]
    found = [path for path, value in leaves(content) if isinstance(value, str) and str(project.parent) in value]
    assert found == []


def test_the_published_schema_fits_a_real_manifest(built: BuildResult) -> None:
    schema = json.loads(schema_text())
    unfit = list(faults(content_of(built), schema, schema["$defs"]))
    assert unfit == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("manifest",), 2),
        (("package", "tree"), "0" * 63),
        (("package", "size"), -1),
        (("package", "inputs", 0, "shape"), "wide"),
        (("golden", "outputs", "scaled", "atol"), 0),
        (("golden", "outputs", "scaled", "calls", 0, "fault"), None),
        (("unknown",), 1),
    ],
)
def test_schema_and_reader_refuse_the_same(built: BuildResult, path: tuple[str | int, ...], value: object) -> None:
    content = content_of(built)
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    schema = json.loads(schema_text())
    assert list(faults(content, schema, schema["$defs"])) != []
    (built.directory / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(PackageError):
        read_manifest(built.directory / "manifest.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the manifest cannot be read: "),
        ("[]", "the manifest has format list, expected 1. Build again with this lucid."),
        ('{"manifest": 2}', "the manifest has format 2, expected 1. Build again with this lucid."),
        ('{"manifest": 1}', "the manifest is not whole: package is missing. Build again."),
    ],
)
def test_a_damaged_manifest_is_named(built: BuildResult, text: str, message: str) -> None:
    path = built.directory / "manifest.json"
    path.write_text(text)
    with pytest.raises(PackageError, match=re.escape(message)) as caught:
        verify(built.directory)
    assert caught.value.where == str(path)


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="there is no manifest"):
        verify(tmp_path)


def test_a_manifest_that_names_another_place_is_refused(built: BuildResult) -> None:
    content = content_of(built)
    content["package"]["path"] = "../other.mlpackage"
    (built.directory / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(PackageError, match="outside of its folder"):
        verify(built.directory)


def test_digests_that_do_not_add_up_are_refused(built: BuildResult) -> None:
    content = content_of(built)
    content["package"]["tree"] = "0" * 64
    (built.directory / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(DiffersError, match="do not add up"):
        verify(built.directory)


def test_the_digest_of_a_tree_depends_on_names_and_contents_alone() -> None:
    one = {"a": "0" * 64, "b": "1" * 64}
    assert tree_digest(one) == tree_digest(dict(reversed(one.items())))
    assert tree_digest(one) != tree_digest({"a": "1" * 64, "b": "0" * 64})


def faults(value: Any, schema: dict[str, Any], definitions: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield where `value` does not fit a JSON schema: the keywords that the published one uses, and no others."""
    known = {"$defs", "$schema", "title", "description", "$ref", "anyOf", "type", "const", "pattern", "minimum"}
    known |= {"exclusiveMinimum", "items", "properties", "required", "additionalProperties"}
    assert set(schema) <= known, set(schema) - known
    if "$ref" in schema:
        yield from faults(value, definitions[schema["$ref"].rpartition("/")[2]], definitions, path)
    if "anyOf" in schema and all(any(faults(value, each, definitions)) for each in schema["anyOf"]):
        yield f"{path}: fits none"
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
             "null": type(None)}  # fmt: skip
    if "type" in schema:
        fits = isinstance(value, kinds[schema["type"]])
        if not fits or (isinstance(value, bool) and schema["type"] in ("integer", "number")):
            yield f"{path}: not {schema['type']}"
            return
    if "const" in schema and value != schema["const"]:
        yield f"{path}: not {schema['const']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: no match"
    if value is not None and ("minimum" in schema or "exclusiveMinimum" in schema):
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        if value < low or ("exclusiveMinimum" in schema and value == low):
            yield f"{path}: too small"
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from faults(each, schema.get("items", {}), definitions, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (f"{path}.{key}: missing" for key in schema.get("required", []) if key not in value)
        for key, each in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", True))
            if inner is False:
                yield f"{path}.{key}: unknown"
            elif isinstance(inner, dict):
                yield from faults(each, inner, definitions, f"{path}.{key}")
