"""Dead code: nodes that no output, state write or live node reads."""

from __future__ import annotations

from dataclasses import replace

from lucid.graph import Block, Function, Node, Value, arguments

__all__ = ["drop_dead"]


def drop_dead(function: Function) -> Function:
    """Return the function without the nodes whose outputs nothing reads. Nodes without outputs (writes) stay."""
    live: set[Value] = set(function.outputs.values())
    kept: list[Node] = []
    for node in reversed(function.nodes):
        if not node.outputs or any(value in live for value in node.outputs):
            kept.append(node)
            live.update(arguments(node))
            for block in node.blocks:
                _mark(block, live)
    return function if len(kept) == len(function.nodes) else replace(function, nodes=tuple(reversed(kept)))


def _mark(block: Block, live: set[Value]) -> None:
    live.update(block.outputs)
    for node in block.nodes:
        live.update(arguments(node))
        for inner in node.blocks:
            _mark(inner, live)
