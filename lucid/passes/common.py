"""Common subexpressions: two pure nodes with the same operation and inputs are one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from lucid import ops
from lucid.graph import Argument, Constant, Function, Node, Value, substitute

__all__ = ["share_common"]

_COMPARED = 64


def share_common(function: Function) -> Function:
    """Return the function with each computation done once; the first of equal nodes stays."""
    changes: dict[Value, Value] = {}
    seen: dict[Hashable, Node] = {}
    nodes: list[Node] = []
    for old in function.nodes:
        node = substitute(old, changes)
        record = ops.registry.get(node.op)
        if record is None or not record.pure or node.blocks or not node.outputs:
            nodes.append(node)
            continue
        key = (node.op, tuple((name, _key(argument)) for name, argument in sorted(node.inputs.items())))
        first = seen.setdefault(key, node)
        if first is node:
            nodes.append(node)
        else:
            changes.update(zip(node.outputs, first.outputs, strict=True))
    outputs = {name: changes.get(value, value) for name, value in function.outputs.items()}
    return replace(function, nodes=tuple(nodes), outputs=outputs) if changes else function


def _key(argument: Argument) -> Hashable:
    """Return what makes two arguments the same: identity, or content for strings and small constants."""
    if isinstance(argument, tuple):
        return tuple(_key(value) for value in argument)
    if isinstance(argument, Constant):
        if isinstance(argument.data, str):
            return argument.data
        if argument.data.size <= _COMPARED:
            return (argument.dtype.mil, argument.shape, argument.data.tobytes())
        return id(argument.data), argument.dtype.mil, argument.shape
    return id(argument)
