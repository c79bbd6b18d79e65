"""How far an output may be from its reference, and what holds where nobody says so."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lucid.errors import UsageError

__all__ = ["DEFAULTS", "STATEFUL_FLOAT32", "Tolerance", "default_tolerance"]

DEFAULTS = {"float16": 1e-2, "float32": 1e-4}
"""Both tolerances by the precision of the body: float16 keeps 11 bits (5e-4), and errors add up over the depth."""

STATEFUL_FLOAT32 = 2e-3
"""Both tolerances of a float32 body with states: Core ML stores states in float16, which costs that much."""


@dataclass(frozen=True)
class Tolerance:
    """A number passes if it is within ``atol + rtol * abs(reference)``. Both are finite and above zero."""

    atol: float
    rtol: float

    def __post_init__(self) -> None:
        for name, value in (("atol", self.atol), ("rtol", self.rtol)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"tolerance {name} is {value}; it must be finite and above zero.")


def default_tolerance(precision: str, *, stateful: bool) -> Tolerance:
    """Return the tolerance of outputs and states at a precision, ``float16`` or ``float32``."""
    value = STATEFUL_FLOAT32 if stateful and precision == "float32" else DEFAULTS[precision]
    return Tolerance(value, value)
