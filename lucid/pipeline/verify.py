"""Checking a build again, on any machine and without the source model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lucid.coreml.golden.checking import check
from lucid.coreml.golden.fresh import FreshProcess
from lucid.coreml.golden.reference import Reference
from lucid.coreml.package import load
from lucid.coreml.referee import start_referee
from lucid.engines.threads import limited_threads
from lucid.errors import DiffersError, GoldenError, PackageError
from lucid.pipeline.build import GOLDEN, MANIFEST
from lucid.pipeline.golden import explain
from lucid.pipeline.manifest import read_manifest, tree_digest
from lucid.pipeline.sources import digest
from lucid.tolerance import Tolerance

__all__ = ["VerifyResult", "verify"]


@dataclass(frozen=True)
class VerifyResult:
    """What was compared, and what came of it in a few words."""

    package: Path
    checks: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {"package": str(self.package), "checks": dict(self.checks)}


def verify(directory: str | Path) -> VerifyResult:
    """Check the build in `directory` (or the build of the ``.mlpackage`` given) against its manifest.

    Every file has the digest that the manifest records, coremltools' own reader accepts the package, and the golden
    calls give again what the original model gave. Raises DiffersError, PackageError or GoldenError.
    """
    folder = Path(directory)
    folder = folder.parent if folder.suffix == ".mlpackage" else folder
    content = read_manifest(folder / MANIFEST)
    package, golden = folder / content.package.path, content.golden
    tolerances = {name: Tolerance(each.atol, each.rtol) for name, each in {**golden.outputs, **golden.states}.items()}
    if package.parent != folder:
        raise PackageError("the manifest names a package outside of its folder.", where=str(folder / MANIFEST))
    _compare_files(package, content.package.files, content.package.tree)
    found = digest(folder / GOLDEN) if (folder / GOLDEN).is_file() else None
    if found != golden.sha256:
        raise DiffersError(
            f"the golden calls have digest {found}, the manifest says {golden.sha256}.", where=str(folder / GOLDEN)
        )
    with FreshProcess() as fresh, limited_threads(), start_referee(package) as referee:
        with load(package) as opened:
            verdict = check(opened, Reference.read(folder / GOLDEN), tolerances=tolerances, fresh=fresh)
        judgement = referee.wait()
    if not verdict.passed:
        raise GoldenError(explain(verdict), where=str(package))
    checks = {
        "files": f"{len(content.package.files)} files have the digests of the manifest",
        "types": f"coremltools' own reader accepts all {judgement.operations} operations",
        "golden": f"{verdict.calls} calls agree with the original model on this machine",
    }
    return VerifyResult(package, checks)


def _compare_files(package: Path, recorded: Mapping[str, str], tree: str) -> None:
    if not package.is_dir():
        raise PackageError("there is no package. The manifest names one.", where=str(package))
    if tree_digest(recorded) != tree:
        raise DiffersError(
            "the digests of the files do not add up to the digest of the tree.", where=str(package.parent / MANIFEST)
        )
    files = {
        path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file() or path.is_symlink()
    }
    for name in sorted({*files, *recorded}):
        if name not in files:
            raise DiffersError("the file is missing.", where=str(package / name))
        if name not in recorded:
            raise DiffersError("the file is not part of the build.", where=str(package / name))
        found = digest(files[name])
        if found != recorded[name]:
            raise DiffersError(
                f"the file has digest {found}, the manifest says {recorded[name]}.", where=str(package / name)
            )
