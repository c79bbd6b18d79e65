"""The whole way: spec to checked package, manifest and golden calls, put in place in one step."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lucid.coreml.placing import placed
from lucid.engines.memory import give_back, without_collecting
from lucid.engines.threads import limited_threads
from lucid.errors import PackageError, UsageError
from lucid.pipeline.golden import Checked, Witnesses, golden, witnesses
from lucid.pipeline.load import load
from lucid.pipeline.lower import Lowered, lower
from lucid.pipeline.manifest import GOLDEN, MANIFEST, Stage, manifest, read_manifest, strays, write_manifest
from lucid.pipeline.manifest_model import Manifest
from lucid.pipeline.package import Packaged, package
from lucid.pipeline.pair import pair
from lucid.pipeline.sources import digest
from lucid.pipeline.spec import Spec, read
from lucid.pipeline.trace import trace

__all__ = ["GOLDEN", "MANIFEST", "BuildResult", "build"]

STAGES = ("load", "trace", "pair", "lower", "package", "golden", "manifest")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class BuildResult:
    """A finished build: where it is and what its manifest says."""

    directory: Path
    manifest: Manifest

    @property
    def package(self) -> Path:
        """The ``.mlpackage`` folder."""
        return self.directory / self.manifest.package.path

    @property
    def size(self) -> int:
        """Bytes of all files of the package."""
        return self.manifest.package.size

    @property
    def sha256(self) -> str:
        """Digest of the package's tree."""
        return self.manifest.package.tree

    @property
    def verdict(self) -> str:
        """The golden check in a few words."""
        check = self.manifest.golden
        worst = max((call.max_abs or 0.0 for each in check.outputs.values() for call in each.calls), default=0.0)
        return f"{check.calls} calls agree to {worst:.2g}"

    @property
    def seconds(self) -> float:
        """How long the build took."""
        return self.manifest.run.seconds

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        manifest = self.manifest.model_dump(mode="json")
        return {"directory": str(self.directory), "package": str(self.package), "manifest": manifest}


class _Clock:
    """Measures the stages of one build."""

    def __init__(self, progress: Progress | None) -> None:
        self.stages: list[Stage] = []
        self._progress = progress

    @contextmanager
    def stage(self, name: str, total: int = 0) -> Iterator[Callable[[int], None]]:
        """Time what is inside, and give it the means to say how much of `total` is done."""

        def advance(done: int) -> None:
            if self._progress is not None:
                self._progress(name, done, total)

        advance(0)
        started = time.perf_counter()
        yield advance
        self.stages.append(Stage(name, time.perf_counter() - started, _peak()))


def build(
    spec_path: str | Path, *, directory: str | Path | None = None, progress: Progress | None = None
) -> BuildResult:
    """Build the spec at `spec_path` into `directory` (that of the spec, by default) and return what was built.

    `progress` is called as ``progress(stage, done, total)`` when a stage begins and after
    each of its calls. The folder is replaced in one step at
    the end: a failed, interrupted or killed build leaves what was there. Raises a LucidError for everything that can go
    wrong, UsageError for a folder that holds files no build made.
    """
    spec = read(spec_path)
    place = Path(directory) if directory is not None else spec.directory
    _refuse_foreign(place, spec)
    clock = _Clock(progress)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with placed(place) as folder, limited_threads(), without_collecting(), witnesses() as called:
            content = _build(spec, folder, clock, called)
            _refuse_foreign(place, spec)  # what came there while this took its time
    except OSError as error:
        raise UsageError(
            f"the results cannot be written: {error.strerror or error}. Choose another folder, or make room.",
            where=str(place),
        ) from error
    return BuildResult(place, content)


def _build(spec: Spec, folder: Path, clock: _Clock, called: Witnesses) -> Manifest:
    packaged = _packaged(spec, folder, clock)
    give_back()  # or the model's weights would stay beside the runtime's
    with clock.stage("golden", spec.golden.calls) as advance:
        checked: Checked = golden(packaged, spec, called, advance)
    with clock.stage("manifest"):
        packaged.reference.save(folder / GOLDEN)
        content = manifest(checked, spec, digest(folder / GOLDEN), clock.stages)
    write_manifest(content, folder / MANIFEST)
    return content


def _packaged(spec: Spec, folder: Path, clock: _Clock) -> Packaged:
    """Run the stages that need the weights; when this returns, nothing holds them."""
    lowered = _lowered(spec, clock)
    with clock.stage("package"):
        return package(lowered, spec, folder)


def _lowered(spec: Spec, clock: _Clock) -> Lowered:
    with clock.stage("load", spec.golden.calls) as advance:
        loaded = load(spec, advance)
    with clock.stage("trace"):
        traced = trace(loaded, spec)
    del loaded
    with clock.stage("pair"):
        paired = pair(traced, spec)
    del traced
    with clock.stage("lower", spec.golden.calls) as advance:
        return lower(paired, spec, advance)


def _refuse_foreign(place: Path, spec: Spec) -> None:
    """Refuse to replace a folder that holds anything but an earlier build of this package."""
    blocked = next((parent for parent in place.parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise UsageError(f"{blocked} is not a folder. Choose another place for the results.", where=str(place))
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise UsageError("it is not a folder. Choose another place for the results.", where=str(place))
    if not place.is_dir():
        return
    try:
        foreign = _foreign(place, f"{spec.package.name}.mlpackage")
    except OSError as error:
        raise UsageError(f"the folder cannot be read: {error.strerror}.", where=str(place)) from None
    if foreign:
        raise UsageError(
            f"the folder holds {', '.join(foreign[:3])}, which no build of {spec.package.name} made; a build replaces "
            "the whole folder. Move that away, or set build.directory to another folder.",
            where=str(place),
        )


def _foreign(place: Path, package: str) -> list[str]:
    """Return what a folder holds that its manifest does not list; everything, where that is not one of `package`."""
    try:
        content = read_manifest(place / MANIFEST)
    except PackageError:
        content = None
    if content is None or content.package.path != package:
        return sorted(entry.name for entry in place.iterdir() if entry.name != ".DS_Store")
    return strays(place, content)


def _peak() -> int:
    """Return the largest memory that the process has held so far, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux; its getrusage begins with what the starting process held
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024
