"""The geometry that convolutions and poolings share: padding, sizes of results, shifted views."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, Ints, namespace

__all__ = ["PAD_TYPES", "Pairs", "padded", "padding", "per_axis", "place", "shifted", "window_count"]

PAD_TYPES = ("valid", "same", "same_lower", "custom")
Pairs = tuple[tuple[int, int], ...]


def per_axis(operation: str, name: str, values: Ints | None, rank: int, default: int, lowest: int = 1) -> Ints:
    """Return one value per spatial axis, `default` if none are given; ShapeError for another number or a low one."""
    if values is None:
        return (default,) * rank
    if len(values) != rank or min(values, default=lowest) < lowest:
        raise ShapeError(f"{operation}: {name} is {tuple(values)}, expected {rank} values of {lowest} or more.")
    return values


def padding(operation: str, pad_type: str, pad: Ints | None, sizes: Ints, extents: Ints, strides: Ints) -> Pairs:
    """Return what is added before and after each spatial axis. ``extents`` are the sizes of the (dilated) windows.

    ``valid`` adds nothing. ``same`` adds what makes the result ``ceil(size / stride)`` long, the odd one after;
    ``same_lower`` the same, the odd one before. ``custom`` adds ``pad``: before and after axis 0, before and after axis
    1, and so on. For the other types MIL ignores ``pad``. (MIL's text gives half the window on either side for
    ``same``, which is right for stride 1 only; its shape rule is the one followed here.)
    """
    if pad_type == "valid":
        return ((0, 0),) * len(sizes)
    if pad_type == "custom":
        flat = per_axis(operation, "pad", pad, 2 * len(sizes), 0, 0)
        return tuple(zip(flat[::2], flat[1::2], strict=True))
    if pad_type not in PAD_TYPES:
        raise ShapeError(f"{operation}: pad_type is {pad_type!r}. Choose one of {', '.join(PAD_TYPES)}.")
    pairs = []
    for size, extent, stride in zip(sizes, extents, strides, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + extent - size)
        less, more = total // 2, total - total // 2
        pairs.append((less, more) if pad_type == "same" else (more, less))
    return tuple(pairs)


def window_count(operation: str, sizes: Ints, pairs: Pairs, extents: Ints, strides: Ints) -> Ints:
    """Return how many windows lie along each axis; ShapeError where not one does."""
    counts = tuple(
        (size + before + after - extent) // stride + 1
        for size, (before, after), extent, stride in zip(sizes, pairs, extents, strides, strict=True)
    )
    if min(counts, default=1) < 1:
        raise ShapeError(
            f"{operation}: a window of {extents} does not fit into x of spatial shape {sizes} padded by {pairs}. "
            "Pad more or take a smaller kernel."
        )
    return counts


def padded(x: Array, pairs: Pairs, fill: float = 0.0) -> Array:
    """Return `x`: (n, C, *D) with ``fill`` before and after its spatial axes; `x` itself where nothing is added."""
    if not any(map(any, pairs)):
        return x
    return namespace(x).pad(x, ((0, 0), (0, 0), *pairs), constant_values=fill)


def shifted(x: Array, kernel: Ints, strides: Ints, dilations: Ints, counts: Ints) -> Iterator[Array]:
    """Yield, for each element of the kernel in row-major order, the elements of `x` under it: (n, C, *counts)."""
    for offsets in product(*map(range, kernel)):
        yield x[place(offsets, strides, dilations, counts)]


def place(offsets: Ints, strides: Ints, dilations: Ints, counts: Ints) -> tuple[Any, ...]:
    """Return the key of the elements that lie under one element of the kernel, for all windows."""
    spans = zip(offsets, strides, dilations, counts, strict=True)
    return (..., *(slice(o * d, o * d + (count - 1) * s + 1, s) for o, s, d, count in spans))
