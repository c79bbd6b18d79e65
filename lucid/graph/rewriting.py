"""Questions that passes ask of a graph, and the one way of replacing values in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from lucid.graph.model import Argument, Block, Function, Node, Value, arguments

__all__ = ["reads", "substitute", "users", "walk"]


def substitute(node: Node, changes: Mapping[Value, Value]) -> Node:
    """Return `node` reading ``changes[value]`` wherever it read `value`, inner blocks included."""
    inputs = {name: _renamed(argument, changes) for name, argument in node.inputs.items()}
    blocks = tuple(
        Block(
            block.inputs,
            tuple(substitute(inner, changes) for inner in block.nodes),
            tuple(changes.get(value, value) for value in block.outputs),
        )
        for block in node.blocks
    )
    if blocks == node.blocks == () and all(inputs[name] is argument for name, argument in node.inputs.items()):
        return node
    return replace(node, inputs=inputs, blocks=blocks)


def _renamed(argument: Argument, changes: Mapping[Value, Value]) -> Argument:
    if isinstance(argument, tuple):
        if any(value in changes for value in argument):
            return tuple(changes.get(value, value) for value in argument)
        return argument
    return changes.get(argument, argument)


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes in order, each before those of its inner blocks."""
    for node in nodes:
        yield node
        for block in node.blocks:
            yield from walk(block.nodes)


def reads(node: Node) -> Iterator[Value]:
    """Yield every value that a node or one of its inner blocks reads, those that the blocks define included."""
    for inner in walk((node,)):
        yield from arguments(inner)
        for block in inner.blocks:
            yield from block.outputs


def users(function: Function) -> Counter[Value]:
    """Count how many times each value is read: by nodes, by inner blocks, and as an output of the function."""
    counts: Counter[Value] = Counter(function.outputs.values())
    _count(function.nodes, counts)
    return counts


def _count(nodes: Iterable[Node], counts: Counter[Value]) -> None:
    for node in nodes:
        counts.update(arguments(node))
        for block in node.blocks:
            counts.update(block.outputs)
            _count(block.nodes, counts)
