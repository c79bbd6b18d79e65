"""What a model takes and returns, as flat named tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from lucid.errors import TraceError
from lucid.tensor import Tensor, as_tensor

__all__ = ["by_argument", "flatten", "renamed"]


def by_argument(model: Callable[..., Any], example: object) -> dict[str, Tensor]:
    """Return example inputs by the model's argument names, in their order.

    `example` is a tensor, a tuple (or list) in the model's argument order, or a mapping by argument name. Raises
    TraceError where the names or the number of inputs do not fit the signature.
    """
    signature = inspect.signature(getattr(model, "forward", model))
    names = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    takes = f"The model takes {', '.join(names) or 'no arguments'}."
    if isinstance(example, Mapping):
        try:
            bound = signature.bind(**example)
        except TypeError as error:
            raise TraceError(f"example: {error}; it has {', '.join(map(str, example))}. {takes}") from None
        given = {name: example[name] for name in bound.arguments if name in example}
        given |= {name: value for name, value in example.items() if name not in given}
    else:
        values = tuple(example) if isinstance(example, (tuple, list)) else (example,)
        try:
            signature.bind(*values)
        except TypeError as error:
            raise TraceError(f"example: {error}; {len(values)} inputs are given. {takes}") from None
        names += [f"input_{index}" for index in range(len(names), len(values))]
        given = dict(zip(names, values, strict=False))
    for name, value in given.items():
        if value is None or isinstance(value, Mapping):
            kind = "None" if value is None else "a mapping"
            raise TraceError(f"example: {name} is {kind}; every input is a tensor. Leave an optional argument out.")
    return {name: as_tensor(value) for name, value in given.items()}


def flatten(returned: object) -> dict[str, Tensor]:
    """Return the tensors of a model's return value by name.

    A mapping, dataclass or NamedTuple names its tensors; a tensor, tuple or list becomes ``output_0``, ``output_1``, …
    Names of nested values are joined by an underscore. Raises TraceError for anything that is not a tensor.
    """
    named: dict[str, Tensor] = {}
    for name, value in _leaves(returned, ""):
        if not isinstance(value, Tensor):
            raise TraceError(
                f"the model's return value {name or 'output_0'} is a {type(value).__name__}. Return tensors: alone, "
                "in a tuple, or in a mapping, dataclass or NamedTuple that names them."
            )
        if (name or "output_0") in named:
            raise TraceError(f"two of the model's return values are called {name}. Give each a name of its own.")
        named[name or "output_0"] = value
    if not named:
        raise TraceError("the model returns nothing. Return at least one tensor.")
    return named


def _leaves(value: object, prefix: str) -> Iterator[tuple[str, object]]:
    children: Iterator[tuple[str, object]]
    if isinstance(value, Mapping):
        children = ((str(key), item) for key, item in value.items())
    elif is_dataclass(value) and not isinstance(value, type):
        children = ((field.name, getattr(value, field.name)) for field in fields(value))
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        children = zip(value._fields, value, strict=True)
    elif isinstance(value, (tuple, list)):
        children = ((str(index) if prefix else f"output_{index}", item) for index, item in enumerate(value))
    else:
        yield prefix, value
        return
    for name, item in children:
        yield from _leaves(item, f"{prefix}_{name}" if prefix else name)


def renamed(outputs: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Return `outputs` under the names asked for, in order. Raises TraceError where the numbers differ."""
    if names is None:
        return dict(outputs)
    if len(names) != len(outputs) or len(set(names)) != len(names):
        raise TraceError(
            f"outputs: {len(names)} names are given ({', '.join(names)}), the model returns {len(outputs)} "
            f"({', '.join(outputs)}). Give one name, each its own, for every tensor the model returns."
        )
    return dict(zip(names, outputs.values(), strict=True))
