"""Functions of single operations, run without the engine that packages run on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lucid import ops
from lucid.graph import Constant, Function, Node, Value
from lucid.ops.execution import attribute_of, execute


def function_of(*nodes: Node) -> Function:
    read = {value for each in nodes for value in each.inputs.values() if isinstance(value, Value)}
    made = {value for each in nodes for value in each.outputs}
    inputs = tuple(
        sorted((value for value in read - made if not isinstance(value, Constant)), key=lambda value: value.name)
    )
    return Function("main", inputs, nodes, {nodes[-1].outputs[0].name: nodes[-1].outputs[0]})


def outcome(function: Function, **inputs: Any) -> Any:
    """Return the first output of a function of single operations, without the engine that packages run on."""
    values: dict[Value, Any] = {value: np.asarray(inputs[value.name]) for value in function.inputs}
    for each in function.nodes:
        record = ops.find(each.op)
        arguments: dict[str, Any] = {}
        for name, argument in each.inputs.items():
            assert isinstance(argument, Value)
            if record.parameters[name].is_attribute:
                arguments[name] = attribute_of(each, name, argument, record.parameters[name].kind)
            else:
                arguments[name] = argument.data if isinstance(argument, Constant) else values[argument]
        values.update(zip(each.outputs, execute(record, record.bind(**arguments)), strict=True))
    (output, *_) = function.outputs.values()
    return values[output]
