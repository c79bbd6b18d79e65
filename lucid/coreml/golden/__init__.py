"""The golden check: the written package, call after call, against the original model."""

from lucid.coreml.golden.checking import check, verify_against
from lucid.coreml.golden.comparison import Comparison, Tolerance, compare, default_tolerance
from lucid.coreml.golden.reference import Reference, refer
from lucid.coreml.golden.verdict import Check, Departure, Series, Verdict

__all__ = [
    "Check",
    "Comparison",
    "Departure",
    "Reference",
    "Series",
    "Tolerance",
    "Verdict",
    "check",
    "compare",
    "default_tolerance",
    "refer",
    "verify_against",
]
