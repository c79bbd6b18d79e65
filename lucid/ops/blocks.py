"""Pictures cut into blocks of pixels: what has to divide what."""

from __future__ import annotations

from lucid.errors import ShapeError
from lucid.ops.array import Array, Ints
from lucid.ops.axes import integers

__all__ = ["block_pairs", "check_blocks"]


def check_blocks(operation: str, x: Array, channels: int, height: int, width: int) -> tuple[int, int, int, int]:
    """Return the shape of `x`, or raise ShapeError where it is not of rank 4 or the divisors leave a rest."""
    if x.ndim != 4:
        raise ShapeError(f"{operation}: x has shape {x.shape}, expected rank 4 (n, C, H, W). Reshape it.")
    n, c, h, w = x.shape
    for name, size, divisor in (("C", c, channels), ("H", h, height), ("W", w, width)):
        if divisor < 1 or size % divisor:
            raise ShapeError(
                f"{operation}: {name} = {size} of x is not a multiple of {divisor}. Pass a factor that divides."
            )
    return n, c, h, w


def block_pairs(operation: str, name: str, block_shape: Ints, pairs: Array) -> list[list[int]]:
    """Return a (2, 2) array of paddings or crops as integers, or raise ShapeError where it or the blocks do not fit."""
    found = [integers(pair) for pair in pairs]
    if len(block_shape) != 2 or [len(pair) for pair in found] != [2, 2]:
        raise ShapeError(
            f"{operation}: block_shape has {len(block_shape)} entries and {name} has shape {tuple(pairs.shape)}, "
            "expected 2 and (2, 2). Pass one block size and one pair for each of H and W."
        )
    if min(found[0] + found[1]) < 0:
        raise ShapeError(f"{operation}: {name} {found} has a negative entry, expected 0 or more.")
    return found
