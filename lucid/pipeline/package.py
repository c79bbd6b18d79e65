"""Stage 5: the package on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lucid.coreml.exporting import assemble
from lucid.coreml.golden.reference import Reference
from lucid.coreml.options import ComputeUnits, DeploymentTarget, Metadata, State
from lucid.coreml.packaged import Interface
from lucid.coreml.profile import Profile
from lucid.coreml.writing import write
from lucid.pipeline.lower import Lowered
from lucid.pipeline.spec import Spec

__all__ = ["Packaged", "package"]


@dataclass(frozen=True)
class Packaged:
    """The written package, without its weights in memory: path, digests of its files, interface."""

    path: Path
    files: Mapping[str, str]
    interface: Interface
    operations: int
    seen: Profile
    kept: tuple[str, ...]
    reference: Reference
    sources: Mapping[str, str]
    weights: str | None


def package(lowered: Lowered, spec: Spec, folder: Path) -> Packaged:
    """Write ``<name>.mlpackage`` into `folder`."""
    about = spec.package
    metadata = Metadata(about.description, about.author, about.license, about.version)
    states = [State(state.input, state.output) for state in spec.states]
    target = DeploymentTarget.parse(spec.lowering.deployment_target)
    units = ComputeUnits.parse(spec.lowering.compute_units)
    model = assemble(lowered.function, states, target, metadata, units)
    path = folder / f"{about.name}.mlpackage"
    files = write(model, path)
    return Packaged(
        path,
        files,
        model.interfaces[model.main],
        len(model.function.nodes),
        lowered.seen,
        lowered.kept,
        _by_interface(lowered.reference, model.interfaces[model.main]),
        lowered.sources,
        lowered.weights,
    )


def _by_interface(reference: Reference, interface: Interface) -> Reference:
    """Return the reference with its outputs in the order of the package."""
    names = [feature.name for feature in interface.outputs]
    return replace(
        reference, outputs=[{name: each[name] for name in names if name in each} for each in reference.outputs]
    )
