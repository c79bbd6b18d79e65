"""Which writes to a part of an array may happen in the array's own memory.

``read_state -> slice_update -> … -> write_state`` of one state is a chain. Its updates may write into the array that
was read if nothing that could share that array is read later: an operation that rounds nothing may return a view of
any of its inputs, every other one makes a new array. The same holds for an update of what an earlier update of the
same run has copied. What an inner block reads or writes counts at the place of the
operation that has the block; chains inside of blocks copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lucid import ops
from lucid.graph import Constant, Function, Node, Value, arguments, reads, walk

__all__ = ["updates_in_place"]


def updates_in_place(function: Function) -> set[Node]:
    """Return the ``slice_update`` and ``write_state`` nodes that may work in place."""
    if not any(node.op == "slice_update" for node in function.nodes):
        return set()
    chains = [chain for chain in _chains(function) if chain]
    roots = _roots(function)
    last = _last_reads(function)
    positions = {node: position for position, node in enumerate(function.nodes)}
    found: set[Node] = set()
    for chain in chains:
        read, *updates, _ = chain
        root = read.output
        sharing = [value for value, sources in roots.items() if root in sources]
        if all(_is_last(update, sharing, last, positions) for update in updates):
            found.update(chain[1:])
    return found | _updates_of_copies(function, found, last)


def _updates_of_copies(function: Function, known: set[Node], last: dict[Value, int]) -> set[Node]:
    """Return the updates whose target is a copy that an earlier update made, and that nobody looks at any more.

    What a block or a list gives may be a copy or any other array, an input's or a constant's: it is left alone.
    """
    memory: dict[Value, frozenset[Value]] = {}
    held: dict[Value, list[Value]] = {}  # for each copy, the values that may share its array
    unsure: set[Value] = set()  # values whose array may be no copy at all
    found: set[Node] = set()
    for position, node in enumerate(function.nodes):
        is_update = node.op == "slice_update"
        if node.blocks or (not is_update and any(value in unsure or value.dtype.kind == "l" for value in reads(node))):
            unsure.update(node.outputs)
        if is_update and node not in known:
            target = node.inputs["x"]
            copies = memory.get(target, frozenset()) if isinstance(target, Value) else frozenset[Value]()
            others = [memory.get(value, frozenset()) for value in arguments(node) if value is not target]
            idle = all(last.get(value, -1) <= position for copy in copies for value in held[copy])
            if target not in unsure and len(copies) == 1 and idle and all(copies.isdisjoint(each) for each in others):
                found.add(node)
                shared = copies
            else:
                shared = frozenset({node.output})
                held[node.output] = []
        else:
            record = ops.registry.get(node.op)
            is_new = record is not None and not record.exact and all(value.dtype.kind != "l" for value in reads(node))
            shared = frozenset() if is_new else frozenset().union(*(memory.get(value, ()) for value in reads(node)))
        for value in node.outputs:
            memory[value] = shared
            for copy in shared:
                held[copy].append(value)
    return found


def _chains(function: Function) -> Iterator[list[Node]]:
    """Yield read_state, slice_update, …, write_state for every state that is read once before its only write."""
    made_by = {value: node for node in function.nodes for value in node.outputs}
    writes = Counter(_state_of(node) for node in walk(function.nodes) if node.op == "write_state")
    for position, write in enumerate(function.nodes):
        if write.op != "write_state" or writes[_state_of(write)] != 1:
            continue
        sources = [
            node
            for node in walk(function.nodes[:position])
            if node.op == "read_state" and _state_of(node) is _state_of(write)
        ]
        chain = [write]
        value = write.inputs["data"]
        while isinstance(value, Value) and value in made_by and made_by[value].op == "slice_update":
            chain.append(made_by[value])
            value = made_by[value].inputs["x"]
        source = made_by.get(value) if isinstance(value, Value) else None
        if len(chain) > 1 and len(sources) == 1 and source is sources[0]:
            yield [source, *reversed(chain)]


def _state_of(node: Node) -> Value:
    state = node.inputs["input"]
    assert isinstance(state, Value)  # noqa: S101  # a state is one value; mypy needs to hear it
    return state


def _roots(function: Function) -> dict[Value, frozenset[Value]]:
    """Return for every computed value the values whose arrays it may share."""
    roots: dict[Value, frozenset[Value]] = {}
    for node in function.nodes:
        record = ops.registry.get(node.op)
        of_list = any(value.dtype.kind == "l" for value in arguments(node))
        may_share = record is None or of_list or (record.exact and node.op != "read_state")
        shared = (
            frozenset[Value]().union(*(roots.get(value, frozenset()) for value in reads(node)))
            if may_share
            else frozenset[Value]()
        )
        for value in node.outputs:
            roots[value] = shared | {value}
    return roots


def _last_reads(function: Function) -> dict[Value, int]:
    last = {value: position for position, node in enumerate(function.nodes) for value in reads(node)}
    last.update({value: len(function.nodes) for value in function.outputs.values()})
    return last


def _is_last(
    update: Node,
    sharing: list[Value],
    last: dict[Value, int],
    positions: dict[Node, int],
) -> bool:
    """Whether nothing made before `update` that may share the state's array is read after it."""
    now = positions[update]
    others = [
        value for value in arguments(update) if value is not update.inputs["x"] and not isinstance(value, Constant)
    ]
    if any(value in sharing for value in others):
        return False  # the update reads the memory that it would overwrite
    made = {value: position for node, position in positions.items() for value in node.outputs}
    return all(made[value] >= now or last.get(value, -1) <= now for value in sharing)
