"""Compressed weights as what they stand for: every ``constexpr_*`` node is computed once, before the program runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from lucid import ops
from lucid.errors import LucidError, PackageError, UnsupportedError
from lucid.graph import Block, Constant, Function, Node, Value, arguments, substitute
from lucid.ops.execution import evaluate

__all__ = ["decompress", "is_compressed"]


def is_compressed(node: Node) -> bool:
    """Whether a node stands for a compressed weight."""
    record = ops.registry.get(node.op)
    return record is not None and record.family == "constexpr"


def decompress(function: Function) -> Function:
    """Return the function reading constants where it read outputs of ``constexpr_*`` nodes, in inner blocks too.

    The nodes stay where they are, so that positions are those of the package. The constants have the dtypes that the
    nodes' outputs declare. Raises UnsupportedError where such a node reads a value that is computed at run time, the
    kernel's error where its inputs do not fit, PackageError where it makes no sense of them or the result has another
    shape than the program says: all with the node's place.
    """
    changes: dict[Value, Value] = {}
    nodes = _decompressed(function.nodes, changes, f"function {function.name}")
    outputs = {name: changes.get(value, value) for name, value in function.outputs.items()}
    return replace(function, nodes=nodes, outputs=outputs) if changes else function


def _decompressed(nodes: Iterable[Node], changes: dict[Value, Value], where: str) -> tuple[Node, ...]:
    kept: list[Node] = []
    for position, old in enumerate(nodes):
        node = substitute(old, changes)
        place = f"{where}, operation {position} ({node.op} -> {', '.join(value.name for value in node.outputs)})"
        blocks = tuple(_inside(block, changes, f"{place}: block {index}") for index, block in enumerate(node.blocks))
        kept.append(replace(node, blocks=blocks) if blocks else node)
        if not is_compressed(node):
            continue
        try:
            changes.update(_computed(node))
        except LucidError as error:
            raise error.at(place) from None
    return tuple(kept)


def _inside(block: Block, changes: dict[Value, Value], where: str) -> Block:
    nodes = _decompressed(block.nodes, changes, where)
    return Block(block.inputs, nodes, tuple(changes.get(value, value) for value in block.outputs))


def _computed(node: Node) -> dict[Value, Value]:
    unknown = [name for name in node.inputs if name not in ops.find(node.op).parameters]
    if unknown:
        raise UnsupportedError(f"lucid does not know its input {unknown[0]}.")
    for value in arguments(node):
        if not isinstance(value, Constant):
            raise UnsupportedError(f"%{value.name} is computed at run time; Core ML asks for a constant.")
    try:
        results = evaluate(node)
    except LucidError:
        raise
    except (ArithmeticError, AttributeError, IndexError, MemoryError, TypeError, ValueError) as error:
        raise PackageError(f"the compressed weight is damaged: {type(error).__name__}: {error}.") from error
    found = [_described(np.shape(array), array.dtype.name) for array in results]
    declared = [_described(value.shape, _stored(value)) for value in node.outputs]
    if found != declared:
        raise PackageError(f"the compressed weight is {', '.join(found)}, the program says {', '.join(declared)}.")
    return {
        value: Constant(value.name, value.dtype, np.shape(result), result)
        for value, result in zip(node.outputs, results, strict=True)
    }


def _described(shape: tuple[int | None, ...], dtype: str) -> str:
    return f"{dtype} {shape}"


def _stored(value: Value) -> str:
    """Return the dtype of the array that holds a value: a byte each for types of less than a byte."""
    if value.dtype.bits >= 8:
        return value.dtype.name
    return "int8" if value.dtype.kind == "i" else "uint8"
