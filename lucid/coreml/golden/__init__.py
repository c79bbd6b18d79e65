"""The golden check: the written package, call after call, against the original model."""

from lucid.coreml.golden.checking import check, verify_against
from lucid.coreml.golden.comparison import Comparison, compare
from lucid.coreml.golden.reference import Reference, refer
from lucid.coreml.golden.verdict import Check, Departure, Series, Verdict

__all__ = [
    "Check",
    "Comparison",
    "Departure",
    "Reference",
    "Series",
    "Verdict",
    "check",
    "compare",
    "refer",
    "verify_against",
]
