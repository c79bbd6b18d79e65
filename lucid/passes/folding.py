"""Constant folding, by the very kernels that would run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lucid import ops
from lucid.dtypes import as_dtype
from lucid.graph import Constant, Function, Node, Value, arguments, substitute
from lucid.ops.execution import evaluate

__all__ = ["fold"]

_ALWAYS = 4096


def fold(function: Function) -> Function:
    """Return the function with every node of constant inputs replaced by its constant outputs.

    A node whose result would be larger than its inputs (and than 4096 elements) stays, and so does every compressed
    weight (``constexpr_*``): the package would grow.
    """
    changes: dict[Value, Value] = {}
    nodes: list[Node] = []
    for old in function.nodes:
        node = substitute(old, changes)
        if _is_constant(node):
            for value, array in zip(node.outputs, evaluate(node), strict=True):
                data = np.asarray(array)
                changes[value] = Constant(value.name, as_dtype(data.dtype), data.shape, data)
        else:
            nodes.append(node)
    outputs = {name: changes.get(value, value) for name, value in function.outputs.items()}
    return replace(function, nodes=tuple(nodes), outputs=outputs) if changes else function


def _is_constant(node: Node) -> bool:
    values = list(arguments(node))
    is_tensors = all(value.dtype.kind in "biuf" for value in node.outputs)
    if node.blocks or not node.outputs or not is_tensors or not all(isinstance(value, Constant) for value in values):
        return False
    record = ops.registry.get(node.op)
    if record is None or not record.pure or record.family == "constexpr":
        return False
    sizes = [_size(value) for value in values]
    return sum(_size(value) for value in node.outputs) <= max(_ALWAYS, *sizes, 0)


def _size(value: Value) -> int:
    size = 1
    for axis in value.shape:
        if axis is None:
            return 1 << 62
        size *= axis
    return size
