"""The record of an operation, and the one place where operations are registered.

A family file defines an operation by its kernel, whose signature *is* MIL's list of inputs:

- ``Array`` and ``Sequence[Array]`` are values that may be computed at run time;
- ``TensorList`` is a list of MIL; ``Block`` is an inner block of the operation, in the order of its blocks;
- plain Python types (``int``, ``float``, ``bool``, ``str``, ``Ints``, ``Bools``, ``Labels``) are attributes, known when
  the program is made.

Everything else (the function ``lucid.ops.<name>``, recording, execution, the package's reader and writer, the tests) is
derived from the record.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, TypeVar

from lucid.errors import InternalError, ShapeError
from lucid.ops.array import Array, Block, Bools, Ints, Labels
from lucid.ops.lists import TensorList

__all__ = ["Kind", "Operation", "Parameter", "Sample", "operation", "registry", "sample"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
OPSETS = ("iOS15", "iOS16", "iOS17", "iOS18")
FACETS = ("dtype", "variable", "integers", "bytes", "bool", "half")


class Kind(Enum):
    """What an operation's parameter takes."""

    ARRAY = "array"
    ARRAYS = "arrays"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    INTS = "ints"
    BOOLS = "bools"
    LABELS = "labels"
    LIST = "list"
    BLOCK = "block"


_KINDS: dict[Any, Kind] = {
    Array: Kind.ARRAY,
    Sequence[Array]: Kind.ARRAYS,
    int: Kind.INT,
    float: Kind.FLOAT,
    bool: Kind.BOOL,
    str: Kind.STR,
    Ints: Kind.INTS,
    Bools: Kind.BOOLS,
    Labels: Kind.LABELS,
    TensorList: Kind.LIST,
    Block: Kind.BLOCK,
}


@dataclass(frozen=True)
class Parameter:
    """One named input of an operation; `default` is ``inspect.Parameter.empty`` where MIL requires the input."""

    name: str
    kind: Kind
    default: Any

    @property
    def required(self) -> bool:
        """Whether a call must give this input."""
        return self.default is inspect.Parameter.empty

    @property
    def is_attribute(self) -> bool:
        """Whether the value is known when the program is made."""
        return self.kind not in (Kind.ARRAY, Kind.ARRAYS, Kind.LIST, Kind.BLOCK)


@dataclass(frozen=True)
class Sample:
    """One call of an operation and the literal values it gives, both as nested Python numbers."""

    inputs: Mapping[str, Any]
    gives: tuple[Any, ...]


def sample(*gives: Any, **inputs: Any) -> Sample:
    """Return a sample: the outputs first, then the inputs by name. Numbers with a point are float32, others int32."""
    return Sample(inputs, gives)


@dataclass(frozen=True, eq=False)
class Operation:
    """An operation of MIL.

    ``since`` is the first opset that has it. ``later`` is what opsets after that one added, each with the opset:

    - ``name``: the input; ``name=value``: a value of it;
    - ``name:dtype``: a floating dtype of its own, where it had to share that of the first input;
    - ``name:variable``: being computed at run time, where it had to be a constant;
    - ``name:integers``: integers of 8 and 16 bits (``name:bytes`` where those of 8 bits came later still);
    - ``name:bool``: elements of bool;
    - ``name:half``: elements of float16.

    The attributes in ``float32`` are written as float32 whatever the dtype of the first input, because their usual
    values are nothing in float16. ``until`` names the inputs that only older forms of the operation have, each with the
    last opset of that form. ``exact`` operations move, select or compare values and round nothing.
    The outputs of a ``typed`` operation have the dtype that an attribute (or the kind of the operation) says; the
    floating outputs of all others have the dtype of their floating inputs. ``pure`` operations give the same result
    for the same inputs and have no other effect.
    """

    name: str
    kernel: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    since: str
    family: str
    samples: tuple[Sample, ...] = field(repr=False)
    exact: bool = False
    typed: bool = False
    pure: bool = True
    later: Mapping[str, str] = field(default_factory=dict, repr=False)
    float32: tuple[str, ...] = ()
    until: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return inspect.cleandoc(self.kernel.__doc__ or "")

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def bind(self, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments of a call by name, defaults filled in, ``None`` for optional inputs not given."""
        bound = dict(zip(self.parameters, args, strict=False))
        unknown = [name for name in kwargs if name not in self.parameters or name in bound]
        if unknown or len(args) > len(self.parameters):
            takes = ", ".join(self.parameters)
            raise ShapeError(
                f"{self.name}: cannot take {', '.join(unknown) or f'{len(args)} arguments'}. It takes {takes}."
            )
        bound.update(kwargs)
        for name, parameter in self.parameters.items():
            if name not in bound:
                if parameter.required:
                    raise ShapeError(f"{self.name}: input {name} is missing. Pass {', '.join(self.parameters)}.")
                bound[name] = parameter.default
        return {name: bound[name] for name in self.parameters}

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Apply the operation: on tensors it is executed and recorded, on arrays it is only executed."""
        from lucid.ops.execution import dispatch

        return dispatch(self, self.bind(*args, **kwargs))


registry: dict[str, Operation] = {}


def operation(
    *samples: Sample,
    since: str = "iOS15",
    exact: bool = False,
    typed: bool = False,
    pure: bool = True,
    name: str | None = None,
    later: Mapping[str, str] | None = None,
    float32: tuple[str, ...] = (),
    until: Mapping[str, str] | None = None,
) -> Callable[[Kernel], Operation]:
    """Register the decorated kernel as an operation. An incomplete record is refused when its file is imported.

    `name` is needed only where MIL's name is a Python word or would hide a built-in (``abs_`` for ``abs``).
    """

    def register(kernel: Kernel) -> Operation:
        mil = name or kernel.__name__.rstrip("_")
        try:
            parameters = {
                parameter.name: Parameter(parameter.name, _kind(parameter.annotation), parameter.default)
                for parameter in inspect.signature(kernel, eval_str=True).parameters.values()
            }
        except KeyError as error:
            raise InternalError(f"operation {mil}: {error.args[0]} is not a type that inputs have.") from None
        if mil in registry:
            raise InternalError(f"operation {mil}: registered twice.")
        has_docstring = bool(kernel.__doc__) or sys.flags.optimize >= 2  # python -OO strips them all
        if not samples or not has_docstring or since not in OPSETS:
            raise InternalError(f"operation {mil}: needs a docstring, an opset and a sample with literal values.")
        _check_later(mil, parameters, since, later or {}, float32)
        for key, opset in (until or {}).items():
            if key not in parameters or parameters[key].required or not since <= opset < OPSETS[-1]:
                raise InternalError(f"operation {mil}: until says {key!r}: {opset!r}, which is no input of old forms.")
        family = kernel.__module__.rpartition(".")[2]
        record = Operation(
            mil,
            kernel,
            parameters,
            since,
            family,
            samples,
            exact,
            typed,
            pure,
            MappingProxyType(dict(later or {})),
            float32,
            MappingProxyType(dict(until or {})),
        )
        registry[mil] = record
        return record

    return register


def _check_later(
    mil: str, parameters: Mapping[str, Parameter], since: str, later: Mapping[str, str], float32: tuple[str, ...]
) -> None:
    """Refuse additions that name no input, no facet of inputs or no opset after the first."""
    for key, opset in later.items():
        name, _, facet = key.partition("=")[0].partition(":")
        if name not in parameters or (facet or FACETS[0]) not in FACETS or opset not in OPSETS or opset <= since:
            raise InternalError(f"operation {mil}: later says {key!r}: {opset!r}, which is no addition to an input.")
    for name in float32:
        if name not in parameters or parameters[name].kind is not Kind.FLOAT:
            raise InternalError(f"operation {mil}: float32 names {name!r}, which is no attribute of kind float.")


def _kind(annotation: Any) -> Kind:
    parts = [part for part in getattr(annotation, "__args__", ()) if part is not type(None)]
    is_optional = type(None) in getattr(annotation, "__args__", ())
    return _KINDS[parts[0] if is_optional else annotation]
