"""Stage 3: the spec's states as pairs of the graph."""

from __future__ import annotations

from dataclasses import replace

from lucid.coreml.exporting import pair as paired
from lucid.coreml.options import DeploymentTarget, State
from lucid.pipeline.spec import Spec
from lucid.pipeline.trace import Traced

__all__ = ["pair"]


def pair(traced: Traced, spec: Spec) -> Traced:
    """Return the graph with the pairs that the spec declares. Raises StateError where one breaks a rule."""
    states = [State(state.input, state.output) for state in spec.states]
    target = DeploymentTarget.parse(spec.lowering.deployment_target)
    return replace(traced, function=paired(traced.function, states, target))
