"""Passes: functions from a graph to an equivalent graph."""

from lucid.passes.common import share_common
from lucid.passes.dead import drop_dead
from lucid.passes.folding import fold
from lucid.passes.idle import drop_idle

__all__ = ["drop_dead", "drop_idle", "fold", "share_common", "simplify"]

from lucid.graph import Function


def simplify(function: Function) -> Function:
    """Fold constants, share equal computations and drop what no output needs."""
    return drop_dead(share_common(fold(drop_dead(function))))
