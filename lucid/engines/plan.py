"""The NumPy engine: a function becomes a plan, a flat list of steps over numbered slots.

Constants are prepared once, compressed weights included, dead values are dropped at the step that last reads them, and
the cache write ``read_state -> slice_update -> write_state`` happens in the state's own memory. Inner blocks are lists
of steps over the same slots, so that they see what was computed before them. A float16 value is carried in a float32
array whose numbers all lie on the float16 grid: each operation computes in float32 and its result is rounded once.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid import ops
from lucid.dtypes import DType, float16
from lucid.engines.aliasing import updates_in_place
from lucid.engines.decompression import decompress, is_compressed
from lucid.engines.mapping import drop_pages
from lucid.errors import InternalError, LucidError, ShapeError, UnsupportedError
from lucid.graph import Block, Constant, Function, Node, Value, reads, walk
from lucid.ops.execution import attribute_of
from lucid.ops.record import Kind, Operation
from lucid.ops.slices import resolve_slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Observer", "Plan", "to_grid"]

Observer = Callable[[Value, "NDArray[Any]"], None]
_LARGE = 1 << 16


@dataclass(frozen=True, slots=True)
class _Step:
    """One operation: its kernel's positional arguments, with the run-time ones filled in from slots."""

    op: str
    outputs: tuple[Value, ...]
    kernel: Callable[..., Any]
    fixed: tuple[Any, ...]
    moving: tuple[tuple[int, int | tuple[int, ...]], ...]
    targets: tuple[int, ...]
    rounded: tuple[bool, ...]
    freed: tuple[int, ...]
    where: str
    in_place: bool
    blocks: tuple[tuple[int, _Block], ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """An inner block: where its inputs go, its steps, where its outputs are, and what to drop when it is done."""

    inputs: tuple[int, ...]
    steps: tuple[_Step, ...]
    outputs: tuple[int, ...]
    own: tuple[int, ...]


class Plan:
    """A function made ready to run on NumPy.

    ``run`` takes the inputs by name and a state (arrays by state name, updated in place) and returns the outputs by
    name. Values have the dtypes that the function declares.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self._slots: dict[Value, int] = {}
        self._initial: list[Any] = []
        self._prepared: dict[int, NDArray[Any]] = {}
        self._states = {state: state.name for state in function.states}
        self._inputs = tuple((value.name, self._slot(value), value.dtype) for value in function.inputs)
        program = decompress(function)
        defined = {*function.inputs, *(value for node in program.nodes for value in node.outputs)}
        in_place = updates_in_place(program)
        results = tuple(program.outputs.values())
        self._prepare_weights(program)
        self._steps = self._compile(program.nodes, defined, results, in_place, f"function {function.name}")
        self._outputs = tuple((name, self._slot(value), value.dtype) for name, value in program.outputs.items())
        self._prepared.clear()  # its keys are the addresses of arrays that go with the program

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        state: MutableMapping[str, NDArray[Any]] | None = None,
        observe: Observer | None = None,
    ) -> dict[str, Any]:
        """Execute the function once; `observe` is shown every tensor as it is computed, in inner blocks too.

        Outputs are arrays; the label of a classifier is a string or an array of int64 (), its probabilities a dict.
        """
        slots = self._initial.copy()
        for name, slot, dtype in self._inputs:
            array = inputs[name]
            slots[slot] = to_grid(array) if dtype == float16 else array
        state = {} if state is None else state
        with np.errstate(all="ignore"):
            self._run(self._steps, slots, state, observe)
        return {name: _result(slots[slot], dtype) for name, slot, dtype in self._outputs}

    def _run(
        self,
        steps: tuple[_Step, ...],
        slots: list[Any],
        state: MutableMapping[str, NDArray[Any]],
        observe: Observer | None,
    ) -> None:
        for step in steps:
            self._execute(step, slots, state, observe)
            if observe is not None:
                for value, slot in zip(step.outputs, step.targets, strict=True):
                    if value.dtype.kind in "biuf":
                        observe(value, slots[slot])
            for slot in step.freed:
                slots[slot] = None

    def _execute(
        self,
        step: _Step,
        slots: list[Any],
        state: MutableMapping[str, NDArray[Any]],
        observe: Observer | None,
    ) -> None:
        if step.op == "read_state":
            slots[step.targets[0]] = state[step.fixed[0]]
            return
        call = list(step.fixed)
        for place, source in step.moving:
            call[place] = slots[source] if isinstance(source, int) else [slots[each] for each in source]
        if step.op == "write_state":
            state[step.fixed[0]] = call[1] if step.in_place else np.array(call[1])
            return
        for place, block in step.blocks:
            call[place] = partial(self._run_block, block, slots, state, observe)
        try:
            results = step.kernel(*call)
        except LucidError as error:
            raise error.at(step.where) from None
        except MemoryError as error:
            raise ShapeError(f"the result does not fit into memory: {error}.", where=step.where) from error
        except (ValueError, TypeError, IndexError) as error:
            raise InternalError(f"{type(error).__name__}: {error}", where=step.where) from error
        if not isinstance(results, tuple):
            results = (results,)
        for target, result, rounded in zip(step.targets, results, step.rounded, strict=True):
            slots[target] = to_grid(result) if rounded else result

    def _run_block(
        self,
        block: _Block,
        slots: list[Any],
        state: MutableMapping[str, NDArray[Any]],
        observe: Observer | None,
        *inputs: Any,
    ) -> tuple[Any, ...]:
        if len(inputs) != len(block.inputs):
            raise UnsupportedError(f"a block has {len(block.inputs)} inputs, expected {len(inputs)}.")
        for slot, given in zip(block.inputs, inputs, strict=True):
            slots[slot] = given
        self._run(block.steps, slots, state, observe)
        results = tuple(slots[slot] for slot in block.outputs)
        for slot in block.own:
            slots[slot] = None
        return results

    # -- compiling --------------------------------------------------------------------------------------------------

    def _compile(
        self, nodes: tuple[Node, ...], defined: set[Value], results: Iterable[Value], in_place: set[Node], where: str
    ) -> tuple[_Step, ...]:
        """Return the steps of a function or block, which drop those of the values `defined` there that end there.

        Compressed weights are constants by now: their nodes keep their places, but nothing reads them.
        """
        last: dict[Value, int] = {}
        for position, node in enumerate(nodes):
            last.update((value, position) for value in reads(node) if value in defined)
        last.update((value, len(nodes)) for value in results)
        steps = []
        for position, node in enumerate(nodes):
            if is_compressed(node):
                continue
            freed = {self._slot(value): None for value in reads(node) if last.get(value) == position}
            freed |= {self._slot(value): None for value in node.outputs if value not in last}
            steps.append(self._step(node, tuple(freed), node in in_place, f"{where}, operation {position}"))
        return tuple(steps)

    def _step(self, node: Node, freed: tuple[int, ...], in_place: bool, where: str) -> _Step:
        names = ", ".join(value.name for value in node.outputs)
        try:
            record = ops.find(node.op)
        except UnsupportedError as error:
            raise error.at(f"{where} (-> {names})") from None
        where = f"{where} ({node.op} -> {names})"
        try:
            fixed, moving = self._arguments(record, node)
            blocks = self._blocks(record, node)
        except LucidError as error:
            raise error.at(where) from None
        rounded = tuple(value.dtype == float16 and not record.exact for value in node.outputs)
        targets = tuple(self._slot(value) for value in node.outputs)
        kernel = _slice_update_in_place if in_place and node.op == "slice_update" else _positional(record)
        return _Step(
            node.op, node.outputs, kernel, tuple(fixed), tuple(moving), targets, rounded, freed, where, in_place, blocks
        )

    def _blocks(self, record: Operation, node: Node) -> tuple[tuple[int, _Block], ...]:
        places = [place for place, each in enumerate(record.parameters.values()) if each.kind is Kind.BLOCK]
        if len(places) != len(node.blocks):
            raise UnsupportedError(f"it has {len(node.blocks)} inner blocks, expected {len(places)}.")
        return tuple((place, self._block(index, node.blocks[index])) for index, place in enumerate(places))

    def _block(self, index: int, block: Block) -> _Block:
        defined = {*block.inputs, *(value for node in block.nodes for value in node.outputs)}
        steps = self._compile(block.nodes, defined, block.outputs, set(), f"block {index}")
        inputs = tuple(self._slot(value) for value in block.inputs)
        outputs = tuple(self._slot(value) for value in block.outputs)
        own = {*inputs, *(self._slot(value) for value in block.outputs if value in defined)}
        return _Block(inputs, steps, outputs, tuple(own))

    def _arguments(self, record: Operation, node: Node) -> tuple[list[Any], list[tuple[int, int | tuple[int, ...]]]]:
        fixed: list[Any] = []
        moving: list[tuple[int, int | tuple[int, ...]]] = []
        unknown = [name for name in node.inputs if name not in record.parameters]
        if unknown:
            raise UnsupportedError(f"operation {node.op}: lucid does not know its input {unknown[0]}.")
        for place, (name, parameter) in enumerate(record.parameters.items()):
            given = node.inputs.get(name)
            if parameter.kind is Kind.BLOCK:
                fixed.append(None)
            elif given is None:
                if parameter.required:
                    raise UnsupportedError(f"operation {node.op}: the required input {name} is missing.")
                fixed.append(parameter.default)
            elif parameter.kind is Kind.ARRAYS:
                several = given if isinstance(given, tuple) else (given,)
                fixed.append(None)
                moving.append((place, tuple(self._slot(value) for value in several)))
            elif isinstance(given, tuple):
                raise UnsupportedError(f"operation {node.op}: input {name} takes one value, {len(given)} are given.")
            elif given in self._states:
                fixed.append(self._states[given])
            elif parameter.is_attribute:
                fixed.append(attribute_of(node, name, given, parameter.kind))
            elif isinstance(given, Constant):
                fixed.append(self._prepare(given))
            else:
                fixed.append(None)
                moving.append((place, self._slot(given)))
        return fixed, moving

    def _slot(self, value: Value) -> int:
        if value not in self._slots:
            self._slots[value] = len(self._initial)
            self._initial.append(self._prepare(value) if isinstance(value, Constant) else None)
        return self._slots[value]

    def _prepare_weights(self, program: Function) -> None:
        """Prepare the large float16 constants on all processors: NumPy lets go of the interpreter meanwhile."""
        read = (value for node in walk(program.nodes) for value in reads(node) if isinstance(value, Constant))
        large = {
            id(constant.data): constant.data
            for constant in read
            if not isinstance(constant.data, str) and constant.dtype == float16 and constant.data.size > _LARGE
        }
        if large:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                self._prepared.update(zip(large, pool.map(_prepared, large.values()), strict=True))

    def _prepare(self, constant: Constant) -> Any:
        """Return a constant's array as kernels take it; constants that share data share the prepared array."""
        data = constant.data
        if isinstance(data, str) or constant.dtype != float16:
            return data
        key = id(data)
        if key not in self._prepared:
            self._prepared[key] = _prepared(data)
        return self._prepared[key]


def _prepared(data: NDArray[Any]) -> NDArray[Any]:
    """Return float16 numbers as kernels take them, and let go of the mapped pages that they were read from."""
    with np.errstate(all="ignore"):  # each thread has settings of its own
        array = to_grid(data)
    drop_pages(data)
    return array


def _positional(record: Operation) -> Callable[..., Any]:
    """Return the kernel as a function of positional arguments, in the order of the record's parameters."""
    named = inspect.signature(record.kernel).parameters.values()
    if all(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in named):
        return record.kernel
    return lambda *arguments: record.kernel(**dict(zip(record.parameters, arguments, strict=True)))


def _result(value: Any, dtype: DType) -> Any:
    """Return an output as callers get it: an array of its own, but for strings and dictionaries."""
    return value if dtype.kind in "sd" else np.array(value, dtype=dtype.numpy)


def to_grid(array: Any) -> NDArray[Any]:
    """Return float numbers rounded to float16, in a float32 array."""
    rounded = array if array.dtype == np.float16 else array.astype(np.float16)
    return rounded.astype(np.float32)  # type: ignore[no-any-return]


def _slice_update_in_place(x: Any, update: Any, begin: Any, end: Any, *rest: Any) -> Any:
    """``slice_update`` into the array `x` itself. The record's kernel reports what does not fit."""
    place = (*resolve_slices("slice_update", x.shape, begin, end, *rest), ...)
    if x[place].shape != update.shape:
        return ops.find("slice_update").kernel(x, update, begin, end, *rest)
    x[place] = update
    return x
