"""Comparing one array with its reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.tolerance import Tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Comparison", "compare"]

_RANKED = 256


@dataclass(frozen=True)
class Comparison:
    """How far an array is from its reference.

    ``max_abs`` and ``max_rel`` are over the finite places; ``snr`` is the signal-to-noise ratio in decibels (infinite
    for equal arrays); ``top1`` is the share of rows whose largest element is at the same place, for outputs that rank
    at least 256 classes; ``fault`` says in words why the comparison failed, and is empty where it passed.
    """

    max_abs: float
    max_rel: float
    snr: float
    top1: float | None
    fault: str
    nonfinite: int = 0

    @property
    def passed(self) -> bool:
        """Whether the array is within tolerance at every place."""
        return not self.fault


def compare(actual: NDArray[Any], expected: NDArray[Any], tolerance: Tolerance) -> Comparison:
    """Compare an array with its reference. Integers and booleans must be equal.

    NaN or infinity passes only where the reference has the same one.
    """
    if actual.shape != expected.shape:
        return _failed(f"the shape is {actual.shape}, the reference's {expected.shape}")
    if actual.dtype != expected.dtype and not {actual.dtype.kind, expected.dtype.kind} <= {"b", "i", "u"}:
        return _failed(f"the dtype is {actual.dtype}, the reference's {expected.dtype}")
    if actual.size == 0:
        return Comparison(0.0, 0.0, math.inf, None, "")
    got, want = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(got) & np.isfinite(want)
    odd = ~finite & ~((got == want) | (np.isnan(got) & np.isnan(want)))
    error = np.abs(np.where(finite, got, 0.0) - np.where(finite, want, 0.0))
    size = np.abs(np.where(finite, want, 0.0))
    relative = error / np.maximum(size, np.finfo(np.float32).tiny)
    noise, signal = float(np.sum(error**2)), float(np.sum(size**2))
    snr = math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf
    exact = expected.dtype.kind != "f"
    limit = np.zeros_like(size) if exact else tolerance.atol + tolerance.rtol * size
    fault = _fault(actual, expected, odd, error, limit)
    return Comparison(
        float(error.max()),
        float(np.where(error > 0, relative, 0.0).max()),
        snr,
        _top1(got, want),
        fault,
        int((~finite).sum()),
    )


def _fault(actual: Any, expected: Any, odd: Any, error: Any, limit: Any) -> str:
    if odd.any():
        place = tuple(int(index) for index in np.argwhere(odd)[0])
        return f"{actual[place]} at {place}, the reference has {expected[place]} ({int(odd.sum())} such places)"
    outside = error > limit
    if outside.any():
        place = tuple(int(index) for index in np.unravel_index(int(np.argmax(error - limit)), error.shape))
        return (
            f"{actual[place]} at {place}, the reference has {expected[place]}: off by {error[place]:.3g}, allowed "
            f"{limit[place]:.3g} ({int(outside.sum())} of {error.size} places are outside)"
        )
    return ""


def _top1(got: NDArray[Any], want: NDArray[Any]) -> float | None:
    if got.ndim == 0 or got.shape[-1] < _RANKED or np.isnan(got).any() or np.isnan(want).any():
        return None
    return float(np.mean(got.argmax(axis=-1) == want.argmax(axis=-1)))


def _failed(fault: str) -> Comparison:
    return Comparison(math.inf, math.inf, -math.inf, None, fault)
