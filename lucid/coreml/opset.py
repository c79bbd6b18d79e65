"""Which deployment target a graph needs, and whether the one asked for has what the graph uses."""

from __future__ import annotations

from collections.abc import Iterator

from lucid import ops
from lucid.coreml.options import DeploymentTarget
from lucid.dtypes import float16
from lucid.errors import UnsupportedError
from lucid.graph import Function, Node

__all__ = ["choose_target", "require"]


def choose_target(function: Function) -> DeploymentTarget:
    """Return the oldest iOS release that has every operation of the graph, its states and its interface."""
    needed = [DeploymentTarget(ops.find(node.op).since) for node in _nodes(function.nodes)]
    if any(value.dtype == float16 for value in (*function.inputs, *function.outputs.values())):
        needed.append(DeploymentTarget.iOS16)
    needed.append(DeploymentTarget.iOS18 if function.pairs or function.states else DeploymentTarget.iOS15)
    return max(needed, key=lambda target: target.specification_version)


def require(function: Function, target: DeploymentTarget) -> None:
    """Raise UnsupportedError naming the first operation that `target` does not have."""
    for node in _nodes(function.nodes):
        since = DeploymentTarget(ops.find(node.op).since)
        if since > target:
            names = ", ".join(value.name for value in node.outputs)
            raise UnsupportedError(
                f"operation {node.op} (-> {names}) exists since {since.value}, the deployment target is "
                f"{target.value}. Raise the target to {since.value} or write the model without it."
            )


def _nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for block in node.blocks:
            yield from _nodes(block.nodes)
