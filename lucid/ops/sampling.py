"""Reading tensors between their elements: where resizing takes its samples, and how a sample is made.

Along an axis the centre of element i lies at i. **Sampling modes** place ``count`` samples in an axis of ``size``:

- ``STRICT_ALIGN_CORNERS``: at ``i * (size - 1) / (count - 1)``, from the first centre to the last;
- ``ALIGN_CORNERS``: the same, but a single sample lies in the middle;
- ``DEFAULT``: at ``i * size / count``;
- ``OFFSET_CORNERS``: at ``(i + 0.5) * max(1, size - 1) / count``, the middles of equal parts between the corners;
- ``UNALIGN_CORNERS``: at ``(i + 0.5) * size / count - 0.5``, as PyTorch does without aligned corners.

All are held to 0 to size - 1. The source is MIL's ``resize_bilinear``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lucid.errors import UsageError
from lucid.ops.array import Array, namespace

__all__ = ["SAMPLING_MODES", "bilinear", "choose", "linear_along", "nearest", "nearest_along", "points", "unnormalized"]

SAMPLING_MODES = ("DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS", "UNALIGN_CORNERS")
PADDING_MODES = ("constant", "border", "reflection", "symmetric")
COORDINATES_MODES = ("unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one")


def choose(operation: str, name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return the `value` of an attribute; UsageError if it is not `allowed`."""
    if value not in allowed:
        raise UsageError(f"{operation}: {name} is {value!r}. Choose one of {', '.join(allowed)}.")
    return value


def points(operation: str, mode: str, size: Any, count: int) -> Any:
    """Return where ``count`` samples lie in an axis of ``size``, or in each of an array of sizes: (..., count).

    float64 for one size, else the dtype of ``size``. UsageError for an unknown mode.
    """
    choose(operation, "sampling_mode", mode, SAMPLING_MODES)
    is_single = isinstance(size, int)
    xp = namespace(size)
    size = np.float64(size) if is_single else size[..., None]
    place: Any = np.arange(count, dtype=np.float64 if is_single else np.float32)
    if mode == "UNALIGN_CORNERS":
        found = (place + 0.5) * size / count - 0.5
    elif mode == "OFFSET_CORNERS":
        found = (place + 0.5) * xp.maximum(size - 1, 1) / count
    elif mode == "DEFAULT":
        found = place * size / count
    elif count == 1:
        found = (place + 0.5 * (mode == "ALIGN_CORNERS")) * (size - 1)
    else:
        found = place * (size - 1) / (count - 1)
    return xp.minimum(xp.maximum(found, 0), size - 1)


def linear_along(x: Array, axis: int, places: Any) -> Array:
    """Return samples of `x` at ``places`` of an axis (float64, 0 to size - 1), weighted from their two neighbours."""
    xp = namespace(x)
    low = np.floor(places).astype(np.int32)
    part = places - low
    first = xp.take(x, low, axis=axis)
    if not part.any():
        return first
    second = xp.take(x, np.minimum(low + 1, x.shape[axis] - 1), axis=axis)
    weight = part.astype(x.dtype).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    return first * (1 - weight) + second * weight


def nearest_along(x: Array, axis: int, places: Any) -> Array:
    """Return the elements of `x` that are nearest to ``places`` of an axis; halves go up."""
    chosen = np.minimum(np.floor(places + 0.5), x.shape[axis] - 1).astype(np.int32)
    return namespace(x).take(x, chosen, axis=axis)


def unnormalized(operation: str, places: Array, size: int, mode: str, align_corners: bool) -> Array:
    """Return the coordinates of an axis as distances from the centre of its first element.

    Normalized ones run from the centre of the first element to that of the last where corners are aligned, else from
    the outer edge of the first to that of the last.
    """
    choose(operation, "coordinates_mode", mode, COORDINATES_MODES)
    if mode == "unnormalized":
        return places
    share = (places + 1) / 2 if mode == "normalized_minus_one_to_one" else places
    return share * (size - 1) if align_corners else share * size - 0.5


def _padded(operation: str, places: Array, size: int, mode: str) -> Array:
    """Return the coordinates that hold what padding puts at ``places``; without padding, outside stays outside."""
    choose(operation, "padding_mode", mode, PADDING_MODES)
    xp = namespace(places)
    if mode == "constant":  # far enough outside to have no neighbour inside
        places = xp.where(xp.isnan(places), -2, places)
        return xp.minimum(xp.maximum(places, -2), size + 1)
    if mode != "border":
        first = 0.0 if mode == "reflection" else -0.5
        span = size - 1 - 2 * first
        if span == 0:
            places = xp.zeros_like(places)
        else:
            turned = xp.abs(places - first) % (2 * span)
            places = first + xp.minimum(turned, 2 * span - turned)
    places = xp.where(xp.isnan(places), 0, places)
    return xp.minimum(xp.maximum(places, 0), size - 1)


def bilinear(operation: str, x: Array, batch: Array, y: Array, z: Array, mode: str, value: float) -> Array:
    """Return samples (n, C, h, w) of `x` (B, C, H, W) at rows ``y`` and columns ``z``, weighted from four neighbours.

    ``batch``, ``y`` and ``z`` broadcast to (n, h, w). A neighbour outside is what the padding ``mode`` says.
    """
    xp = namespace(x, y)
    y, z = _padded(operation, y, x.shape[2], mode), _padded(operation, z, x.shape[3], mode)
    top, left = xp.floor(y), xp.floor(z)
    down, right = (y - top)[:, None], (z - left)[:, None]
    at = [[_element(x, batch, top + i, left + j, value) for j in (0, 1)] for i in (0, 1)]
    upper, lower = (row[0] * (1 - right) + row[1] * right for row in at)
    return upper * (1 - down) + lower * down


def nearest(operation: str, x: Array, batch: Array, y: Array, z: Array, mode: str, value: float) -> Array:
    """Return the elements of `x` nearest to the samples that :func:`bilinear` takes; halves go to the even one."""
    xp = namespace(x, y)
    y, z = _padded(operation, y, x.shape[2], mode), _padded(operation, z, x.shape[3], mode)
    return _element(x, batch, xp.round(y), xp.round(z), value)


def _element(x: Array, batch: Array, y: Array, z: Array, value: float) -> Array:
    """Return the elements at whole rows and columns, ``value`` for those outside: (n, C, h, w)."""
    xp = namespace(x, y)
    height, width = x.shape[2:]
    is_inside = (y >= 0) & (y < height) & (z >= 0) & (z < width)
    row = xp.minimum(xp.maximum(y, 0), height - 1).astype(np.int32)
    column = xp.minimum(xp.maximum(z, 0), width - 1).astype(np.int32)
    found = xp.moveaxis(x[batch, :, row, column], -1, 1)
    return xp.where(is_inside[:, None], found, value)
