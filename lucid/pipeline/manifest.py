"""Stage 7: the manifest, which lets anybody repeat or re-check the build."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from lucid.coreml.options import DeploymentTarget
from lucid.coreml.packaged import Feature as PackagedFeature
from lucid.errors import PackageError
from lucid.pipeline.golden import Checked
from lucid.pipeline.manifest_model import FORMAT, Feature, Golden, Manifest, Package, Run, Source, StageCost
from lucid.pipeline.spec import Spec

__all__ = ["GOLDEN", "MANIFEST", "Stage", "manifest", "read_manifest", "strays", "tree_digest", "write_manifest"]

MANIFEST, GOLDEN = "manifest.json", "golden.npz"
_FINDER = ".DS_Store"

_TOOLS = ("lucid-export", "numpy", "coremltools", "protobuf", "safetensors")


@dataclass(frozen=True)
class Stage:
    """What one stage of a build cost: seconds, and the process's peak memory by its end in bytes."""

    name: str
    seconds: float
    peak: int


def manifest(checked: Checked, spec: Spec, golden_digest: str, stages: Sequence[Stage]) -> Manifest:
    """Return the manifest of a finished build."""
    packaged = checked.packaged
    interface = packaged.interface
    return Manifest(
        manifest=FORMAT,
        package=Package(
            path=packaged.path.name,
            files=dict(sorted(packaged.files.items())),
            tree=tree_digest(packaged.files),
            size=sum(file.stat().st_size for file in packaged.path.rglob("*") if file.is_file()),
            operations=packaged.operations,
            opset=DeploymentTarget.parse(spec.lowering.deployment_target).opset,
            deployment_target=spec.lowering.deployment_target,
            inputs=tuple(map(_feature, interface.inputs)),
            outputs=tuple(map(_feature, interface.outputs)),
            states=tuple(map(_feature, interface.states)),
            float32=packaged.kept,
        ),
        source=Source(
            spec=spec.resolved(),
            spec_sha256=spec.digest,
            files=dict(sorted(packaged.sources.items())),
            weights_sha256=packaged.weights,
        ),
        golden=Golden.model_validate({"path": GOLDEN, "sha256": golden_digest, **checked.verdict.to_json()}),
        tools={name: _version(name) for name in _TOOLS},
        run=Run(
            python=platform.python_version(),
            system=platform.platform(),
            seconds=round(sum(stage.seconds for stage in stages), 3),
            stages={stage.name: StageCost(seconds=round(stage.seconds, 3), peak_memory=stage.peak) for stage in stages},
        ),
    )


def _feature(feature: PackagedFeature) -> Feature:
    return Feature(name=feature.name, dtype=feature.dtype.name, shape=feature.shape)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except ModuleNotFoundError:
        return None


def tree_digest(files: Mapping[str, str]) -> str:
    """Return one SHA-256 over the sorted ``digest  path`` lines of a package's files."""
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(files.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def write_manifest(content: Manifest, path: Path) -> None:
    """Write a manifest as JSON, indented, keys in the order of their fields."""
    path.write_text(content.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_manifest(path: Path) -> Manifest:
    """Read a manifest. Raises PackageError where it is missing, damaged, or of another format version."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text)
    except FileNotFoundError:
        raise PackageError(
            "there is no manifest. Build the spec, or give the folder of a build.", where=str(path)
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PackageError(f"the manifest cannot be read: {error}", where=str(path)) from None
    found = content.get("manifest") if isinstance(content, dict) else type(content).__name__
    if type(found) is not int or found != FORMAT:
        shown = json.dumps(found) if isinstance(content, dict) else found
        raise PackageError(
            f"the manifest has format {shown}, expected {FORMAT}. Build again with this lucid.", where=str(path)
        )
    try:
        manifest = Manifest.model_validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"])) or "its JSON"
        fault = "is missing" if first["type"] == "missing" else f"is not valid: {first['msg']}"
        raise PackageError(f"the manifest is not whole: {key} {fault}. Build again.", where=str(path)) from None
    name = manifest.package.path
    if Path(name).name != name or not name.endswith(".mlpackage"):
        raise PackageError("the manifest names a package outside of its folder.", where=str(path))
    return manifest


def strays(folder: Path, content: Manifest) -> list[str]:
    """Return what is in the folder of a build beside what its manifest lists, as sorted paths from there.

    Folders count where nothing listed is in them. What Finder leaves (``.DS_Store``) does not. Raises OSError where
    a folder cannot be read.
    """
    package = content.package.path
    listed = {MANIFEST, GOLDEN, package, *(f"{package}/{name}" for name in content.package.files)}
    listed |= {parent.as_posix() for name in listed for parent in PurePosixPath(name).parents}
    found = []
    pending = [folder]
    while pending:
        for entry in os.scandir(pending.pop()):
            name = Path(entry.path).relative_to(folder).as_posix()
            if name not in listed and entry.name != _FINDER:
                found.append(name)
            elif entry.is_dir(follow_symlinks=False):
                pending.append(Path(entry.path))
    return sorted(found)
