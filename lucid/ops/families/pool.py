"""Poolings over the spatial axes of (n, C, *D), one axis after the other: k steps per axis and not one per element.

All of them take ``kernel_sizes`` (one per spatial axis), ``strides`` (1 by default), ``pad_type`` with ``pad`` as
:data:`~lucid.ops.families.conv.conv` does, and ``ceil_mode``.

**ceil_mode** rounds the number of windows up, as PyTorch's does: the last window may hang over the end, and the
overhang takes no part in a maximum and adds nothing to a sum. As in Core ML it goes with one or two spatial axes, with
``pad_type`` valid or custom, and with equal padding on both sides of an axis. Where a last window would begin beyond
the data and its padding, PyTorch drops it; MIL drops it only where there is padding. Without padding such a window
would hold nothing, and lucid raises ShapeError.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.record import operation, sample
from lucid.ops.windows import Pairs, padded, padding, per_axis, window_count

__all__ = ["avg_pool", "l2_pool", "max_pool"]


def _layout(
    name: str,
    x: Any,
    kernel_sizes: Ints,
    strides: Ints | None,
    pad_type: str,
    pad: Ints | None,
    ceil_mode: bool,
    most_axes: int = 3,
) -> tuple[Ints, Pairs, Ints]:
    """Return the strides, the padding with the overhang after it, and the numbers of windows."""
    rank = x.ndim - 2
    if not 1 <= rank <= most_axes:
        raise ShapeError(
            f"{name}: x has shape {x.shape}, expected (n, C, *D) with 1 to {most_axes} spatial axes. Reshape it."
        )
    kernel = per_axis(name, "kernel_sizes", kernel_sizes, rank, 1)
    strides = per_axis(name, "strides", strides, rank, 1)
    sizes = x.shape[2:]
    pairs = padding(name, pad_type, pad, sizes, kernel, strides)
    if not ceil_mode:
        return strides, pairs, window_count(name, sizes, pairs, kernel, strides)
    if rank > 2 or pad_type not in ("valid", "custom") or any(before != after for before, after in pairs):
        raise ShapeError(
            f"{name}: ceil_mode does not go with {rank} spatial axes, pad_type {pad_type!r} and padding {pairs}. "
            "Core ML takes it for one or two axes, valid or custom, and equal padding on both sides."
        )
    grown = tuple((before, after + stride - 1) for (before, after), stride in zip(pairs, strides, strict=True))
    counts = []
    for count, size, (before, _), stride in zip(
        window_count(name, sizes, grown, kernel, strides), sizes, pairs, strides, strict=True
    ):
        is_beyond = (count - 1) * stride >= size + before
        if is_beyond and not before:
            raise ShapeError(
                f"{name}: ceil_mode puts the last window of stride {stride} wholly behind an axis of size {size}. "
                "Turn ceil_mode off: PyTorch drops such a window."
            )
        counts.append(count - is_beyond)
    return (
        strides,
        tuple(
            (before, max(after, (count - 1) * stride + extent - size - before))
            for (before, after), count, stride, extent, size in zip(pairs, counts, strides, kernel, sizes, strict=True)
        ),
        tuple(counts),
    )


def _reduced(x: Any, combine: Callable[..., Any], kernel: Ints, strides: Ints, counts: Ints) -> Any:
    """Combine the elements under each window of the padded `x`, axis by axis."""
    for axis, (size, stride, count) in enumerate(zip(kernel, strides, counts, strict=True), start=2):
        before = (slice(None),) * axis
        views = [x[(*before, slice(first, first + (count - 1) * stride + 1, stride))] for first in range(size)]
        x = views[0]
        for view in views[1:]:
            x = combine(x, view)
    return x


@operation(
    sample([[[1.5, 3.5]]], x=[[[1.0, 2.0, 3.0, 4.0]]], kernel_sizes=(2,), strides=(2,), pad_type="valid"),
    sample([[[0.5, 1.5, 1.0]]], x=[[[1.0, 2.0]]], kernel_sizes=(2,), pad_type="custom", pad=(1, 1)),
    sample(
        [[[1.0, 1.5, 2.0]]],
        x=[[[1.0, 2.0]]],
        kernel_sizes=(2,),
        pad_type="custom",
        pad=(1, 1),
        exclude_padding_from_average=True,
    ),
    sample(
        [[[[2.0, 3.5], [6.5, 8.0]]]],
        x=[[[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]]],
        kernel_sizes=(2, 2),
        strides=(2, 2),
        pad_type="valid",
        exclude_padding_from_average=True,
        ceil_mode=True,
    ),
    later={"pad_type=same_lower": "iOS16"},
)
def avg_pool(
    x: Array,
    kernel_sizes: Ints,
    *,
    strides: Ints | None = None,
    pad_type: str,
    pad: Ints | None = None,
    exclude_padding_from_average: bool = False,
    ceil_mode: bool = False,
) -> Array:
    """Return the mean of each window. ``x``: (n, C, *D) with 1 to 3 spatial axes.

    Padding and overhang count as zeros: a window divides by all its elements, or, with
    ``exclude_padding_from_average``, by those that lie on `x`. (PyTorch's ``count_include_pad`` with ``ceil_mode``
    counts the padding, but not the overhang. MIL cannot say that.) A window wholly in the padding has mean 0, or with
    the flag NaN.
    """
    strides, pairs, counts = _layout("avg_pool", x, kernel_sizes, strides, pad_type, pad, ceil_mode)
    xp = namespace(x)
    out = _reduced(padded(x, pairs), xp.add, kernel_sizes, strides, counts)
    if not exclude_padding_from_average or not any(map(any, pairs)):
        return out / prod(kernel_sizes)
    for axis, (size, (before, _), extent) in enumerate(zip(x.shape[2:], pairs, kernel_sizes, strict=True)):
        first = xp.arange(counts[axis]) * strides[axis] - before
        held = xp.astype(xp.clip(first + extent, 0, size) - xp.clip(first, 0, size), x.dtype)
        out = out / xp.reshape(held, (-1, *(1,) * (x.ndim - 3 - axis)))
    return out


@operation(
    sample([[[5.0, 5.0]]], x=[[[3.0, 4.0, -3.0]]], kernel_sizes=(2,), pad_type="valid"),
    sample([[[3.0, 5.0]]], x=[[[3.0, 4.0, 3.0]]], kernel_sizes=(2,), strides=(2,), pad_type="custom", pad=(1, 0)),
    later={"pad_type=same_lower": "iOS16"},
)
def l2_pool(
    x: Array,
    kernel_sizes: Ints,
    *,
    strides: Ints | None = None,
    pad_type: str,
    pad: Ints | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Return the root of the sum of squares (not of their mean) of each window.

    ``x``: (n, C, *D) with 1 or 2 spatial axes.
    """
    strides, pairs, counts = _layout("l2_pool", x, kernel_sizes, strides, pad_type, pad, ceil_mode, most_axes=2)
    xp = namespace(x)
    return xp.sqrt(_reduced(padded(x * x, pairs), xp.add, kernel_sizes, strides, counts))


@operation(
    sample([[[2.0, 3.0, 3.0]]], x=[[[1.0, 2.0, 3.0, -4.0]]], kernel_sizes=(2,), pad_type="valid"),
    sample(
        [[[-1.0, -2.0]]], x=[[[-1.0, -5.0, -2.0]]], kernel_sizes=(2,), strides=(2,), pad_type="valid", ceil_mode=True
    ),
    sample([[[[4.0]]]], x=[[[[1.0, 2.0], [4.0, 3.0]]]], kernel_sizes=(2, 2), strides=(2, 2), pad_type="same"),
    exact=True,
    later={"pad_type=same_lower": "iOS16"},
)
def max_pool(
    x: Array,
    kernel_sizes: Ints,
    *,
    strides: Ints | None = None,
    pad_type: str,
    pad: Ints | None = None,
    ceil_mode: bool = False,
) -> Array:
    """Return the largest element of each window; NaN where it holds one. ``x``: (n, C, *D) with 1 to 3 spatial axes.

    Padding and overhang are minus infinity: they are never chosen over an element; a window wholly in them gives it.
    """
    strides, pairs, counts = _layout("max_pool", x, kernel_sizes, strides, pad_type, pad, ceil_mode)
    xp = namespace(x)
    return _reduced(padded(x, pairs, -xp.inf), xp.maximum, kernel_sizes, strides, counts)
