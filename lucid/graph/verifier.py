"""The verifier: what must hold of every graph, whatever made it. Run after each stage in tests and in builds."""

from __future__ import annotations

from collections.abc import Iterable

from lucid.dtypes import float16, string
from lucid.errors import InternalError
from lucid.graph.model import Constant, Function, Node, Value, arguments

__all__ = ["verify"]


def verify(function: Function) -> Function:
    """Return `function` unchanged, or raise InternalError naming the node that breaks a rule.

    The rules: a value is defined before it is read, defined once, and no two values share a name; a constant's data
    has its dtype and shape; both ends of a pair exist and agree in shape and dtype; no input is in two pairs.
    """
    known: set[Value] = {*function.inputs, *function.states}
    names: dict[str, Value] = {}
    for value in (*function.inputs, *function.states):
        _claim(names, value, function.name)
    _check(function.nodes, known, names, function.name)
    for name, value in function.outputs.items():
        _read(known, value, f"{function.name}: output {name}")
    seen: set[Value] = set()
    for pair in function.pairs:
        where = f"{function.name}: pair {pair.input.name} <- {pair.output}"
        if pair.input not in function.inputs or pair.input in seen:
            raise InternalError("the input is not one of the function's, or is in two pairs.", where=where)
        seen.add(pair.input)
        end = function.outputs.get(pair.output)
        if end is None or (end.dtype, end.shape) != (pair.input.dtype, pair.input.shape):
            raise InternalError(f"the input is {pair.input!r}, the output is {end!r}.", where=where)
    return function


def _check(nodes: Iterable[Node], known: set[Value], names: dict[str, Value], where: str) -> None:
    for node in nodes:
        place = f"{where}: {node.op} -> {', '.join(value.name for value in node.outputs)}"
        for value in arguments(node):
            _read(known, value, place)
        for block in node.blocks:
            inner = known | set(block.inputs)
            inner_names = dict(names)  # blocks side by side may use the same ones
            for value in block.inputs:
                _claim(inner_names, value, place)
            _check(block.nodes, inner, inner_names, place)
            for value in block.outputs:
                _read(inner, value, place)
        for value in node.outputs:
            if value in known:
                raise InternalError(f"%{value.name} is defined twice.", where=place)
            _claim(names, value, place)
            known.add(value)


def _read(known: set[Value], value: Value, where: str) -> None:
    if isinstance(value, Constant):
        if isinstance(value.data, str):
            agrees = value.dtype == string and value.shape == ()
        elif value.dtype.kind == "l":
            agrees = value.data.shape == value.shape
        else:
            byte = {"i": "int8", "u": "uint8"}  # holds one value of a type of less than a byte
            name = value.dtype.name if value.dtype.bits >= 8 else byte.get(value.dtype.kind)
            agrees = value.data.dtype.name in (name, _wider(value)) and value.data.shape == value.shape
        if not agrees:
            raise InternalError(f"constant {value!r} does not describe its data.", where=where)
    elif value not in known:
        raise InternalError(f"%{value.name} is read before it is defined.", where=where)


def _wider(value: Constant) -> str | None:
    """A large float16 constant may keep the float32 array that it is rounded from when it is written or run."""
    return "float32" if value.dtype == float16 else None


def _claim(names: dict[str, Value], value: Value, where: str) -> None:
    if names.setdefault(value.name, value) is not value:
        raise InternalError(f"two values are called %{value.name}.", where=where)
