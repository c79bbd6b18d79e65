"""The methods and operators of a Tensor: one table from the functions of this package, no copies by hand."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from lucid import random
from lucid.functional import (
    activations,
    arithmetic,
    comparison,
    conversion,
    joining,
    linalg,
    pointwise,
    reductions,
    selecting,
    shapes,
    sorting,
)
from lucid.tensor import Tensor

__all__ = ["METHODS", "OPERATORS", "attach"]

_MODULES: tuple[ModuleType, ...] = (
    arithmetic,
    comparison,
    linalg,
    pointwise,
    reductions,
    selecting,
    shapes,
    sorting,
)
_FUNCTIONS_ONLY = frozenset({"where", "broadcast_tensors", "rsub"})
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "truediv": arithmetic.div,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "pow": arithmetic.pow,
    "matmul": linalg.matmul,
    "and": comparison.bitwise_and,
    "or": comparison.bitwise_or,
    "xor": comparison.bitwise_xor,
}


def _guarded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Let Python try the other operand where this one is not a number or an array."""

    def operator(x: Tensor, other: object) -> Any:
        if not isinstance(other, (Tensor, bool, int, float)) and not hasattr(other, "__array__"):
            return NotImplemented
        return function(x, other)

    operator.__name__ = name
    operator.__doc__ = function.__doc__
    return operator


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, other: function(other, x)


def _methods() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {
        name: getattr(module, name)
        for module in _MODULES
        for name in module.__all__
        if name[0].islower() and name not in _FUNCTIONS_ONLY
    }
    table |= {name: getattr(activations, name) for name in ("relu", "softmax", "log_softmax")}
    table |= {name: getattr(joining, name) for name in ("split", "chunk", "unbind")}
    table |= {name: getattr(conversion, name) for name in ("clone", "contiguous", "fill_", "type_as", "zero_")}
    table |= {name: getattr(conversion, name) for name in ("new_full", "new_ones", "new_tensor", "new_zeros")}
    table |= {name: getattr(conversion, f"as_{name}") for name in ("bool", "double", "float", "half", "int")}
    table |= {name: getattr(random, name) for name in ("bernoulli", "normal_", "uniform_")}
    table["where"] = lambda x, condition, other: comparison.where(condition, x, other)
    return table | conversion.IN_PLACE


def _operators() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {}
    for name, function in _ARITHMETIC.items():
        table[f"__{name}__"] = _guarded(function, f"__{name}__")
        table[f"__r{name}__"] = _guarded(_swapped(function), f"__r{name}__")
        table[f"__i{name}__"] = _guarded(conversion.in_place(function, f"{function.__name__}_"), f"__i{name}__")
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        table[f"__{name}__"] = _guarded(getattr(comparison, name), f"__{name}__")
    table["__neg__"] = arithmetic.neg
    table["__pos__"] = conversion.contiguous
    table["__abs__"] = pointwise.abs
    table["__invert__"] = comparison.bitwise_not
    return table


METHODS = _methods()
OPERATORS = _operators()


def attach() -> None:
    """Give the Tensor class its methods, operators and properties."""
    for name, function in (METHODS | OPERATORS).items():
        setattr(Tensor, name, function)
    Tensor.T = property(shapes.t, doc="The transpose of a matrix.")  # type: ignore[assignment]  # declared as what it yields
    Tensor.mT = property(_matrix_transpose, doc="The matrices of the last two axes, transposed.")  # type: ignore[assignment]  # declared as what it yields


def _matrix_transpose(x: Tensor) -> Tensor:
    return shapes.transpose(x, -2, -1)
