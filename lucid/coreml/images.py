"""Pictures at the interface of a package: what callers hold, and the tensor that the program takes or gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lucid.coreml.packaged import Feature

__all__ = ["pixels_of", "tensor_of"]

# The modes of PIL for each layout; grey of half precision has more levels than a byte.
_MODES = {"rgb": "RGB", "bgr": "RGB", "grayscale": "L", "grayscale_float16": "F"}


def tensor_of(picture: Any, feature: Feature) -> NDArray[Any]:
    """Return a picture as a tensor (1, channels, height, width) of numbers from 0 to 255.

    `picture`: an image of PIL, converted to the layout that the package declares; an array (height, width, 3) in the
    order red, green, blue; (height, width) for a grey one; or the tensor itself, in the package's own order. Raises
    ShapeError or DTypeError for anything else. The size is checked by the caller.
    """
    if hasattr(picture, "convert") and hasattr(picture, "mode"):
        mode = _MODES[feature.layout]
        picture = picture if picture.mode == mode else picture.convert(mode)
    array = np.asarray(picture)
    if array.dtype.kind not in "iuf":
        raise DTypeError(f"input {feature.name}: the dtype is {array.dtype}, a picture has numbers from 0 to 255.")
    is_coloured = feature.layout in ("rgb", "bgr")
    if array.ndim == 4 and array.shape[:2] == (1, 3 if is_coloured else 1):
        return array
    if is_coloured and array.ndim == 3 and array.shape[2] == 3:
        array = array[..., ::-1] if feature.layout == "bgr" else array
        return np.moveaxis(array, 2, 0)[None]
    if not is_coloured and array.ndim == 2:
        return array[None, None]
    expected = "(height, width, 3)" if is_coloured else "(height, width)"
    raise ShapeError(f"input {feature.name}: the shape is {array.shape}, a picture in {feature.layout} has {expected}.")


def pixels_of(tensor: NDArray[Any], feature: Feature) -> NDArray[Any]:
    """Return a tensor (1, channels, height, width) as a picture: uint8 (height, width, 3) in red, green, blue, or grey.

    Numbers are rounded to the nearest whole one and cut at 0 and 255, NaN becomes 0; a grey picture of half precision
    keeps its numbers, in float16. Raises ShapeError where the tensor is no single picture of the declared layout.
    """
    channels = 3 if feature.layout in ("rgb", "bgr") else 1
    if tensor.ndim != 4 or tensor.shape[:2] != (1, channels):
        raise ShapeError(
            f"output {feature.name}: the shape is {tensor.shape}, expected (1, {channels}, height, width)."
        )
    if feature.layout == "grayscale_float16":
        return np.asarray(tensor[0, 0], np.float16)
    levels: NDArray[Any] = np.nan_to_num(np.clip(np.rint(tensor[0]), 0, 255)).astype(np.uint8)
    if channels == 1:
        return np.ascontiguousarray(levels[0])
    return np.ascontiguousarray(np.moveaxis(levels[::-1] if feature.layout == "bgr" else levels, 0, 2))
