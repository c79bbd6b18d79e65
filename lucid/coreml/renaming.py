"""Giving the values of a function the names they have in a package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from lucid.coreml.names import identifier, is_identifier
from lucid.graph import Block, Function, Node, Value, substitute

__all__ = ["fresh", "names_in", "renamed"]


def names_in(function: Function) -> set[str]:
    """Return the names of all values that a function defines, inner blocks included."""
    return {value.name for value in (*function.inputs, *function.states, *_defined(function.nodes))}


def fresh(name: str, taken: set[str]) -> str:
    """Return an identifier like `name` that is not `taken`, and take it."""
    name = identifier(name, taken)
    taken.add(name)
    return name


def renamed(function: Function) -> Function:
    """Return `function` with the value of each output called like the output, and all names unique identifiers.

    Inputs and states keep their names. An output must be the value of a node of the function, and of one output only.
    """
    fixed = {value: name for name, value in function.outputs.items()}
    taken = {*fixed.values(), *(value.name for value in (*function.inputs, *function.states))}
    changes: dict[Value, Value] = {}
    for value in _defined(function.nodes):
        name = fixed.get(value)
        if name is None:
            name = value.name
            if name in taken or not is_identifier(name):
                name = identifier(name, taken)
            taken.add(name)
        if name != value.name:
            changes[value] = Value(name, value.dtype, value.shape)
    if not changes:
        return function
    nodes = tuple(_node(node, changes) for node in function.nodes)
    outputs = {name: changes.get(value, value) for name, value in function.outputs.items()}
    return replace(function, nodes=nodes, outputs=outputs)


def _defined(nodes: Iterable[Node]) -> Iterator[Value]:
    for node in nodes:
        for block in node.blocks:
            yield from block.inputs
            yield from _defined(block.nodes)
        yield from node.outputs


def _node(node: Node, changes: Mapping[Value, Value]) -> Node:
    node = substitute(node, changes)
    blocks = tuple(
        Block(
            tuple(changes.get(value, value) for value in block.inputs),
            tuple(_node(inner, changes) for inner in block.nodes),
            block.outputs,
        )
        for block in node.blocks
    )
    return replace(node, outputs=tuple(changes.get(value, value) for value in node.outputs), blocks=blocks)
