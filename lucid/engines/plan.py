"""The NumPy engine: a function becomes a plan, a flat list of steps over numbered slots.

Constants are prepared once, dead values are dropped at the step that last reads them, and the cache write
``read_state -> slice_update -> write_state`` happens in the state's own memory. A float16 value is carried in a float32
array whose numbers all lie on the float16 grid: each operation computes in float32 and its result is rounded once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid import ops
from lucid.dtypes import float16
from lucid.engines.aliasing import updates_in_place
from lucid.engines.mapping import drop_pages
from lucid.errors import InternalError, LucidError, UnsupportedError
from lucid.graph import Constant, Function, Node, Value, arguments
from lucid.ops.execution import attribute_of
from lucid.ops.record import Kind, Operation
from lucid.ops.slices import resolve_slices

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Observer", "Plan", "to_grid"]

Observer = Callable[[Value, "NDArray[Any]"], None]


@dataclass(frozen=True, slots=True)
class _Step:
    """One operation: its kernel's positional arguments, with the run-time ones filled in from slots."""

    node: Node
    kernel: Callable[..., Any]
    fixed: tuple[Any, ...]
    moving: tuple[tuple[int, int | tuple[int, ...]], ...]
    targets: tuple[int, ...]
    rounded: tuple[bool, ...]
    freed: tuple[int, ...]
    position: int
    in_place: bool


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
        self._steps = self._compile()
        self._outputs = tuple((name, self._slot(value), value.dtype) for name, value in function.outputs.items())

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        state: MutableMapping[str, NDArray[Any]] | None = None,
        observe: Observer | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Execute the function once; `observe` is shown every value as it is computed."""
        slots = self._initial.copy()
        for name, slot, dtype in self._inputs:
            array = inputs[name]
            slots[slot] = to_grid(array) if dtype == float16 else array
        state = {} if state is None else state
        with np.errstate(all="ignore"):
            for step in self._steps:
                self._execute(step, slots, state)
                if observe is not None:
                    for value, slot in zip(step.node.outputs, step.targets, strict=True):
                        observe(value, slots[slot])
                for slot in step.freed:
                    slots[slot] = None
        return {name: np.array(slots[slot], dtype=dtype.numpy) for name, slot, dtype in self._outputs}

    def _execute(self, step: _Step, slots: list[Any], state: MutableMapping[str, NDArray[Any]]) -> None:
        if step.node.op == "read_state":
            slots[step.targets[0]] = state[step.fixed[0]]
            return
        call = list(step.fixed)
        for place, source in step.moving:
            call[place] = slots[source] if isinstance(source, int) else [slots[each] for each in source]
        if step.node.op == "write_state":
            state[step.fixed[0]] = call[1] if step.in_place else np.array(call[1])
            return
        try:
            results = step.kernel(*call)
        except LucidError as error:
            raise error.at(self._place(step)) from None
        except (ValueError, TypeError, IndexError) as error:
            raise InternalError(f"{type(error).__name__}: {error}", where=self._place(step)) from error
        if not isinstance(results, tuple):
            results = (results,)
        for target, result, rounded in zip(step.targets, results, step.rounded, strict=True):
            slots[target] = to_grid(result) if rounded else result

    def _place(self, step: _Step) -> str:
        names = ", ".join(value.name for value in step.node.outputs)
        return f"function {self.function.name}, operation {step.position} ({step.node.op} -> {names})"

    # -- compiling --------------------------------------------------------------------------------------------------

    def _compile(self) -> tuple[_Step, ...]:
        nodes = self.function.nodes
        last = self._last_reads(nodes)
        in_place = updates_in_place(self.function)
        steps = []
        for position, node in enumerate(nodes):
            freed = tuple(
                {self._slot(value): None for value in arguments(node) if last.get(value) == position}
                | {self._slot(value): None for value in node.outputs if value not in last}
            )
            steps.append(self._step(node, position, freed, node in in_place))
        return tuple(steps)

    def _last_reads(self, nodes: tuple[Node, ...]) -> dict[Value, int]:
        last: dict[Value, int] = {}
        for position, node in enumerate(nodes):
            for value in arguments(node):
                if not isinstance(value, Constant) and value not in self._states:
                    last[value] = position
        for value in self.function.outputs.values():
            last[value] = len(nodes)
        return last

    def _step(self, node: Node, position: int, freed: tuple[int, ...], in_place: bool) -> _Step:
        if node.blocks:
            raise UnsupportedError(
                f"operation {node.op}: the numpy engine runs no inner blocks.",
                where=f"function {self.function.name}, operation {position}",
            )
        try:
            record = ops.find(node.op)
        except UnsupportedError as error:
            names = ", ".join(value.name for value in node.outputs)
            raise error.at(f"function {self.function.name}, operation {position} (-> {names})") from None
        fixed, moving = self._arguments(record, node)
        rounded = tuple(value.dtype == float16 and not record.exact for value in node.outputs)
        targets = tuple(self._slot(value) for value in node.outputs)
        kernel = _slice_update_in_place if in_place and node.op == "slice_update" else _positional(record)
        return _Step(node, kernel, tuple(fixed), tuple(moving), targets, rounded, freed, position, in_place)

    def _arguments(self, record: Operation, node: Node) -> tuple[list[Any], list[tuple[int, int | tuple[int, ...]]]]:
        fixed: list[Any] = []
        moving: list[tuple[int, int | tuple[int, ...]]] = []
        unknown = [name for name in node.inputs if name not in record.parameters]
        if unknown:
            raise UnsupportedError(f"operation {node.op}: lucid does not know its input {unknown[0]}.")
        for place, (name, parameter) in enumerate(record.parameters.items()):
            given = node.inputs.get(name)
            if given is None:
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

    def _prepare(self, constant: Constant) -> Any:
        """Return a constant's array as kernels take it; constants that share data share the prepared array."""
        data = constant.data
        if isinstance(data, str) or constant.dtype != float16:
            return data
        key = id(data)
        if key not in self._prepared:
            self._prepared[key] = to_grid(data)
            drop_pages(data)
        return self._prepared[key]


def _positional(record: Operation) -> Callable[..., Any]:
    """Return the kernel as a function of positional arguments, in the order of the record's parameters."""
    named = inspect.signature(record.kernel).parameters.values()
    if all(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in named):
        return record.kernel
    return lambda *arguments: record.kernel(**dict(zip(record.parameters, arguments, strict=True)))


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
