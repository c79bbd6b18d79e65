"""What the values of a graph look like on example calls: their ranges, and a few numbers to compare with later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.engines.plan import Plan
from lucid.graph import Constant, Function, Value, arguments

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Profile", "profile", "sampled"]

_SAMPLED = 64
_KEPT = 200_000
_MOVING = ("expand_dims", "reshape", "slice_by_index", "slice_by_size", "slice_update", "squeeze", "transpose")


@dataclass(frozen=True)
class Profile:
    """``peak``: the largest finite magnitude of each value; ``samples``: up to 64 of its numbers, per call."""

    peak: Mapping[str, float] = field(default_factory=dict)
    samples: Sequence[Mapping[str, NDArray[Any]]] = ()


def sampled(array: NDArray[Any]) -> NDArray[Any]:
    """Return up to 64 numbers of an array, from places that depend on its size alone."""
    flat = array.reshape(-1)
    return flat[:: max(1, -(-flat.size // _SAMPLED))].astype(np.float64)


def _peak(array: NDArray[Any]) -> float:
    """Return the largest finite magnitude of an array that is not empty."""
    ends = float(array.max()), float(array.min())
    if np.isfinite(ends).all():
        return max(abs(end) for end in ends)
    finite = array[np.isfinite(array)]
    return float(np.abs(finite.astype(np.float64)).max()) if finite.size else 0.0


def _known(source: Value, peak: Mapping[str, float]) -> float:
    if isinstance(source, Constant) and not isinstance(source.data, str) and source.data.size:
        return _peak(source.data)
    return peak.get(source.name, 0.0)


def profile(
    function: Function, calls: Sequence[Mapping[str, NDArray[Any]]], advance: Callable[[int], None] | None = None
) -> Profile:
    """Run a pure graph over several calls, carrying its pairs from zero, and return what its values look like.

    `advance` is told after each call how many are done. Samples are kept of the first calls only, if there are many.
    """
    plan = Plan(function)
    moved = {value for node in function.nodes if node.op in _MOVING for value in node.outputs}
    peak: dict[str, float] = {}
    samples: list[dict[str, NDArray[Any]]] = []

    def observe(value: Value, array: NDArray[Any]) -> None:
        if array.size == 0 or array.dtype.kind == "b" or value in moved:
            return
        peak[value.name] = max(peak.get(value.name, 0.0), _peak(array))
        if len(samples) * len(function.nodes) < _KEPT:
            samples[-1][value.name] = sampled(array)

    carried = {
        pair.input.name: np.zeros([size or 0 for size in pair.input.shape], pair.input.dtype.numpy)
        for pair in function.pairs
    }
    for index, call in enumerate(calls):
        samples.append({})
        inputs = {value.name: call[value.name] for value in function.inputs if value.name not in carried} | carried
        for value in function.inputs:
            observe(value, np.asarray(inputs[value.name]))
        outputs = plan.run(inputs, observe=observe)
        carried = {pair.input.name: outputs[pair.output] for pair in function.pairs}
        if advance is not None:
            advance(index + 1)
    for node in function.nodes:  # what was only moved has the peak of what it was moved from
        if node.op in _MOVING:
            sources = [source for source in arguments(node) if source.dtype == node.output.dtype]
            peak[node.output.name] = max((_known(source, peak) for source in sources), default=0.0)
    return Profile(peak, tuple(samples))
