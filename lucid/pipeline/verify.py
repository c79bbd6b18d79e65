"""Checking a build again, on any machine and without the source model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lucid.coreml.golden.checking import check
from lucid.coreml.golden.fresh import FreshProcess
from lucid.coreml.golden.reference import Reference
from lucid.coreml.golden.verdict import Verdict
from lucid.coreml.package import Package, load
from lucid.coreml.referee import start_referee
from lucid.engines.threads import limited_threads
from lucid.errors import DiffersError, GoldenError, InternalError, LoadError, LucidError, PackageError
from lucid.pipeline.claims import (
    compare_calls,
    compare_checks,
    compare_package,
    compare_spec,
    compare_verdict,
    spec_of,
)
from lucid.pipeline.golden import explain
from lucid.pipeline.manifest import GOLDEN, MANIFEST, read_manifest, strays, tree_digest
from lucid.pipeline.manifest_model import Manifest
from lucid.pipeline.sources import digest
from lucid.pipeline.spec import Spec

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

    The folder holds what the manifest lists and nothing else, every file has its digest, package and golden calls are
    what the manifest says of them, coremltools' own reader accepts the package, and the golden calls give again what
    the original model gave. Raises PackageError for what is missing or cannot be read, DiffersError for what disagrees,
    GoldenError where the package computes something else.
    """
    folder = Path(directory)
    given = folder.name if folder.suffix == ".mlpackage" else None
    folder = folder.parent if given else folder
    place = folder / MANIFEST
    content = read_manifest(place)
    if given not in (None, content.package.path):
        raise DiffersError(f"the manifest is that of {content.package.path}.", where=str(folder / str(given)))
    spec = spec_of(content, place)
    size = _compare_files(folder, content)
    compare_spec(content, spec, place)
    compare_verdict(content, place)
    reference = Reference.read(folder / GOLDEN)
    package = folder / content.package.path
    with FreshProcess() as fresh, limited_threads(), start_referee(package) as referee:
        with load(package) as opened:
            compare_package(content, opened.model, size, place)
            compare_calls(spec, reference, opened.model, folder / GOLDEN)
            verdict = _checked(opened, reference, spec, fresh)
        judgement = referee.wait()
    if not verdict.passed:
        raise GoldenError(explain(verdict, "the package does not do what the model does"), where=str(package))
    compare_checks(content, verdict, place)
    checks = {
        "files": f"{len(content.package.files)} files have the digests of the manifest",
        "types": f"coremltools' own reader accepts all {judgement.operations} operations",
        "golden": f"{verdict.calls} calls agree with the original model on this machine",
    }
    return VerifyResult(package, checks)


def _checked(opened: Package, reference: Reference, spec: Spec, fresh: FreshProcess) -> Verdict:
    """Run the golden check; a package that fails on the calls themselves has failed it."""
    tolerances = {name: spec.tolerance(name) for name in (*opened.output_names, *opened.state_names)}
    where = str(opened.path)
    try:
        return check(opened, reference, tolerances=tolerances, fresh=fresh)
    except (PackageError, InternalError):
        raise
    except LucidError as error:
        raise GoldenError(f"the package cannot run the golden calls: {error}", where=where) from error


def _compare_files(folder: Path, content: Manifest) -> int:
    """Compare the folder of a build with its manifest, file by file; return the bytes of the package's files."""
    package, files = folder / content.package.path, content.package.files
    if not package.is_dir():
        raise PackageError("there is no package. The manifest names one.", where=str(package))
    if tree_digest(files) != content.package.tree:
        raise DiffersError(
            "the digests of the files do not add up to the digest of the tree.", where=str(folder / MANIFEST)
        )
    try:
        for name in strays(folder, content):
            kind = "folder" if (folder / name).is_dir() else "file"
            raise DiffersError(f"the {kind} is not part of the build.", where=str(folder / name))
    except OSError as error:
        raise PackageError(f"the folder cannot be read: {error.strerror}.", where=str(folder)) from None
    for name, recorded in sorted(files.items()):
        if not (package / name).is_file():
            raise DiffersError("the file is missing.", where=str(package / name))
        _compare_digest(package / name, recorded)
    if content.golden.path != GOLDEN:
        raise DiffersError(f"golden.path is {content.golden.path}, expected {GOLDEN}.", where=str(folder / MANIFEST))
    if not (folder / GOLDEN).exists():
        raise DiffersError("there are no golden calls. The manifest names them.", where=str(folder / GOLDEN))
    _compare_digest(folder / GOLDEN, content.golden.sha256)
    return sum((package / name).stat().st_size for name in files)


def _compare_digest(path: Path, recorded: str) -> None:
    try:
        found = digest(path)
    except LoadError as error:
        raise PackageError(error.message, where=str(path)) from None
    if found != recorded:
        raise DiffersError(f"the file has digest {found}, the manifest says {recorded}.", where=str(path))
