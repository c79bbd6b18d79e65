"""State pairs: what makes one sound, and how they become the states of a Core ML program.

Until here a pair is data beside a pure graph. In a package its input is a state: `read_state` takes a copy of what the
last call left, `write_state` replaces it. Core ML keeps states in float16 only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from lucid.coreml.interface import MAXIMUM_RANK, cast
from lucid.coreml.options import DeploymentTarget, State
from lucid.coreml.renaming import fresh, names_in
from lucid.dtypes import float16, float32
from lucid.errors import StateError
from lucid.graph import Function, Node, Pair, Value, arguments, substitute

__all__ = ["check_states", "make_stateful"]

# Operations whose result is their `x` under another shape: Core ML may give both the same memory.
_VIEWS = frozenset({"identity", "reshape", "squeeze", "expand_dims", "transpose"})


def check_states(states: Sequence[State], function: Function, target: DeploymentTarget) -> tuple[Pair, ...]:
    """Return the pairs that `states` declare on a pure function. Raises StateError where one breaks a rule."""
    if not states:
        return ()
    if not target.supports_states:
        raise StateError(
            f"deployment target {target.value}: packages carry states from iOS18, macOS15, watchOS11 and tvOS18 on. "
            "Raise the target, or declare no states."
        )
    inputs = {value.name: value for value in function.inputs}
    pairs, seen = [], set[tuple[str, str]]()
    for state in states:
        for end, name, known in (("input", state.input, inputs), ("output", state.output, function.outputs)):
            _check_name(state, end, name, known)
            if (end, name) in seen:
                raise StateError(f"{_name(state)}: the {end} {name!r} is in two states. Declare it in one of them.")
            seen.add((end, name))
        _check_ends(state, inputs[state.input], function.outputs[state.output], _producers(function))
        pairs.append(Pair(inputs[state.input], state.output))
    if len(pairs) == len(function.inputs):
        raise StateError(
            f"states {', '.join(state.input for state in states)}: every input is a state, and a package needs one "
            "that the caller passes. Give the model an input that is none."
        )
    if len(pairs) == len(function.outputs):
        raise StateError(
            f"states {', '.join(state.output for state in states)}: every output is written to a state, and a package "
            "needs one that the caller gets. Return a value more."
        )
    return tuple(pairs)


def _name(state: State) -> str:
    return f"state {state.input} <- {state.output}"


def _check_name(state: State, end: str, name: str, known: Mapping[str, Value]) -> None:
    if name in known:
        return
    near = get_close_matches(name, known, n=1)
    verb = "takes" if end == "input" else "returns"
    hint = f"Did you mean {near[0]!r}?" if near else f"Name one of the {end}s."
    raise StateError(f"{_name(state)}: no {end} {name!r}; the model {verb} {', '.join(known) or 'none'}. {hint}")


def _check_ends(state: State, start: Value, end: Value, producers: Mapping[Value, Node]) -> None:
    where = _name(state)
    if start.shape != end.shape:
        raise StateError(
            f"{where}: the input has shape {start.shape}, the output {end.shape}. Return the state in its own shape."
        )
    if start.dtype != end.dtype:
        raise StateError(
            f"{where}: the input has dtype {start.dtype}, the output {end.dtype}. Cast the output to {start.dtype}."
        )
    if start.dtype not in (float16, float32):
        raise StateError(
            f"{where}: its dtype is {start.dtype}, Core ML keeps states in float16. "
            "Keep it as a floating-point value, or pass it as an input on every call."
        )
    if None in start.shape:
        raise StateError(f"{where}: its shape {start.shape} is flexible, a state's is fixed. Give every axis a size.")
    if not 1 <= len(start.shape) <= MAXIMUM_RANK:
        raise StateError(
            f"{where}: its shape {start.shape} has {len(start.shape)} axes, a state 1 to {MAXIMUM_RANK}. Reshape it."
        )
    while end in producers and producers[end].op in _VIEWS - {"transpose"}:
        end = _viewed(producers[end])
    if end is start:
        raise StateError(
            f"{where}: the model returns the input as it came, so the state is never written. "
            "Return the new value, or drop the state."
        )


def make_stateful(function: Function) -> Function:
    """Return `function` with its pairs as states: no longer inputs and outputs, but read and written inside.

    A state is read before its first use and written as soon as its new value is there and the old one is no longer
    needed, so that a cache write comes out as read_state, slice_update, write_state, which Core ML runs in place. A
    float32 pair is cast after the read and before the write. Core ML crashes when it loads a package with an output
    that is also what is written to a state, or feeds it: an output that is the written value, or a view of it, is read
    back from the state, and every other one passes an identity.
    """
    if not function.pairs:
        return function
    taken = names_in(function)
    producers = _producers(function)
    reads = _reads(function)
    before = [list[Node]() for _ in range(len(function.nodes) + 1)]
    after = [list[Node]() for _ in range(len(function.nodes) + 1)]
    states = {pair: Value(pair.input.name, float16, pair.input.shape) for pair in function.pairs}
    changes: dict[Value, Value] = {}
    for pair, state in states.items():
        users = _users_of_memory(pair.input, function, reads)
        first = min(reads.get(pair.input, [len(function.nodes)]))
        nodes = _read(state, pair.input, taken)
        if users or pair.input in function.outputs.values():
            changes[pair.input] = nodes[-1].output
            before[first] += nodes
    again: dict[Pair, Value] = {}
    written = {pair.output for pair in function.pairs}
    free = {name: value for name, value in function.outputs.items() if name not in written}
    for pair, state in states.items():
        new = function.outputs[pair.output]
        nodes = _write(state, changes.get(new, new), taken)
        place = _place_of_write(pair, new, function, reads)
        shared = any(_root(value, producers) is _root(new, producers) for value in free.values())
        if shared and pair.input.dtype == float16:
            again[pair] = Value(fresh(f"{pair.input.name}_written", taken), float16, pair.input.shape)
            nodes.append(Node("read_state", {"input": state}, (again[pair],)))
        after[place] += nodes
    last: list[Node] = []
    outputs = {}
    feeding = _ancestors((function.outputs[pair.output] for pair in function.pairs), producers)
    for name, value in free.items():
        owner = _owner(value, function, producers)
        outputs[name] = value
        if owner is not None or value in feeding:
            whole = function.outputs[owner.output] if owner else None
            last += _detached(value, whole, again.get(owner) if owner else None, producers, taken)
            outputs[name] = last[-1].output
    nodes = []
    for index in range(len(function.nodes) + 1):
        nodes += before[index]
        nodes += function.nodes[index : index + 1]
        nodes += after[index]
    return replace(
        function,
        inputs=tuple(value for value in function.inputs if all(value is not pair.input for pair in function.pairs)),
        nodes=tuple(substitute(node, changes) for node in (*nodes, *last)),
        outputs={name: changes.get(value, value) for name, value in outputs.items()},
        pairs=(),
        states=(*function.states, *states.values()),
    )


def _read(state: Value, start: Value, taken: set[str]) -> list[Node]:
    value = Value(fresh(f"{state.name}_read", taken), float16, state.shape)
    nodes = [Node("read_state", {"input": state}, (value,))]
    if start.dtype != float16:
        nodes.append(cast(value, start.dtype, fresh(f"{state.name}_{start.dtype.mil}", taken)))
    return nodes


def _write(state: Value, value: Value, taken: set[str]) -> list[Node]:
    nodes = []
    if value.dtype != float16:
        nodes.append(cast(value, float16, fresh(f"{state.name}_{float16.mil}", taken)))
        value = nodes[-1].output
    return [*nodes, Node("write_state", {"input": state, "data": value}, ())]


def _place_of_write(pair: Pair, new: Value, function: Function, reads: Mapping[Value, list[int]]) -> int:
    """Return the index of the node after which the new value is known and the memory of the old one is free."""
    users = _users_of_memory(pair.input, function, reads)
    is_kept = any(_root(value, _producers(function)) is pair.input for value in function.outputs.values())
    made = [index for index, node in enumerate(function.nodes) if new in node.outputs]
    return len(function.nodes) if is_kept or not made else max(*made, *users, 0)


def _detached(
    value: Value, new: Value | None, again: Value | None, producers: Mapping[Value, Node], taken: set[str]
) -> list[Node]:
    """Return nodes whose last output equals `value` but is another value than any that a state is written from.

    Where `value` is a view of `new`, the view is taken of `again`, what the state holds after the write.
    """
    views: list[Node] = []
    current = value
    while again is not None and current is not new and current in producers and producers[current].op in _VIEWS:
        views.append(producers[current])
        current = _viewed(views[-1])
    source, nodes = value, []
    if again is not None and current is new:
        source = again
        for view in reversed(views):
            copy = Value(fresh(view.output.name, taken), value.dtype, view.output.shape)
            nodes.append(replace(view, inputs={**view.inputs, "x": source}, outputs=(copy,)))
            source = copy
    result = Value(fresh(f"{value.name}_returned", taken), value.dtype, value.shape)
    return [*nodes, Node("identity", {"x": source}, (result,))]


def _owner(value: Value, function: Function, producers: Mapping[Value, Node]) -> Pair | None:
    root = _root(value, producers)
    for pair in function.pairs:
        if _root(function.outputs[pair.output], producers) is root:
            return pair
    return None


def _ancestors(values: Iterable[Value], producers: Mapping[Value, Node]) -> set[Value]:
    """Return the values of nodes that `values` are computed from, and those of `values` that nodes make."""
    found: set[Value] = set()
    left = [value for value in values if value in producers]
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            left += [source for source in _read_by(producers[value]) if source in producers]
    return found


def _producers(function: Function) -> dict[Value, Node]:
    return {value: node for node in function.nodes for value in node.outputs}


def _reads(function: Function) -> dict[Value, list[int]]:
    """Return the indices of the function's nodes that read each value, in their blocks too."""
    found: dict[Value, list[int]] = {}
    for index, node in enumerate(function.nodes):
        for value in _read_by(node):
            found.setdefault(value, []).append(index)
    return found


def _read_by(node: Node) -> Iterator[Value]:
    yield from arguments(node)
    for block in node.blocks:
        yield from block.outputs
        for inner in block.nodes:
            yield from _read_by(inner)


def _users_of_memory(value: Value, function: Function, reads: Mapping[Value, list[int]]) -> list[int]:
    """Return the indices of the nodes that read `value` or a view of it."""
    found: list[int] = []
    for index in reads.get(value, []):
        found.append(index)
        node = function.nodes[index]
        if node.op in _VIEWS:
            found += _users_of_memory(node.output, function, reads)
    return found


def _root(value: Value, producers: Mapping[Value, Node]) -> Value:
    while value in producers and producers[value].op in _VIEWS:
        value = _viewed(producers[value])
    return value


def _viewed(node: Node) -> Value:
    value = node.inputs["x"]
    return value[0] if isinstance(value, tuple) else value
