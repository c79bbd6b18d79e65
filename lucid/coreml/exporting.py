"""From a model in memory to a package on disk, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lucid.capture import capture
from lucid.coreml.interface import fit_interface
from lucid.coreml.lowering import lower
from lucid.coreml.opset import choose_target, fit_opset
from lucid.coreml.options import ComputeUnits, DeploymentTarget, Metadata, Precision, State
from lucid.coreml.package import Package, load
from lucid.coreml.packaged import PackagedModel, package_of
from lucid.coreml.profile import Profile, profile
from lucid.coreml.record import record
from lucid.coreml.states import check_states, make_stateful
from lucid.coreml.writing import write
from lucid.graph import Function, verify
from lucid.passes import simplify

__all__ = ["assemble", "export", "pair"]


def export(
    model: Callable[..., Any],
    example: object,
    path: str | Path,
    *,
    precision: Precision = Precision.FLOAT16,
    state: Sequence[State] = (),
    compute_units: ComputeUnits = ComputeUnits.ALL,
    minimum_deployment_target: DeploymentTarget | None = None,
    metadata: Metadata | None = None,
    outputs: Sequence[str] | None = None,
    interface: Precision | None = None,
    float32: Sequence[str] = (),
) -> Package:
    """Write `model` as a Core ML package to `path` and open what was written.

    `example` is a tensor, a tuple in the model's argument order, or a mapping by argument name; the model must be in
    ``eval()`` and is left as it was. Outputs are ``output_0``, ``output_1``, … unless the model's return value (a
    mapping, dataclass or NamedTuple) or `outputs` names them. `precision` is that of the body; inputs and outputs keep
    the model's dtypes unless `interface` is FLOAT16. `float32` are glob patterns of module paths that stay float32.
    `minimum_deployment_target` defaults to the oldest release that has every operation used.

    Raises TraceError where the model cannot be run, MutationError and StateError where a graph or Core ML's states
    cannot carry what it does, UnsupportedError where the target cannot, and PackageError where `path` cannot be
    written.
    """
    captured = capture(model, example, outputs=outputs)
    function = pair(captured.function, state, minimum_deployment_target)
    seen = profile(captured.function, [captured.inputs]) if precision is Precision.FLOAT16 else Profile()
    lowered = lower(function, precision, seen=seen, keep=float32, interface=interface)
    package = assemble(lowered, state, minimum_deployment_target, metadata or Metadata(), compute_units)
    write(package, path)
    return load(path)


def pair(function: Function, states: Sequence[State], target: DeploymentTarget | None) -> Function:
    """Return the function with its state pairs. Raises StateError where one breaks a rule of Core ML's states."""
    pairs = check_states(states, function, target or DeploymentTarget.iOS18)
    return verify(replace(function, pairs=pairs))


def assemble(
    function: Function,
    states: Sequence[State],
    target: DeploymentTarget | None,
    metadata: Metadata,
    compute_units: ComputeUnits,
) -> PackagedModel:
    """Turn a lowered graph with pairs into what a package holds: states, a fitting interface, lucid's record."""
    target = target or choose_target(function)
    function = fit_opset(function, target)
    stateful = fit_interface(simplify(make_stateful(function)), target)
    notes = {
        **metadata.user_defined,
        **record(list(function.outputs), states),
        "com.lucid.compute_units": compute_units.value,
    }
    return package_of(verify(stateful), target, replace(metadata, user_defined=notes))
