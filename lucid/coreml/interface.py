"""Fitting a function to what the interface of a package can express.

Core ML passes arrays of float16, float32 and int32, of one to five axes, and calls an output what its value is called.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lucid.coreml.names import identifier, is_identifier
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.renaming import fresh, names_in, renamed
from lucid.dtypes import DType, bool_, float16, float32, int8, int16, int32, string, uint8, uint16
from lucid.errors import UnsupportedError
from lucid.graph import Constant, Function, Node, Value, substitute

__all__ = ["MAXIMUM_RANK", "cast", "fit_interface"]

MAXIMUM_RANK = 5
_AS_INT32 = frozenset({bool_, int8, int16, uint8, uint16})
_AS_IS = frozenset({float16, float32, int32})


def fit_interface(function: Function, target: DeploymentTarget) -> Function:
    """Return `function` with inputs and outputs that a package for `target` can declare.

    An input of bool or of a small integer type is declared int32 and cast; an input without axes is declared with the
    shape (1,). Outputs of such types become int32. An output that is an input, a constant, an inner value of another
    output or a second name for one gets a value of its own. Values inside get names that Core ML takes. Raises
    UnsupportedError for names, dtypes and ranks that no package can declare.
    """
    if not function.inputs:
        raise UnsupportedError(
            f"function {function.name}: it takes nothing, and a package needs an input. Give the model one."
        )
    _check_names(function)
    taken = names_in(function)
    inputs: list[Value] = []
    nodes: list[Node] = []
    changes: dict[Value, Value] = {}
    for value in function.inputs:
        _check(f"input {value.name}", value, target)
        inner, more = _fit_input(value, taken)
        nodes += more
        inputs.append(inner)
        if more:
            changes[value] = more[-1].output
    nodes += [substitute(node, changes) for node in function.nodes]
    made = {value for node in nodes for value in node.outputs if node.op != "read_state"}
    outputs: dict[str, Value] = {}
    for name, value in function.outputs.items():
        _check(f"output {name}", value, target)
        source = changes.get(value, value)
        if value.dtype in _AS_INT32:
            nodes.append(cast(source, int32, fresh(name, taken)))
        elif source not in made or source in outputs.values():
            nodes.append(Node("identity", {"x": source}, (Value(fresh(name, taken), value.dtype, value.shape),)))
        else:
            outputs[name] = source
            continue
        outputs[name] = nodes[-1].output
    return renamed(replace(function, inputs=tuple(inputs), nodes=tuple(nodes), outputs=outputs))


def cast(value: Value, dtype: DType, name: str) -> Node:
    """Return the node that casts `value` to `dtype` under the name `name`."""
    wanted = Constant(f"{name}_dtype", string, (), dtype.mil)
    return Node("cast", {"x": value, "dtype": wanted}, (Value(name, dtype, value.shape),))


def _fit_input(value: Value, taken: set[str]) -> tuple[Value, list[Node]]:
    dtype = int32 if value.dtype in _AS_INT32 else value.dtype
    shape = value.shape or (1,)
    if (dtype, shape) == (value.dtype, value.shape):
        return value, []
    declared = Value(value.name, dtype, shape)
    current = declared
    nodes: list[Node] = []
    if shape != value.shape:
        axes = Constant(f"{value.name}_axes", int32, (1,), np.zeros(1, np.int32))
        scalar = Value(fresh(f"{value.name}_scalar", taken), dtype, ())
        nodes.append(Node("squeeze", {"x": declared, "axes": axes}, (scalar,)))
        current = scalar
    if dtype != value.dtype:
        nodes.append(cast(current, value.dtype, fresh(f"{value.name}_{value.dtype.mil}", taken)))
    return declared, nodes


def _check_names(function: Function) -> None:
    seen: dict[str, str] = {}
    named = [("input", value.name) for value in function.inputs]
    named += [("state", value.name) for value in function.states]
    named += [("output", name) for name in function.outputs]
    for what, name in named:
        if not is_identifier(name):
            raise UnsupportedError(
                f"{what} {name!r}: Core ML's names are letters, digits and underscores, begin with no digit and are "
                f"no words of MIL. Name it {identifier(name, seen)!r}."
            )
        if name in seen:
            raise UnsupportedError(f"{what} {name!r}: there is an {seen[name]} of this name. Rename one of them.")
        seen[name] = what


def _check(what: str, value: Value, target: DeploymentTarget) -> None:
    if value.dtype not in _AS_IS | _AS_INT32:
        raise UnsupportedError(
            f"{what}: its dtype is {value.dtype}, a package takes float16, float32 and int32. Cast it."
        )
    if value.dtype == float16 and target < DeploymentTarget.iOS16:
        raise UnsupportedError(
            f"{what}: its dtype is float16, which packages for {target.value} cannot pass. "
            "Use float32 there, or the deployment target iOS16, macOS13 or later."
        )
    if len(value.shape) > MAXIMUM_RANK:
        raise UnsupportedError(
            f"{what}: it has {len(value.shape)} axes, {value.shape}; Core ML's arrays have at most {MAXIMUM_RANK}. "
            "Merge some with reshape."
        )
