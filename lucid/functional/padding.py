"""Padding: more elements around a tensor, or, with negative numbers, fewer."""

from __future__ import annotations

from collections.abc import Sequence

from lucid.errors import ShapeError, UnsupportedError
from lucid.functional.creation import full
from lucid.functional.joining import cat
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = ["pad"]

_MIL_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "replicate"}


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return `x` with `pad` elements added: (before, after) of the last axis, then of the axis before it, and so on.

    ``mode``: ``constant`` (with `value`, default 0), ``reflect``, ``replicate`` or ``circular``. Negative numbers cut.
    """
    amounts = [int(amount) for amount in pad]
    if len(amounts) % 2 or len(amounts) > 2 * x.ndim:
        raise ShapeError(f"pad: pad has {len(amounts)} entries. It takes two per axis, for at most {x.ndim} axes.")
    if mode not in (*_MIL_MODES, "circular"):
        raise UnsupportedError(f"pad: mode is {mode!r}. Use constant, reflect, replicate or circular.")
    if mode != "constant" and value is not None:
        raise UnsupportedError(f"pad: value is {value}, which mode {mode!r} does not take.")
    rank = x.ndim
    sides = {rank - 1 - place: (amounts[2 * place], amounts[2 * place + 1]) for place in range(len(amounts) // 2)}
    for axis, (before, after) in sides.items():
        size = x.shape[axis]
        limit = {"reflect": size - 1, "circular": size}.get(mode, max(before, after))
        if max(before, after) > limit or before + after + size < 0:
            raise ShapeError(f"pad: ({before}, {after}) does not suit axis {axis}, of size {size}, in mode {mode!r}.")
        if min(before, after) < 0:
            x = x.narrow(axis, max(-before, 0), size - max(-before, 0) - max(-after, 0))
    sides = {axis: (max(before, 0), max(after, 0)) for axis, (before, after) in sides.items()}
    if not any(max(pair) for pair in sides.values()):
        return x
    if mode == "circular" or not x.is_floating_point() or 0 in x.shape:
        return _joined(x, sides, mode, value or 0)
    widths = [amount for axis in range(rank) for amount in sides.get(axis, (0, 0))]
    first = 2 * min(sides)
    return mil.pad(x, pad=tuple(widths[first:]), mode=_MIL_MODES[mode], constant_val=float(value or 0.0))


def _joined(x: Tensor, sides: dict[int, tuple[int, int]], mode: str, value: float) -> Tensor:
    """Pad by concatenation, which takes every dtype and keeps integers exact."""
    for axis, (before, after) in sides.items():
        size = x.shape[axis]
        if mode == "constant":
            pieces = [_filled(x, axis, before, value), x, _filled(x, axis, after, value)]
        elif mode == "circular":
            pieces = [x.narrow(axis, size - before, before), x, x.narrow(axis, 0, after)]
        elif mode == "reflect":
            pieces = [x.narrow(axis, 1, before).flip(axis), x, x.narrow(axis, size - 1 - after, after).flip(axis)]
        else:
            ends = x.narrow(axis, 0, 1), x.narrow(axis, size - 1, 1)
            pieces = [*[ends[0]] * before, x, *[ends[1]] * after]
        x = cat([piece for piece in pieces if piece.shape[axis]] or [x], axis)
    return x


def _filled(x: Tensor, axis: int, length: int, value: float) -> Tensor:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return full(shape, value, dtype=x.dtype)
