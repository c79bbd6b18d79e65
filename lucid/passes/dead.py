"""Dead code: nodes that no output, state write or live node reads."""

from __future__ import annotations

from dataclasses import replace

from lucid.graph import Function, Node, Value, reads, walk

__all__ = ["drop_dead"]


def drop_dead(function: Function) -> Function:
    """Return the function without the nodes whose outputs nothing reads.

    Nodes without outputs (writes) stay, and so does a node with one in an inner block.
    """
    live: set[Value] = set(function.outputs.values())
    kept: list[Node] = []
    for node in reversed(function.nodes):
        writes = any(not inner.outputs for inner in walk((node,)))
        if writes or any(value in live for value in node.outputs):
            kept.append(node)
            live.update(reads(node))
    return function if len(kept) == len(function.nodes) else replace(function, nodes=tuple(reversed(kept)))
