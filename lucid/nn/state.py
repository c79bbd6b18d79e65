"""Taking over the values of a state_dict, all of them or none."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from lucid.errors import DTypeError, LoadError
from lucid.tensor import Tensor, as_tensor, from_numpy

__all__ = ["Incompatible", "load_state"]

_SHOWN = 10


class Incompatible(NamedTuple):
    """The keys a module has and the state_dict lacks, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def load_state(
    owner: str, own: Mapping[str, Tensor], given: Mapping[str, Any], *, strict: bool, assign: bool
) -> Incompatible:
    """Put the values of `given` into the boxes of `own`. Raises LoadError, before anything is changed."""
    missing = [key for key in own if key not in given]
    unexpected = [key for key in given if key not in own]
    values: dict[str, Tensor] = {}
    faults: list[str] = []
    for key, box in own.items():
        if key not in given:
            continue
        try:
            value = _taken(given[key], assign)
        except DTypeError as error:
            faults.append(f"{key}: {error.message}")
            continue
        if value.shape != box.shape:
            faults.append(f"{key}: the state_dict has shape {value.shape}, the module {box.shape}.")
        values[key] = value
    text = []
    if strict and missing:
        text.append(f"missing: {_listed(missing, unexpected)}")
    if strict and unexpected:
        text.append(f"unexpected: {_listed(unexpected, missing)}")
    if faults:
        text.append("\n    ".join(["not fitting:", *faults[:_SHOWN], *_rest(faults)]))
    if text:
        lines = "\n  ".join(text)
        remedy = "" if faults else "\nPass strict=False to load the keys that both have."
        raise LoadError(f"{owner}: the state_dict does not fit the module.\n  {lines}{remedy}")
    for key, value in values.items():
        box = own[key]
        box._value = value._value if assign else value.to(box.dtype)._value
    return Incompatible(missing, unexpected)


def _taken(value: Any, assign: bool) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray):
        return from_numpy(value) if assign else as_tensor(value)
    try:
        return as_tensor(value.detach().numpy() if hasattr(value, "detach") else value)
    except TypeError as error:
        raise DTypeError(
            f"the value cannot be read as an array ({error}). Cast it to a dtype that NumPy has."
        ) from None


def _listed(keys: list[str], others: list[str]) -> str:
    """Name keys, each with the nearest of the keys left over on the other side."""
    named = []
    for key in keys[:_SHOWN]:
        near = difflib.get_close_matches(key, others[:200], 1, 0.8)
        named.append(f"{key} (did you mean {near[0]}?)" if near else key)
    return ", ".join([*named, *_rest(keys)])


def _rest(items: list[str]) -> list[str]:
    return [f"and {len(items) - _SHOWN} more"] if len(items) > _SHOWN else []
