"""Stage 4: the graph at the precision that the spec asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lucid.coreml.golden.reference import Reference
from lucid.coreml.lowering import lower as lowered
from lucid.coreml.options import Precision
from lucid.coreml.profile import Profile, profile
from lucid.dtypes import float32
from lucid.errors import SpecError, UsageError
from lucid.graph import Function
from lucid.pipeline.spec import Spec
from lucid.pipeline.trace import Traced

__all__ = ["Lowered", "lower"]


@dataclass(frozen=True)
class Lowered:
    """The graph as it will be packaged, and what the values of the original graph look like on the golden calls."""

    function: Function
    seen: Profile
    kept: tuple[str, ...]
    reference: Reference
    sources: Mapping[str, str]
    weights: str | None


def lower(traced: Traced, spec: Spec, advance: Callable[[int], None] | None = None) -> Lowered:
    """Lower the graph; values that float16 cannot hold on the golden calls stay float32.

    Raises SpecError for a pattern of ``lowering.float32`` that names no value.
    """
    precision = Precision.parse(spec.lowering.precision)
    interface = Precision.parse(spec.lowering.interface) if spec.lowering.interface else None
    seen = profile(traced.function, traced.reference.calls, advance)
    try:
        function = lowered(traced.function, precision, seen=seen, keep=spec.lowering.float32, interface=interface)
    except UsageError as error:
        raise SpecError(error.message, where=f"{spec.path}: lowering.float32") from None
    kept: tuple[str, ...] = ()
    if precision is Precision.FLOAT16:
        kept = tuple(
            node.output.name
            for node in function.nodes
            if node.op != "cast" and node.outputs and node.outputs[0].dtype == float32
        )
    return Lowered(function, seen, kept, traced.reference, traced.sources, traced.weights)
