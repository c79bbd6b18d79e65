"""Whether tensors are known when a program is made: some of Core ML's operations ask that of their weights."""

from __future__ import annotations

from lucid.tensor import Tensor
from lucid.tracing import current_trace

__all__ = ["are_constant"]


def are_constant(*tensors: Tensor | None) -> bool:
    """Return whether no tensor depends on an input of the trace that is being recorded, if one is."""
    trace = current_trace()
    return trace is None or not any(trace.depends_on_inputs(tensor) for tensor in tensors if tensor is not None)
