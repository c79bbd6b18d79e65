"""Dropout: in training, elements are zeroed at random and the others scaled up."""

from __future__ import annotations

import numpy as np

from lucid import random
from lucid.errors import ShapeError
from lucid.tensor import Tensor

__all__ = ["dropout", "dropout1d", "dropout2d"]


def _dropped(name: str, x: Tensor, p: float, training: bool, shape: tuple[int, ...]) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ShapeError(f"{name}: p is {p}; it must lie between 0 and 1.")
    if not training or p == 0.0:
        return x
    if p == 1.0:
        return x * 0.0
    kept = random.rand(shape).numpy() >= np.float32(p)
    return x * Tensor((kept / np.float32(1.0 - p)).astype(x.dtype.numpy))


def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Return `x` with each element zeroed with probability `p` and the others divided by ``1 - p``, in training."""
    return _dropped("dropout", x, p, training, x.shape)


def dropout1d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Return `x` (N, C, L) or (C, L) with whole channels zeroed, in training."""
    return _dropped("dropout1d", x, p, training, (*x.shape[:-1], 1))


def dropout2d(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Return `x` (N, C, H, W) or (C, H, W) with whole channels zeroed, in training."""
    return _dropped("dropout2d", x, p, training, (*x.shape[:-2], 1, 1))
