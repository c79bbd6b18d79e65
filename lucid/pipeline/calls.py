"""The inputs of the golden calls, made as the spec says: the same numbers on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import LoadError
from lucid.pipeline.spec import Spec
from lucid.pipeline.spec_tables import Input
from lucid.pipeline.spec_values import Constant, File, Integers, Listed, Normal, Uniform
from lucid.random import Generator, randint

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["make_calls", "zeros"]


def make_calls(spec: Spec) -> list[dict[str, NDArray[Any]]]:
    """Return one mapping of inputs by name per golden call; the inputs of states are not among them.

    Raises LoadError where a value file cannot be read, or its arrays do not fit the input.
    """
    states = {state.input for state in spec.states}
    free = [each for each in spec.inputs if each.name not in states]
    stored = {each.name: _stored(each, spec) for each in free if isinstance(each.values, File)}
    return [{each.name: _value(each, index, spec, stored) for each in free} for index in range(spec.golden.calls)]


def zeros(spec: Spec) -> dict[str, NDArray[Any]]:
    """Return the starting values of the states, by the names of their inputs: zero."""
    states = {state.input for state in spec.states}
    return {each.name: np.zeros(each.shape, each.dtype) for each in spec.inputs if each.name in states}


def _value(each: Input, index: int, spec: Spec, stored: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    generator = Generator(_seed(spec.golden.seed, each.name, index))
    match each.values:
        case "ones":
            return np.ones(each.shape, each.dtype)
        case "index":
            return np.full(each.shape, index, each.dtype)
        case Constant(constant=number):
            return np.full(each.shape, number, each.dtype)
        case Normal(normal=parameters):
            drawn = generator.normal(math.prod(each.shape)) * parameters.std + parameters.mean
        case Uniform(uniform=ends):
            drawn = generator.uniform(math.prod(each.shape)) * (ends.high - ends.low) + ends.low
        case Integers(integers=ends):
            drawn = randint(ends.low, ends.high, (math.prod(each.shape),), generator=generator).numpy()
        case Listed(list=entries):
            return _fitted(np.asarray(entries[index]), each, f"entry {index} of the list")
        case File(file=name):
            return _fitted(stored[each.name][index], each, f"entry {index} of {name}")
        case _:
            return np.zeros(each.shape, each.dtype)
    return np.asarray(drawn).reshape(each.shape).astype(each.dtype)


def _seed(seed: int, name: str, index: int) -> int:
    """Return a seed of its own for every input and call, so that adding an input changes no other."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}/{index}".encode()).digest()[:8], "little") >> 1


def _fitted(array: NDArray[Any], each: Input, what: str) -> NDArray[Any]:
    if array.ndim and array.shape != each.shape:
        raise LoadError(f"{what} has shape {array.shape}, the input {each.shape}.", where=f"input {each.name}")
    if array.dtype.kind == "f" and each.dtype in ("int32", "bool"):
        raise LoadError(f"{what} is {array.dtype}, the input {each.dtype}.", where=f"input {each.name}")
    if each.dtype == "int32" and array.size and (array.max() > 2**31 - 1 or array.min() < -(2**31)):
        raise LoadError(f"{what} holds {array.max()}, which int32 cannot.", where=f"input {each.name}")
    return np.broadcast_to(array, each.shape).astype(each.dtype)


def _stored(each: Input, spec: Spec) -> NDArray[Any]:
    assert isinstance(each.values, File)  # noqa: S101  # the caller asks for files only
    path = spec.root / each.values.file
    where = f"input {each.name}: {each.values.file}"
    try:
        array = _read(path, each.values.key)
    except KeyError as error:
        raise LoadError(f"no array {error}.", where=where) from None
    except Exception as error:  # each format has errors of its own
        raise LoadError(f"the file cannot be read: {error}", where=where) from error
    if array.ndim != len(each.shape) + 1 or array.shape[0] < spec.golden.calls:
        raise LoadError(
            f"the array has shape {array.shape}; expected {(spec.golden.calls, *each.shape)}, one entry a call along "
            "the first axis.",
            where=where,
        )
    return array


def _read(path: Path, key: str | None) -> NDArray[Any]:
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            return archive[_only(key, archive.files)]  # type: ignore[no-any-return]
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return file.get_tensor(_only(key, list(file.keys())))  # type: ignore[no-any-return]


def _only(key: str | None, names: list[str]) -> str:
    if key is not None:
        if key not in names:
            raise KeyError(f"{key!r}; the file holds {', '.join(names)}")
        return key
    if len(names) != 1:
        raise KeyError(f"named: the file holds {', '.join(names)}; say which with key = ")
    return names[0]
