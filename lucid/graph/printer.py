"""The text form of a graph, for people, for errors and for comparing graphs in tests."""

from __future__ import annotations

from collections.abc import Iterator

from lucid.graph.model import Argument, Block, Constant, Function, Node, Value

__all__ = ["render"]

_SHOWN = 8


def render(function: Function) -> str:
    """Return the function as text: one line an operation, small constants in place, large ones by name."""
    lines = [f"{function.name}({', '.join(map(repr, function.inputs))}) {{"]
    lines += [f"  state {value!r}" for value in function.states]
    lines += _nodes(function.nodes, "  ")
    lines += [f"  pair %{pair.input.name} <- {pair.output}" for pair in function.pairs]
    results = ", ".join(f"{name}={_reference(value)}" for name, value in function.outputs.items())
    return "\n".join([*lines, f"  return {results}", "}"])


def _nodes(nodes: tuple[Node, ...], indent: str) -> Iterator[str]:
    for node in nodes:
        inputs = ", ".join(f"{name}={_argument(argument)}" for name, argument in node.inputs.items())
        results = ", ".join(map(repr, node.outputs))
        yield f"{indent}{results}{' = ' if results else ''}{node.op}({inputs})"
        for block in node.blocks:
            yield from _block(block, indent + "  ")


def _block(block: Block, indent: str) -> Iterator[str]:
    yield f"{indent}block({', '.join(map(repr, block.inputs))}) {{"
    yield from _nodes(block.nodes, indent + "  ")
    yield f"{indent}  return {', '.join(map(_reference, block.outputs))}"
    yield f"{indent}}}"


def _argument(argument: Argument) -> str:
    if isinstance(argument, tuple):
        return f"({', '.join(map(_reference, argument))})"
    return _reference(argument)


def _reference(value: Value) -> str:
    if not isinstance(value, Constant):
        return f"%{value.name}"
    if isinstance(value.data, str):
        return repr(value.data)
    if value.data.size > _SHOWN:
        return f"{value!r}"
    text = repr(value.data.tolist())
    return text if value.dtype.mil in ("int32", "bool", "fp32") else f"{value.dtype.mil}:{text}"
