"""Stage 2: the model as a pure graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lucid.capture import capture
from lucid.coreml.golden.reference import Reference
from lucid.graph import Function
from lucid.pipeline.load import Loaded
from lucid.pipeline.sources import on_stage
from lucid.pipeline.spec import Spec

__all__ = ["Traced", "trace"]


@dataclass(frozen=True)
class Traced:
    """The graph of the model, free of the model itself."""

    function: Function
    reference: Reference
    sources: Mapping[str, str]
    weights: str | None


def trace(loaded: Loaded, spec: Spec) -> Traced:
    """Record the model on the inputs of the first call, or refuse what a graph cannot carry."""
    example = {**loaded.reference.calls[0], **loaded.initial}
    names = [output.name for output in spec.outputs] or None
    with on_stage():
        captured = capture(loaded.model, example, outputs=names)
    return Traced(captured.function, loaded.reference, loaded.sources, loaded.weights)
