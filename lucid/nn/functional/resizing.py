"""Resizing images and signals at PyTorch's sampling points.

Core ML's own resizing operations place their samples in other ways. Here each axis is resized by constants of the
program: positions to gather for the nearest sample, a matrix of weights for linear interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lucid.errors import ShapeError, UnsupportedError
from lucid.functional.linalg import matmul
from lucid.functional.operands import needs_floating
from lucid.tensor import Tensor

__all__ = ["interpolate"]

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
_NEAREST = ("nearest", "nearest-exact")


def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """Return `x` (N, C, ...) with its axes after C resized to `size`, or by `scale_factor` (rounded down).

    ``mode``: ``nearest``, ``nearest-exact``, or ``linear``, ``bilinear``, ``trilinear`` for one, two or three axes.
    With ``align_corners`` the first and last samples of linear interpolation stay where they are.
    """
    count = x.ndim - 2
    if count not in (1, 2, 3):
        raise ShapeError(f"interpolate: x has shape {x.shape}; it takes N, C and one to three axes.")
    if mode not in _NEAREST and _LINEAR.get(mode) != count:
        known = ", ".join((*_NEAREST, *(name for name, axes in _LINEAR.items() if axes == count)))
        raise UnsupportedError(f"interpolate: mode is {mode!r}. For {count} axes after N, C use one of {known}.")
    if align_corners is not None and mode in _NEAREST:
        raise UnsupportedError(f"interpolate: align_corners is given for mode {mode!r}, which has no corners to align.")
    if (size is None) == (scale_factor is None):
        raise ShapeError("interpolate: pass either size or scale_factor.")
    factors = _each("scale_factor", scale_factor, count)
    sizes = _each("size", size, count)
    x = needs_floating("interpolate", x)
    for place in range(count):
        axis, factor = place + 2, factors[place]
        length = x.shape[axis]
        wanted = math.floor(length * factor) if factor is not None else int(sizes[place] or 0)
        if wanted <= 0:
            raise ShapeError(f"interpolate: axis {axis}, of size {length}, would become {wanted} long.")
        if mode in _NEAREST:
            step = np.float32(length / wanted if factor is None else 1.0 / factor)
            shift = np.float32(0.5 if mode == "nearest-exact" else 0.0)
            positions = np.floor((np.arange(wanted, dtype=np.float32) + shift) * step).astype(np.int32)
            x = x.index_select(axis, Tensor(np.minimum(positions, length - 1)))
        elif wanted != length:
            weights = Tensor(_weights(length, wanted, factor, bool(align_corners)).astype(x.dtype.numpy))
            x = matmul(x.transpose(axis, -1), weights).transpose(axis, -1)
    return x


def _each(name: str, value: float | Sequence[float] | None, count: int) -> list[float | None]:
    numbers: list[float | None] = list(value) if isinstance(value, Sequence) else [value] * count
    if len(numbers) != count:
        raise ShapeError(f"interpolate: {name} is {value}; it takes one number or {count}.")
    return numbers


def _weights(length: int, wanted: int, factor: float | None, align_corners: bool) -> NDArray[np.float64]:
    """Return the (length, wanted) matrix whose columns hold the two weights of each new sample."""
    places = np.arange(wanted, dtype=np.float64)
    if align_corners:
        source = places * ((length - 1) / (wanted - 1) if wanted > 1 else 0.0)
    else:
        source = np.maximum((places + 0.5) * (length / wanted if factor is None else 1.0 / factor) - 0.5, 0.0)
    low = np.minimum(np.floor(source).astype(int), length - 1)
    high = np.minimum(low + 1, length - 1)
    share = np.clip(source - low, 0.0, 1.0)
    matrix = np.zeros((length, wanted))
    np.add.at(matrix, (low, np.arange(wanted)), 1.0 - share)
    np.add.at(matrix, (high, np.arange(wanted)), share)
    return matrix
