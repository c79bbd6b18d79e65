"""Which deployment target a graph needs, and the form in which a target's opset has what the graph uses.

A graph says its operations as the latest opset has them. Older definitions lack inputs, and say some things in another
way; what changes nothing is left out or reworded (:mod:`lucid.coreml.rewording`), anything else is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lucid import ops
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.renaming import names_in
from lucid.coreml.rewording import reworded
from lucid.dtypes import DType, bool_, float16, int8, int16, uint8, uint16
from lucid.errors import UnsupportedError
from lucid.graph import Argument, Block, Constant, Function, Node, Value, walk
from lucid.ops import Operation, Parameter
from lucid.ops.execution import attribute_of
from lucid.ops.record import OPSETS

__all__ = ["choose_target", "fit_opset"]

_BYTES = frozenset({int8, uint8})
_SMALL = _BYTES | {int16, uint16}
# Before iOS17 integers of 8 and 16 bits are there only where a record says so.
_SMALL_INTEGERS = "iOS17"
# What an operation means where it is not told: the record's default only says that nothing is told.
_MEANT = {("topk", "output_indices_dtype"): "int32"}


@dataclass(frozen=True)
class _Need:
    """Something a node uses, in words, and the opset that brought it."""

    what: str
    since: str

    @property
    def target(self) -> DeploymentTarget:
        return DeploymentTarget(self.since)


def choose_target(function: Function) -> DeploymentTarget:
    """Return the oldest iOS release that has all that the graph uses, its states and its interface."""
    needed = [need.target for need in _needs(function)]
    if any(value.dtype == float16 for value in (*function.inputs, *function.outputs.values())):
        needed.append(DeploymentTarget.iOS16)
    needed.append(DeploymentTarget.iOS18 if function.pairs or function.states else DeploymentTarget.iOS15)
    return max(needed, key=lambda target: target.specification_version)


def fit_opset(function: Function, target: DeploymentTarget) -> Function:
    """Return the function as the opset of `target` says it.

    Inputs that the opset does not have are left out where they hold their default. Raises UnsupportedError naming the
    first operation, input, value or dtype that the opset cannot say.
    """
    for node in walk(function.nodes):
        for name, last in ops.find(node.op).until.items():
            if name in node.inputs and DeploymentTarget(last) < target:
                raise UnsupportedError(
                    f"operation {node.op} (-> {', '.join(value.name for value in node.outputs)}): {name} exists until "
                    f"{last}, the deployment target is {target.value}. Lower the target to {last}."
                )
    for need in _needs(function):
        if need.target > target:
            raise UnsupportedError(
                f"{need.what} exists since {need.since}, the deployment target is {target.value}. "
                f"Raise the target to {need.since} or write the model without it."
            )
    return replace(function, nodes=_fitted(function.nodes, target, names_in(function)))


def _fitted(nodes: tuple[Node, ...], target: DeploymentTarget, taken: set[str]) -> tuple[Node, ...]:
    fitted: list[Node] = []
    for node in nodes:
        later = ops.find(node.op).later
        inputs = {
            name: argument
            for name, argument in node.inputs.items()
            if name not in later or DeploymentTarget(later[name]) <= target
        }
        blocks = tuple(Block(each.inputs, _fitted(each.nodes, target, taken), each.outputs) for each in node.blocks)
        fitted += reworded(replace(node, inputs=inputs, blocks=blocks), target, taken)
    return tuple(fitted)


def _needs(function: Function) -> Iterator[_Need]:
    for value in function.inputs:
        if value.dtype in _SMALL:  # which packages declare as int32 and cast
            yield _Need(f"input {value.name}: a cast to {value.dtype}", _SMALL_INTEGERS)
    for node in walk(function.nodes):
        yield from _needs_of_node(node)


def _needs_of_node(node: Node) -> Iterator[_Need]:
    """Yield what a node uses: the operation, then what its inputs and outputs hold."""
    operation = ops.find(node.op)
    name = f"operation {node.op} (-> {', '.join(value.name for value in node.outputs)})"
    yield _Need(name, operation.since)
    for key, last in operation.until.items():
        if key not in node.inputs:
            yield _Need(f"{name}: the form without {key}", OPSETS[OPSETS.index(last) + 1])
    for key, argument in node.inputs.items():
        for what, since in _needs_of_input(node, operation, operation.parameters[key], argument):
            yield _Need(f"{name}: {what}", since)
    for value in node.outputs:
        if value.dtype in _SMALL:
            yield _Need(f"{name}: an output of {value.dtype}", _SMALL_INTEGERS)


def _needs_of_input(
    node: Node, operation: Operation, parameter: Parameter, argument: Argument
) -> Iterator[tuple[str, str]]:
    name, later = parameter.name, operation.later
    if parameter.is_attribute and isinstance(argument, Value):
        held = attribute_of(node, name, argument, parameter.kind)
        shown = f"{name} = {held if isinstance(held, str) else repr(held)}"
        if name in later and held != _MEANT.get((node.op, name), parameter.default):
            yield shown, later[name]
        if f"{name}={held}" in later:
            yield shown, later[f"{name}={held}"]
    elif name in later:
        yield name, later[name]
    for value in argument if isinstance(argument, tuple) else (argument,):
        if not isinstance(value, Constant) and f"{name}:variable" in later:
            yield f"{name} = %{value.name}, computed at run time,", later[f"{name}:variable"]
        since = _since_dtype(operation, name, value.dtype)
        if since is not None:
            yield f"{name} = %{value.name} of {value.dtype}", since


def _since_dtype(operation: Operation, name: str, dtype: DType) -> str | None:
    """Return the opset that brought elements of `dtype` to an input, if it was not the operation's first."""
    later = operation.later
    if dtype == bool_:
        return later.get(f"{name}:bool")
    if dtype == float16:
        return later.get(f"{name}:half")
    if dtype not in _SMALL or operation.family == "constexpr":
        return None
    since = later.get(f"{name}:integers", _SMALL_INTEGERS)
    return later.get(f"{name}:bytes", since) if dtype in _BYTES else since
