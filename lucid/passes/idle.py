"""Idle nodes: operations that give back their `x` as it is."""

from __future__ import annotations

from dataclasses import replace

from lucid.graph import Constant, Function, Node, Value, substitute

__all__ = ["drop_idle"]

_RESHAPING = ("cast", "expand_dims", "identity", "reshape", "squeeze", "tile")


def drop_idle(function: Function) -> Function:
    """Return the function without identities, casts to the same dtype, and moves that move nothing.

    For pure graphs only: in a program with states an identity may stand between memory that must not be shared.
    """
    changes: dict[Value, Value] = {}
    nodes: list[Node] = []
    for old in function.nodes:
        node = substitute(old, changes)
        source = _idle_source(node)
        if source is None:
            nodes.append(node)
        else:
            changes[node.output] = source
    outputs = {name: changes.get(value, value) for name, value in function.outputs.items()}
    return replace(function, nodes=tuple(nodes), outputs=outputs) if changes else function


def _idle_source(node: Node) -> Value | None:
    """Return the `x` of a node that gives it back, or None."""
    source = node.inputs.get("x")
    if not isinstance(source, Value) or len(node.outputs) != 1:
        return None
    same = source.shape == node.output.shape and source.dtype == node.output.dtype and None not in source.shape
    if node.op == "transpose":
        perm = node.inputs["perm"]
        same = same and isinstance(perm, Constant) and not isinstance(perm.data, str)
        same = same and perm.data.reshape(-1).tolist() == list(range(len(source.shape)))  # type: ignore[union-attr]
        return source if same else None
    return source if same and node.op in _RESHAPING else None
