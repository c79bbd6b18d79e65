"""The inputs of the golden calls, made as the spec says: the same numbers on every machine."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import LoadError
from lucid.pipeline.arrays import read_array
from lucid.pipeline.spec import Spec
from lucid.pipeline.spec_tables import Input
from lucid.pipeline.spec_values import Constant, File, Integers, Listed, Normal, Uniform
from lucid.random import Generator, randint

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["make_calls", "zeros"]


def make_calls(spec: Spec) -> list[dict[str, NDArray[Any]]]:
    """Return one mapping of inputs by name per golden call; the inputs of states are not among them.

    Raises LoadError where a value file cannot be read, or holds what the input cannot: another shape or kind of
    element, NaN, or finite numbers that become infinite in the input's dtype. Infinity itself may be in a file.
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
    drawn: NDArray[Any]
    match each.values:
        case "ones":
            return np.ones(each.shape, each.dtype)
        case "index":
            drawn = np.full(each.shape, index)
        case Constant(constant=number):
            drawn = np.full(each.shape, number)
        case Normal(normal=parameters):
            with np.errstate(all="ignore"):
                drawn = generator.normal(math.prod(each.shape)) * parameters.std + parameters.mean
        case Uniform(uniform=ends):
            with np.errstate(all="ignore"):
                drawn = generator.uniform(math.prod(each.shape)) * (ends.high - ends.low) + ends.low
        case Integers(integers=ends):
            drawn = randint(ends.low, ends.high, (math.prod(each.shape),), generator=generator).numpy()
        case Listed(list=entries):
            kind = {"int32": "int64", "bool": "bool"}.get(each.dtype, "float64")
            return _fitted(np.broadcast_to(np.asarray(entries[index], kind), each.shape), each, f"entry {index}")
        case File():
            return _fitted(stored[each.name][index], each, f"{_place(each)}: entry {index}")
        case _:
            return np.zeros(each.shape, each.dtype)
    if not np.isfinite(drawn).all():
        raise LoadError(
            f"the values that the spec describes are beyond {each.dtype}. Make them smaller.",
            where=f"input {each.name}: call {index}",
        )
    return _fitted(drawn.reshape(each.shape), each, f"call {index}")


def _seed(seed: int, name: str, index: int) -> int:
    """Return a seed of its own for every input and call, so that adding an input changes no other."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}/{index}".encode()).digest()[:8], "little") >> 1


_TAKEN = {
    "float32": ("biuf", "numbers"),
    "float16": ("biuf", "numbers"),
    "int32": ("biu", "whole numbers"),
    "bool": ("biu", "true and false, or the whole numbers 0 and 1"),
}
"""The kinds of array elements that an input of each dtype takes, as numpy's letters and in words."""


def _fitted(array: NDArray[Any], each: Input, what: str) -> NDArray[Any]:
    """Return the array in the dtype of its input.

    Raises LoadError for other kinds of elements, and naming the first value that the dtype cannot hold.
    """
    _check_kind(array, each, what)
    with np.errstate(over="ignore", invalid="ignore"):
        converted = array.astype(each.dtype)
    match each.dtype:
        case "bool":
            lost = array != converted
        case "int32":
            limits = np.iinfo(np.int32)
            lost = (array < limits.min) | (array > limits.max)
        case _:
            lost = np.isnan(array) | (np.isinf(converted) & np.isfinite(array))
    if lost.any():
        value = array[lost][0]
        reason = "nothing can be compared with NaN" if str(value) == "nan" else f"{each.dtype} cannot hold that"
        raise LoadError(f"the value {value} is not possible: {reason}. Change it.", where=f"input {each.name}: {what}")
    return converted


def _check_kind(array: NDArray[Any], each: Input, what: str) -> None:
    kinds, words = _TAKEN[each.dtype]
    if array.dtype.kind not in kinds:
        raise LoadError(
            f"the elements are {_described(array.dtype)}; expected {words}, as the input is {each.dtype}.",
            where=f"input {each.name}: {what}",
        )


def _described(dtype: np.dtype[Any]) -> str:
    words = {"O": "Python objects", "U": "text", "S": "bytes", "M": "dates", "m": "time spans", "c": "complex numbers"}
    word = "records" if dtype.names else words.get(dtype.kind)
    return f"{word} ({dtype})" if word else str(dtype)


def _place(each: Input) -> str:
    assert isinstance(each.values, File)  # noqa: S101  # the caller asks for files only
    return each.values.file if each.values.key is None else f"{each.values.file}: {each.values.key}"


def _stored(each: Input, spec: Spec) -> NDArray[Any]:
    """Return the array of a value file, one entry a call along the first axis."""
    assert isinstance(each.values, File)  # noqa: S101  # the caller asks for files only
    try:
        array = read_array(spec.root / each.values.file, each.values.key)
    except LoadError as error:
        raise LoadError(error.message, where=f"input {each.name}: {each.values.file}") from error.__cause__
    where = f"input {each.name}: {_place(each)}"
    _check_kind(array, each, _place(each))
    if array.ndim != len(each.shape) + 1 or array.shape[0] < spec.golden.calls or array.shape[1:] != each.shape:
        raise LoadError(
            f"the array has shape {array.shape}; expected {(spec.golden.calls, *each.shape)}, one entry a call along "
            "the first axis.",
            where=where,
        )
    return array
