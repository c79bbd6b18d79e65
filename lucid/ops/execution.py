"""Running one operation on arrays, with the numbers that Core ML promises.

float16 operations compute in float32 and round once to float16 at each output.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lucid.errors import UnsupportedError
from lucid.graph import Constant, Node, Value
from lucid.ops.record import Kind, Operation, registry

__all__ = ["attribute_of", "dispatch", "evaluate", "execute"]


def dispatch(operation: Operation, arguments: Mapping[str, Any]) -> Any:
    """Apply an operation to bound arguments: one with a ``__lucid_apply__`` of its own (a Tensor) takes over."""
    for name, parameter in operation.parameters.items():
        argument = arguments[name]
        for candidate in argument if parameter.kind is Kind.ARRAYS and argument is not None else (argument,):
            apply = getattr(type(candidate), "__lucid_apply__", None)
            if apply is not None:
                return apply(operation, arguments)
    outputs = execute(operation, arguments)
    return outputs[0] if len(outputs) == 1 else outputs


def execute(operation: Operation, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """Run the kernel on arrays and return its outputs as a tuple.

    A float16 array is computed on in float32, except by operations that round nothing. Results have the dtype of the
    first floating input and are rounded once, unless the operation sets the dtype itself.
    """
    prepared = dict(arguments)
    first = None
    if not operation.exact:
        for name, parameter in operation.parameters.items():
            given = prepared[name]
            if given is None or parameter.kind not in (Kind.ARRAY, Kind.ARRAYS):
                continue
            if parameter.kind is Kind.ARRAY:
                first = first or _floating(given)
                prepared[name] = _widened(given)
            else:
                first = first or next(filter(None, map(_floating, given)), None)
                prepared[name] = [_widened(array) for array in given]
    with np.errstate(all="ignore"):
        outputs = operation.kernel(**prepared)
        if not isinstance(outputs, tuple):
            outputs = (outputs,)
        # NumPy gives numbers where arrays of rank 0 are meant.
        outputs = tuple(np.asarray(out) if isinstance(out, np.generic) else out for out in outputs)
        if first == np.float16 and not operation.typed:
            outputs = tuple(out.astype(np.float16) if out.dtype == np.float32 else out for out in outputs)
    return outputs


def _floating(array: Any) -> Any:
    dtype = getattr(array, "dtype", None)
    return dtype if dtype is not None and dtype.kind == "f" else None


def _widened(array: Any) -> Any:
    return array.astype(np.float32) if getattr(array, "dtype", None) == np.float16 else array


def evaluate(node: Node) -> tuple[Any, ...]:
    """Run one node whose inputs are all constants."""
    operation = registry[node.op]
    arguments: dict[str, Any] = {}
    for name, argument in node.inputs.items():
        kind = operation.parameters[name].kind
        if isinstance(argument, tuple):
            arguments[name] = [_data(value) for value in argument]
        elif kind is Kind.ARRAY:
            arguments[name] = _data(argument)
        else:
            arguments[name] = attribute_of(node, name, argument, kind)
    return execute(operation, operation.bind(**arguments))


def _data(value: Value) -> Any:
    """Return a constant's array in the dtype that the constant declares; types of less than a byte have one each."""
    if not isinstance(value, Constant) or isinstance(value.data, str):
        raise UnsupportedError(f"%{value.name} is not a constant array.")
    if value.dtype.bits < 8:
        return value.data
    return value.data.astype(value.dtype.numpy, copy=False)


def attribute_of(node: Node, name: str, value: Value, kind: Kind) -> Any:
    """Return the plain Python value of an attribute of `node`. Raises UnsupportedError if it is not a constant."""
    if not isinstance(value, Constant):
        raise UnsupportedError(f"operation {node.op}: {name} is computed at run time; Core ML asks for a constant.")
    if isinstance(value.data, str):
        return value.data
    if kind in (Kind.INTS, Kind.BOOLS, Kind.LABELS):
        return tuple(value.data.reshape(-1).tolist())
    return value.data.item()
