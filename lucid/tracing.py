"""Recording: operations on tensors become nodes of a graph while a trace is active.

A trace knows values, not boxes: it is told which arrays are inputs and which are named constants (parameters and
buffers), and every other array it meets is a constant of the program. Names come from the module that is running.
"""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.dtypes import DType, as_dtype, bool_, float32, int32, string
from lucid.errors import DTypeError, InternalError, UnsupportedError
from lucid.graph import Argument, Constant, Function, Node, Value
from lucid.ops.record import Kind, Operation, Parameter

if TYPE_CHECKING:
    from lucid.tensor import Tensor

__all__ = ["HostRead", "Trace", "Write", "current_trace", "recording", "scope"]

_ATTRIBUTE_DTYPES = {
    Kind.INT: int32,
    Kind.INTS: int32,
    Kind.BOOL: bool_,
    Kind.BOOLS: bool_,
}


@dataclass(frozen=True)
class HostRead:
    """A place where Python looked at a traced value: what it saw is frozen into the program."""

    value: Value
    place: str


@dataclass(frozen=True)
class Write:
    """The last place where a new value was put into a tensor in place; keeps the tensor, and so its identity."""

    box: Tensor
    value: Value
    place: str


class Trace:
    """A graph in the making."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.inputs: list[Value] = []
        self.host_reads: list[HostRead] = []
        self.writes: dict[int, Write] = {}
        self.outside: dict[int, tuple[Tensor, Any, str]] = {}
        self._made: dict[int, weakref.ref[Tensor]] = {}
        self.paths: dict[int, str] = {}
        self._values: dict[int, tuple[weakref.ref[Any], Value]] = {}
        self._taken: dict[str, int] = {}
        self._scopes: list[str] = []

    def add_input(self, name: str, box: Tensor) -> Value:
        """Declare the value in `box` to be an input of the program."""
        if id(box._value) in self._values:
            box._value = box._value.view()
        value = Value(self._unique(name), box.dtype, box.shape)
        self.inputs.append(value)
        self._remember(box._value, value)
        return value

    def add_constant(self, name: str, box: Tensor) -> None:
        """Declare the value in `box` to be a constant called `name` (a dotted module path)."""
        if id(box._value) not in self._values:
            value = Constant(self._unique(name), box.dtype, box.shape, box._value)
            self._remember(box._value, value)

    def value_of(self, box: Tensor, hint: str = "constant") -> Value:
        """Return the graph's value for what is in `box`; what the trace has not met is a constant."""
        if id(box._value) not in self._values:
            self.add_constant(hint, box)
        return self._values[id(box._value)][1]

    def depends_on_inputs(self, box: Tensor) -> bool:
        """Return whether what is in `box` is an input or was computed in this trace."""
        known = self._values.get(id(box._value))
        return known is not None and not isinstance(known[1], Constant)

    def record(self, operation: Operation, boxes: Mapping[str, Any], results: Sequence[Tensor]) -> None:
        """Append one node: tensors (or tuples of them) and plain attributes by MIL's input names, and its results."""
        if operation.name == "non_zero" and self.depends_on_inputs(boxes["x"]):
            raise UnsupportedError(
                f"the positions where a mask is true are asked for at {_caller()}: how many there are depends on the "
                "input, and the program would keep the example's number. Choose with lucid.where(mask, a, b) or "
                "multiply by the mask instead."
            )
        base = self._unique("_".join([*self._scopes, operation.name]))
        inputs: dict[str, Argument] = {}
        for name, parameter in operation.parameters.items():
            if name not in boxes:
                continue
            given = boxes[name]
            if parameter.kind is Kind.ARRAY:
                inputs[name] = self.value_of(given, f"{base}_{name}")
            elif parameter.kind is Kind.ARRAYS:
                inputs[name] = tuple(self.value_of(box, f"{base}_{name}_{i}") for i, box in enumerate(given))
            else:
                inputs[name] = _constant(f"{base}_{name}", parameter, given, _attribute_dtype(operation, name, boxes))
        outputs = []
        for index, box in enumerate(results):
            name = base if len(results) == 1 else self._unique(f"{base}_{index}")
            value = Value(name, box.dtype, box.shape)
            self._remember(box._value, value)
            outputs.append(value)
        self.nodes.append(Node(operation.name, inputs, tuple(outputs)))

    def read_on_host(self, box: Tensor) -> None:
        """Note that Python code outside lucid looks at a value."""
        if self.depends_on_inputs(box):
            self.host_reads.append(HostRead(self._values[id(box._value)][1], _caller()))

    def make(self, box: Tensor) -> None:
        """Note that a box was made while this trace was recorded."""
        key = id(box)
        self._made[key] = weakref.ref(box, lambda _: self._made.pop(key, None))

    def write(self, box: Tensor, before: Any) -> None:
        """Note that a new value was put into a box that held `before`; of several writes to one box the last counts."""
        if id(box) not in self._made:
            self.outside.setdefault(id(box), (box, before, _caller()))
        if self.depends_on_inputs(box):
            self.writes[id(box)] = Write(box, self._values[id(box._value)][1], _caller())

    def put_back(self) -> None:
        """Give the boxes that were there before this trace the values they held."""
        for box, before, _ in self.outside.values():
            box._value = before

    def refuse_float64(self, box: Tensor) -> None:
        """Raise DTypeError: no float64 value can be part of a Core ML program."""
        raise DTypeError(f"to: {box.dtype} {box.shape} meets float64 in {_caller()}; Core ML has none. Use float32.")

    def finish(self, name: str, outputs: Mapping[str, Tensor]) -> Function:
        """Return the recorded function with the given tensors as its outputs."""
        results = {key: self.value_of(box, key) for key, box in outputs.items()}
        return Function(name, tuple(self.inputs), tuple(self.nodes), results)

    @contextmanager
    def within(self, owner: object) -> Iterator[None]:
        """Name what is recorded inside after the module path of `owner`."""
        path = self.paths.get(id(owner))
        if not path:
            yield
            return
        saved, self._scopes = self._scopes, [path]
        try:
            yield
        finally:
            self._scopes = saved

    def _remember(self, array: Any, value: Value) -> None:
        key = id(array)
        self._values[key] = (weakref.ref(array, lambda _: self._values.pop(key, None)), value)

    def _unique(self, name: str) -> str:
        clean = re.sub(r"\W", "_", name)
        if not re.match(r"[A-Za-z_]", clean):
            clean = f"_{clean}"
        count = self._taken.get(clean, 0)
        self._taken[clean] = count + 1
        if count == 0:
            return clean
        return self._unique(f"{clean}_{count}")


def _attribute_dtype(operation: Operation, name: str, boxes: Mapping[str, Any]) -> DType:
    """Return the dtype of a float attribute: that of the operation's floating tensors, or of its integers."""
    if name in operation.float32:
        return float32
    dtypes = []
    for given in boxes.values():
        for box in given if isinstance(given, tuple) else (given,):
            dtype = getattr(box, "dtype", None)
            if isinstance(dtype, DType):
                dtypes.append(dtype)
    floating = next((dtype for dtype in dtypes if dtype.is_floating_point), None)
    return floating or (int32 if dtypes and dtypes[0] == int32 else float32)


def _constant(name: str, parameter: Parameter, value: Any, number: DType) -> Constant:
    if parameter.kind is Kind.STR:
        return Constant(name, string, (), value)
    dtype = _ATTRIBUTE_DTYPES.get(parameter.kind, number)
    array = np.asarray(value, dtype=dtype.numpy)
    return Constant(name, as_dtype(array.dtype), array.shape, array)


def _caller() -> str:
    frame = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
        frame = frame.f_back  # type: ignore[assignment]  # ends at a frame outside lucid, or at None
    return "<unknown>" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


_current: ContextVar[Trace | None] = ContextVar("lucid_trace", default=None)


def current_trace() -> Trace | None:
    """Return the trace that operations are being recorded in, if any."""
    return _current.get()


@contextmanager
def recording(trace: Trace) -> Iterator[Trace]:
    """Record every operation inside in `trace`."""
    if _current.get() is not None:
        raise InternalError("recording: a trace is being recorded already.")
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


@contextmanager
def scope(owner: object) -> Iterator[None]:
    """Name what is recorded inside after the module path of `owner`; does nothing outside a trace."""
    trace = _current.get()
    if trace is None:
        yield
    else:
        with trace.within(owner):
            yield
