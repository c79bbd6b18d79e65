"""The verdict of a golden check, as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lucid.coreml.golden.comparison import Comparison
from lucid.dtypes import DType
from lucid.tolerance import Tolerance

__all__ = ["Check", "Departure", "Series", "Verdict"]


@dataclass(frozen=True)
class Series:
    """One output over all calls, or one state after the last (a series of one)."""

    name: str
    tolerance: Tolerance
    calls: Sequence[Comparison]

    @property
    def passed(self) -> bool:
        """Whether every call is within tolerance."""
        return all(call.passed for call in self.calls)

    @property
    def worst(self) -> Comparison:
        """The call with the largest error."""
        return max(self.calls, key=lambda call: call.max_abs)


@dataclass(frozen=True)
class Check:
    """One of the other points of the check: reset, interleaving, fresh process, blindness."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True)
class Departure:
    """The first operation whose result leaves the reference: the relative error of its numbers, and their dtype."""

    call: int
    operation: str
    value: str
    error: float
    dtype: DType

    def __str__(self) -> str:
        place = f"call {self.call}, operation {self.operation} -> {self.value}"
        return f"{place} (off by {self.error:.2g} of its largest number)"


@dataclass(frozen=True)
class Verdict:
    """Everything a golden check found."""

    calls: int
    engine: str
    outputs: Sequence[Series]
    states: Sequence[Series]
    checks: Sequence[Check]
    departure: Departure | None = None

    @property
    def passed(self) -> bool:
        """Whether every point holds."""
        return all(series.passed for series in (*self.outputs, *self.states)) and all(
            check.passed for check in self.checks
        )

    def faults(self) -> list[str]:
        """Return what failed, one line each, the earliest call first."""
        lines = []
        failed = [
            (index, series.name, call.fault)
            for series in self.outputs
            for index, call in enumerate(series.calls)
            if not call.passed
        ]
        for index, name, fault in sorted(failed)[:4]:
            lines.append(f"output {name}, call {index}: {fault}")
        if len(failed) > 4:
            lines.append(f"... and {len(failed) - 4} further comparisons of outputs")
        lines += [
            f"state {series.name} after the last call: {series.worst.fault}"
            for series in self.states
            if not series.passed
        ]
        lines += [f"{check.name}: {check.detail}" for check in self.checks if not check.passed]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON data: infinite ratios become ``null``."""
        return {
            "passed": self.passed,
            "calls": self.calls,
            "engine": self.engine,
            "outputs": {series.name: _series(series) for series in self.outputs},
            "states": {series.name: _series(series) for series in self.states},
            "checks": {check.name: {"passed": check.passed, "detail": check.detail} for check in self.checks},
            "departure": None if self.departure is None else str(self.departure),
        }


def _series(series: Series) -> dict[str, Any]:
    return {
        "passed": series.passed,
        "atol": series.tolerance.atol,
        "rtol": series.tolerance.rtol,
        "calls": [
            {
                "max_abs": _number(call.max_abs),
                "max_rel": _number(call.max_rel),
                "snr_db": _number(call.snr),
                "top1": call.top1,
                "nonfinite": call.nonfinite,
                "fault": call.fault,
            }
            for call in series.calls
        ],
    }


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if math.isfinite(value) else None
