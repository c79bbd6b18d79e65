"""What callers pass, as a package's function takes it: every input checked against its declaration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.images import tensor_of
from lucid.coreml.packaged import Feature, shape_text
from lucid.errors import DTypeError, ShapeError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["declared", "fitted"]


def declared(features: Sequence[Feature]) -> str:
    """Return inputs as text: name, dtype and the shapes they may have."""
    return ", ".join(_described(feature) for feature in features) or "no inputs"


def _described(feature: Feature) -> str:
    kind = f"image {feature.layout}" if feature.kind == "image" else feature.dtype.name
    text = f"{feature.name}: {kind} {shape_text(feature)}"
    if not feature.is_optional:
        return text
    return f"{text}, optional" if feature.default is None else f"{text} = {feature.default}"


def fitted(inputs: Mapping[str, object], features: Sequence[Feature]) -> dict[str, NDArray[Any]]:
    """Return an array for each declared input, in the dtype and a shape that the package declares.

    An optional input that is not given has its default value everywhere, 0 where the package names none. Raises
    UsageError for missing or unknown names, ShapeError for a shape outside of the declaration, DTypeError for a dtype
    of another kind or numbers that do not fit.
    """
    known = {feature.name: feature for feature in features}
    missing = [name for name, feature in known.items() if name not in inputs and not feature.is_optional]
    unknown = [name for name in inputs if name not in known]
    if missing or unknown:
        fault = f"missing {', '.join(missing)}" if missing else f"unknown {', '.join(unknown)}"
        raise UsageError(f"inputs: {fault}. The package takes {declared(features)}.")
    return {name: _value(inputs.get(name), feature) for name, feature in known.items()}


def _value(given: object, feature: Feature) -> NDArray[Any]:
    if feature.kind == "image":
        if given is None:
            raise UsageError(f"input {feature.name}: a picture has no default value. Pass one.")
        tensor = tensor_of(given, feature)
        _check_shape(tensor.shape[2:], feature)
        return tensor.astype(feature.dtype.numpy)
    if given is None:
        return np.full(feature.shape, feature.default or 0, feature.dtype.numpy)
    array = np.asarray(given)
    if array.shape == () and feature.shape == (1,):
        array = array.reshape(1)  # Core ML has no inputs without axes
    _check_shape(array.shape, feature)
    return _converted(array, feature)


def _check_shape(shape: tuple[int, ...], feature: Feature) -> None:
    if feature.choices:
        fits = shape in feature.choices
    elif feature.ranges:
        fits = len(shape) == len(feature.ranges) and all(
            lowest <= size and (highest < 0 or size <= highest)
            for size, (lowest, highest) in zip(shape, feature.ranges, strict=True)
        )
    else:
        fits = shape == feature.shape
    if not fits:
        raise ShapeError(f"input {feature.name}: the shape is {shape}, the package declares {shape_text(feature)}.")


def _converted(array: NDArray[Any], feature: Feature) -> NDArray[Any]:
    """Return an array in the declared dtype; only changes that keep the value's kind are made."""
    wanted = feature.dtype.numpy
    if array.dtype == wanted:
        return array
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and wanted.kind != "f"):
        raise DTypeError(f"input {feature.name}: the dtype is {array.dtype}, the package declares {feature.dtype}.")
    if wanted.kind in "iu" and array.size:
        limits = np.iinfo(feature.dtype.name)
        if array.max() > limits.max or array.min() < limits.min:
            raise DTypeError(f"input {feature.name}: {array.max()} or {array.min()} does not fit {feature.dtype}.")
    with np.errstate(over="ignore"):
        return array.astype(wanted)
