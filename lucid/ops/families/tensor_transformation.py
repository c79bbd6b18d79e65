"""Operations that move elements and change none: shapes, axes, slices and blocks.

All of them are exact and take every dtype. Where NumPy can, they return a view of the input; arrays are values that
nobody writes to, so a view is as good as a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lucid.errors import IndexingError, ShapeError
from lucid.ops.array import Array, Bools, Ints, namespace
from lucid.ops.axes import integers, resolve_axes, resolve_axis
from lucid.ops.blocks import block_pairs, check_blocks
from lucid.ops.record import operation, sample
from lucid.ops.slices import resolve_slices

__all__ = [
    "batch_to_space",
    "depth_to_space",
    "expand_dims",
    "pixel_shuffle",
    "pixel_unshuffle",
    "reshape",
    "reshape_like",
    "reverse",
    "reverse_sequence",
    "slice_by_index",
    "slice_by_size",
    "slice_update",
    "sliding_windows",
    "space_to_batch",
    "space_to_depth",
    "squeeze",
    "transpose",
]


@operation(
    sample([[1.0, 2.0]], x=[1.0, 2.0], axes=(0,)),
    sample([[[1], [2]]], x=[1, 2], axes=(-1, 0)),
    sample([[True]], x=True, axes=(0, -1)),
    exact=True,
    later={"x:integers": "iOS17"},
)
def expand_dims(x: Array, axes: Ints) -> Array:
    """Insert axes of size 1: ``axes`` are their places in the result, ``-rank - len(axes) <= axis < rank + len(axes)``.

    The order of ``axes`` has no meaning. A repeated or impossible axis raises ShapeError.
    """
    rank = x.ndim + len(axes)
    places = resolve_axes("expand_dims", axes, rank)
    sizes = iter(x.shape)
    return namespace(x).reshape(x, tuple(1 if axis in places else next(sizes) for axis in range(rank)))


@operation(
    sample([1.0, 2.0], x=[[[1.0], [2.0]]]),
    sample([[1.0], [2.0]], x=[[[1.0], [2.0]]], axes=(0,)),
    sample([[1, 2, 3]], x=[[1, 2, 3]], axes=(-1,)),
    sample(5, x=[[5]]),
    exact=True,
    later={"x:integers": "iOS17"},
)
def squeeze(x: Array, axes: Ints | None = None) -> Array:
    """Remove axes of size 1: those of ``axes``, or all of them.

    An axis of ``axes`` with another size stays, as MIL's definition and its shape rule say (its value function, which
    refuses such an axis, disagrees). An axis that `x` does not have raises ShapeError.
    """
    shape = x.shape
    chosen = range(len(shape)) if axes is None else resolve_axes("squeeze", axes, len(shape))
    kept = tuple(size for axis, size in enumerate(shape) if size != 1 or axis not in chosen)
    return namespace(x).reshape(x, kept)


@operation(
    sample([[1.0, 2.0], [3.0, 4.0]], x=[1.0, 2.0, 3.0, 4.0], shape=[2, -1]),
    sample([[[[1, 2], [3, 4]]]], x=[[1, 2], [3, 4]], shape=[1, 0, -1, 0]),
    sample([[1], [2]], x=[[1, 2]], shape=[-1, 1]),
    exact=True,
    later={"x:integers": "iOS17", "shape:integers": "iOS17"},
)
def reshape(x: Array, shape: Array) -> Array:
    """Return the elements of `x` in row-major order under another shape. ``shape``: (K,) integers.

    One entry may be -1: it takes what the others leave. An entry 0 takes the size of the axis of `x` at the same place
    *counted from the end*, or 1 where `x` has no such axis (the rule of opset iOS17; with ``K == rank(x)``, the only
    case in which older opsets allow a 0, it is their rule too). So 0 never makes an empty axis by itself. Another
    number of elements, or a -1 that is not determined, raises ShapeError.
    """
    return namespace(x).reshape(x, _resolved_shape(x.shape, integers(shape)))


def _resolved_shape(old: tuple[int, ...], wanted: list[int]) -> tuple[int, ...]:
    shift = len(old) - len(wanted)
    new = [size or (old[place + shift] if place + shift >= 0 else 1) for place, size in enumerate(wanted)]
    elements = prod(old)
    free = [place for place, size in enumerate(new) if size < 0]
    if free:
        others = prod(size for size in new if size >= 0)
        if len(free) > 1 or new[free[0]] != -1 or not others or elements % others:
            raise ShapeError(
                f"reshape: shape {tuple(wanted)} does not determine how to lay out the {elements} elements of {old}. "
                "Use -1 once, where the other sizes divide the number of elements."
            )
        new[free[0]] = elements // others
    elif prod(new) != elements:
        raise ShapeError(
            f"reshape: shape {tuple(wanted)} has {prod(new)} elements, x of shape {old} has {elements}. "
            "Pass a shape with as many."
        )
    return tuple(new)


@operation(
    sample(
        [[1.0, 2.0], [3.0, 4.0]],
        x=[1.0, 2.0, 3.0, 4.0],
        ref_tensors=[[[0], [0]], [[[0.0, 0.0]]]],
        begins=(0, 2),
        ends=(1, 0),
        end_masks=(False, True),
    ),
    sample([[7]], x=[7], ref_tensors=[[[0, 0], [0, 0]], [[5]]], begins=(1, 0), ends=(1, -1), end_masks=(False, True)),
    since="iOS16",
    exact=True,
    later={"x:integers": "iOS17"},
)
def reshape_like(x: Array, ref_tensors: Sequence[Array], begins: Ints, ends: Ints, end_masks: Bools) -> Array:
    """Reshape `x` to the joined pieces of other tensors' shapes: ``ref_tensors[i].shape[begins[i]:ends[i]]``.

    Where ``end_masks[i]``, the piece runs to the end of the shape. Begins and ends count as Python's slices do. The
    values of the references do not matter. Lists of unequal lengths or another number of elements raise ShapeError.
    """
    lengths = len(ref_tensors), len(begins), len(ends), len(end_masks)
    if len(set(lengths)) > 1:
        raise ShapeError(
            f"reshape_like: ref_tensors, begins, ends, end_masks have lengths {lengths}. Pass one of each per tensor."
        )
    shape: list[int] = []
    for tensor, begin, end, is_open in zip(ref_tensors, begins, ends, end_masks, strict=True):
        shape += tensor.shape[begin : None if is_open else end]
    if prod(shape) != prod(x.shape):
        raise ShapeError(
            f"reshape_like: the references give shape {tuple(shape)} with {prod(shape)} elements, x of shape {x.shape} "
            f"has {prod(x.shape)}. Choose axes with as many."
        )
    return namespace(x).reshape(x, tuple(shape))


@operation(
    sample([[1, 3], [2, 4]], x=[[1, 2], [3, 4]], perm=(1, 0)),
    sample([[[1.0], [2.0]]], x=[[[1.0, 2.0]]], perm=(0, -1, -2)),
    sample(3.0, x=3.0, perm=()),
    exact=True,
    later={"x:integers": "iOS17"},
)
def transpose(x: Array, perm: Ints) -> Array:
    """Return `x` with its axes in another order: axis ``i`` of the result is axis ``perm[i]`` of `x`.

    ``perm`` names every axis once (negative from the end), or ShapeError is raised.
    """
    axes = resolve_axes("transpose", perm, x.ndim, "perm")
    if len(axes) != x.ndim:
        raise ShapeError(f"transpose: perm {perm} has {len(perm)} axes, x of shape {x.shape} has {x.ndim}. Name all.")
    return namespace(x).permute_dims(x, axes)


@operation(
    sample([[4, 3], [2, 1]], x=[[1, 2], [3, 4]]),
    sample([[2.0, 1.0], [4.0, 3.0]], x=[[1.0, 2.0], [3.0, 4.0]], axes=(-1,)),
    sample([1.0, 2.0], x=[1.0, 2.0], axes=()),
    exact=True,
    later={"x:integers": "iOS17"},
)
def reverse(x: Array, axes: Ints | None = None) -> Array:
    """Return `x` with the order of its elements turned round along ``axes`` (all of them by default)."""
    return namespace(x).flip(x, axis=None if axes is None else resolve_axes("reverse", axes, x.ndim))[...]


@operation(
    sample([[2, 1, 3], [4, 5, 6]], x=[[1, 2, 3], [4, 5, 6]], lengths=[2, 0], seq_axis=1),
    sample([[3.0, 2.0], [1.0, 5.0]], x=[[1.0, 2.0], [3.0, 5.0]], lengths=[2, 1], seq_axis=0, batch_axis=1),
    exact=True,
    later={"x:integers": "iOS17", "lengths:integers": "iOS17"},
)
def reverse_sequence(x: Array, lengths: Array, seq_axis: int = 0, batch_axis: int = 0) -> Array:
    """Turn round the first ``lengths[i]`` elements along ``seq_axis`` in slice ``i`` of ``batch_axis``.

    ``lengths``: (``x.shape[batch_axis]``,) integers from 0 to ``x.shape[seq_axis]``; another one raises IndexingError,
    another shape or two equal axes (MIL's defaults, as it happens) raise ShapeError.
    """
    seq, batch = resolve_axes("reverse_sequence", (seq_axis, batch_axis), x.ndim, "(seq_axis, batch_axis)")
    size, count = x.shape[seq], x.shape[batch]
    if lengths.shape != (count,):
        raise ShapeError(
            f"reverse_sequence: lengths has shape {lengths.shape}, expected {(count,)} = x.shape[batch_axis]. "
            "Pass one length per slice."
        )
    for length in integers(lengths):
        if not 0 <= length <= size:
            raise IndexingError(f"reverse_sequence: length {length} is not in 0 to {size} = x.shape[seq_axis].")
    xp = namespace(x)
    place, length = xp.arange(size)[None, :], lengths[:, None]
    source = xp.where(place < length, length - 1 - place, place)
    front = xp.moveaxis(x, (batch, seq), (0, 1))
    return xp.moveaxis(front[xp.arange(count)[:, None], source], (0, 1), (batch, seq))


@operation(
    sample([[2.0], [5.0]], x=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], begin=[0, 1], end=[2, 2]),
    sample(
        [[6, 5, 4]],
        x=[[1, 2, 3], [4, 5, 6]],
        begin=[-1, 0],
        end=[0, 0],
        stride=(1, -1),
        begin_mask=(False, True),
        end_mask=(True, True),
    ),
    sample(
        [3, 6], x=[[1, 2, 3], [4, 5, 6]], begin=[0, -1], end=[0, 0], end_mask=(True, False), squeeze_mask=(False, True)
    ),
    sample(2.0, x=[1.0, 2.0], begin=[1], end=[0], squeeze_mask=(True,)),
    exact=True,
    later={"x:integers": "iOS17", "begin:integers": "iOS17", "end:integers": "iOS17", "stride:integers": "iOS17"},
)
def slice_by_index(
    x: Array,
    begin: Array,
    end: Array,
    stride: Ints | None = None,
    begin_mask: Bools | None = None,
    end_mask: Bools | None = None,
    squeeze_mask: Bools | None = None,
) -> Array:
    """Return ``x[begin[0]:end[0]:stride[0], begin[1]:end[1]:stride[1], ...]``. ``begin``, ``end``: (rank,) integers.

    Negative ends count from the back and ends beyond the tensor are cut to it, as Python's slices do; so ``-1:0`` is
    empty, and the last element is ``-1`` with ``end_mask``. Strides may be negative.
    Where ``begin_mask[i]``, the slice begins at the first element in the direction of the stride (MIL's text says 0,
    its shape and value functions, which agree with each other, take the last element for a negative stride; lucid does
    as they do). Where ``end_mask[i]``, it runs to the last one. Where ``squeeze_mask[i]``, element ``begin[i]`` (0 with
    ``begin_mask``) is taken and the axis goes; an element out of range raises IndexingError (Core ML leaves it open).
    """
    keys = resolve_slices("slice_by_index", x.shape, begin, end, stride, begin_mask, end_mask, squeeze_mask)
    return x[(*keys, ...)]


@operation(
    sample([[2.0, 3.0]], x=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], begin=[0, 1], size=[1, -1]),
    sample([3], x=[1, 2, 3], begin=[-1], size=[1]),
    exact=True,
    later={"x:integers": "iOS17", "begin:integers": "iOS17", "size:integers": "iOS17"},
)
def slice_by_size(x: Array, begin: Array, size: Array) -> Array:
    """Return ``size[i]`` elements from ``begin[i]`` on along each axis. ``begin``, ``size``: (rank,) integers.

    A negative begin counts from the back; a size of -1 takes all that follow, and 0 takes none (as MIL's shape rule
    says; its value function takes all). Elements that the tensor does not have raise IndexingError.
    """
    begins, sizes = integers(begin), integers(size)
    if not len(begins) == len(sizes) == x.ndim:
        raise ShapeError(
            f"slice_by_size: begin and size have {len(begins)} and {len(sizes)} entries, x of shape {x.shape} has rank "
            f"{x.ndim}. Pass one per axis."
        )
    keys: list[Any] = []
    for axis, (first, count, length) in enumerate(zip(begins, sizes, x.shape, strict=True)):
        start = first + length if first < 0 else first
        stop = length if count == -1 else start + count
        if not 0 <= start <= stop <= length:
            raise IndexingError(
                f"slice_by_size: {count} elements from {first} on are out of range for axis {axis} of size {length}."
            )
        keys.append(slice(start, stop))
    return x[(*keys, ...)]


@operation(
    sample([[1.0, 9.0], [3.0, 8.0]], x=[[1.0, 2.0], [3.0, 4.0]], update=[[9.0], [8.0]], begin=[0, 1], end=[2, 2]),
    sample(
        [[1, 2], [7, 6]],
        x=[[1, 2], [3, 4]],
        update=[6, 7],
        begin=[-1, 0],
        end=[0, 0],
        stride=(1, -1),
        begin_mask=(False, True),
        end_mask=(False, True),
        squeeze_mask=(True, False),
    ),
    since="iOS18",
    exact=True,
)
def slice_update(
    x: Array,
    update: Array,
    begin: Array,
    end: Array,
    stride: Ints | None = None,
    begin_mask: Bools | None = None,
    end_mask: Bools | None = None,
    squeeze_mask: Bools | None = None,
) -> Array:
    """Return a copy of `x` whose slice, chosen as :data:`slice_by_index` does, holds ``update``.

    ``update`` has the dtype of `x` and exactly the shape of the slice, or ShapeError is raised: nothing broadcasts.
    Core ML takes no update of rank 0, so neither does lucid.
    """
    keys = (*resolve_slices("slice_update", x.shape, begin, end, stride, begin_mask, end_mask, squeeze_mask), ...)
    target = x[keys]
    if update.shape != target.shape:
        raise ShapeError(
            f"slice_update: update has shape {update.shape}, expected {target.shape} = the slice of x "
            f"of shape {x.shape}. Reshape the update or choose another slice."
        )
    if not update.ndim:
        raise ShapeError("slice_update: update has rank 0, expected 1 or more. Keep one axis (no squeeze_mask there).")
    place = getattr(x, "at", None)
    if place is not None:  # JAX's arrays cannot be written to
        return place[keys].set(update)
    out = x.copy()
    out[keys] = update
    return out


@operation(
    sample([[1, 2], [2, 3], [3, 4]], x=[1, 2, 3, 4], axis=0, size=2),
    sample([[[1.0], [2.0]], [[3.0], [4.0]]], x=[[1.0], [2.0], [3.0], [4.0], [5.0]], axis=-2, size=2, stride=2),
    exact=True,
    later={"x:integers": "iOS17", "x:bool": "iOS17"},
)
def sliding_windows(x: Array, axis: int, size: int, stride: int = 1) -> Array:
    """Return all windows of ``size`` elements along ``axis``, ``stride`` elements apart.

    The axis of length n becomes two, of ``(n - size) // stride + 1`` windows and of ``size`` elements. A size or stride
    below 1, or a size above n, raises ShapeError.
    """
    place = resolve_axis("sliding_windows", axis, x.ndim)
    length = x.shape[place]
    if not (1 <= size <= length and stride >= 1):
        raise ShapeError(
            f"sliding_windows: size {size} and stride {stride} do not fit axis {axis} of size {length}. "
            "Both are at least 1, and the size at most the axis."
        )
    xp = namespace(x)
    starts = xp.arange((length - size) // stride + 1) * stride
    return xp.take(x, starts[:, None] + xp.arange(size)[None, :], axis=place)


@operation(
    sample([[[[1.0, 2.0], [3.0, 4.0]]]], x=[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]], block_size=2),
    sample(
        [[[[1, 3], [5, 7]], [[2, 4], [6, 8]]]],
        x=[[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]],
        block_size=2,
    ),
    exact=True,
)
def depth_to_space(x: Array, block_size: int) -> Array:
    """Lay groups of channels out as blocks of pixels: (n, C, H, W) to (n, C / b^2, H b, W b).

    ``out[n, c, h b + i, w b + j] = x[n, (i b + j) C / b^2 + c, h, w]``: the place in the block is the slow part of the
    channel number, as in TensorFlow (in :data:`pixel_shuffle` it is the fast part).
    """
    b = block_size
    n, c, h, w = check_blocks("depth_to_space", x, b * b, 1, 1)
    xp = namespace(x)
    split = xp.reshape(x, (n, b, b, c // (b * b), h, w))
    return xp.reshape(xp.permute_dims(split, (0, 3, 4, 1, 5, 2)), (n, c // (b * b), h * b, w * b))


@operation(
    sample([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]], x=[[[[1.0, 2.0], [3.0, 4.0]]]], block_size=2),
    sample(
        [[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]],
        x=[[[[1, 3], [5, 7]], [[2, 4], [6, 8]]]],
        block_size=2,
    ),
    exact=True,
)
def space_to_depth(x: Array, block_size: int) -> Array:
    """Stack blocks of pixels as channels: (n, C, H, W) to (n, C b^2, H / b, W / b), the inverse of depth_to_space."""
    b = block_size
    n, c, h, w = check_blocks("space_to_depth", x, 1, b, b)
    xp = namespace(x)
    split = xp.reshape(x, (n, c, h // b, b, w // b, b))
    return xp.reshape(xp.permute_dims(split, (0, 3, 5, 1, 2, 4)), (n, c * b * b, h // b, w // b))


@operation(
    sample([[[[1.0, 2.0], [3.0, 4.0]]]], x=[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]], upscale_factor=2),
    sample(
        [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]],
        x=[[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]],
        upscale_factor=2,
    ),
    exact=True,
)
def pixel_shuffle(x: Array, upscale_factor: int) -> Array:
    """Lay groups of channels out as blocks of pixels: (n, C f^2, H, W) to (n, C, H f, W f), as PyTorch's PixelShuffle.

    ``out[n, c, h f + i, w f + j] = x[n, c f^2 + i f + j, h, w]``.
    """
    f = upscale_factor
    n, c, h, w = check_blocks("pixel_shuffle", x, f * f, 1, 1)
    xp = namespace(x)
    split = xp.reshape(x, (n, c // (f * f), f, f, h, w))
    return xp.reshape(xp.permute_dims(split, (0, 1, 4, 2, 5, 3)), (n, c // (f * f), h * f, w * f))


@operation(
    sample([[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]], x=[[[[1.0, 2.0], [3.0, 4.0]]]], downscale_factor=2),
    sample(
        [[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]],
        x=[[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]],
        downscale_factor=2,
    ),
    since="iOS16",
    exact=True,
)
def pixel_unshuffle(x: Array, downscale_factor: int) -> Array:
    """Stack blocks of pixels as channels: (n, C, H, W) to (n, C f^2, H / f, W / f), the inverse of pixel_shuffle.

    In a package ``downscale_factor`` is an unsigned integer.
    """
    f = downscale_factor
    n, c, h, w = check_blocks("pixel_unshuffle", x, 1, f, f)
    xp = namespace(x)
    split = xp.reshape(x, (n, c, h // f, f, w // f, f))
    return xp.reshape(xp.permute_dims(split, (0, 1, 3, 5, 2, 4)), (n, c * f * f, h // f, w // f))


@operation(
    sample(
        [[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]],
        x=[[[[1.0, 2.0], [3.0, 4.0]]]],
        block_shape=(2, 2),
        paddings=[[0, 0], [0, 0]],
    ),
    sample([[[[0, 2]]], [[[1, 3]]]], x=[[[[1, 2, 3]]]], block_shape=(1, 2), paddings=[[0, 0], [1, 0]]),
    exact=True,
)
def space_to_batch(x: Array, block_shape: Ints, paddings: Array) -> Array:
    """Move blocks of pixels into the batch: (n, C, H, W) to (n b0 b1, C, (H + pads) / b0, (W + pads) / b1).

    ``paddings``: (2, 2) integers known when the program is made, zeros put before and after H and W first.
    ``out[(i b1 + j) n + m, c, h, w] = padded[m, c, h b0 + i, w b1 + j]``. Sizes that the blocks do not divide
    raise ShapeError.
    """
    (top, bottom), (left, right) = block_pairs("space_to_batch", "paddings", block_shape, paddings)
    b0, b1 = block_shape
    xp = namespace(x)
    if x.ndim == 4 and (top or bottom or left or right):
        x = xp.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, c, h, w = check_blocks("space_to_batch", x, 1, b0, b1)
    split = xp.reshape(x, (n, c, h // b0, b0, w // b1, b1))
    return xp.reshape(xp.permute_dims(split, (3, 5, 0, 1, 2, 4)), (b0 * b1 * n, c, h // b0, w // b1))


@operation(
    sample(
        [[[[1.0, 2.0], [3.0, 4.0]]]],
        x=[[[[1.0]]], [[[2.0]]], [[[3.0]]], [[[4.0]]]],
        block_shape=(2, 2),
        crops=[[0, 0], [0, 0]],
    ),
    sample([[[[1, 2, 3]]]], x=[[[[0, 2]]], [[[1, 3]]]], block_shape=(1, 2), crops=[[0, 0], [1, 0]]),
    exact=True,
)
def batch_to_space(x: Array, block_shape: Ints, crops: Array) -> Array:
    """Move the batch back into blocks of pixels: (n, C, H, W) to (n / (b0 b1), C, H b0 - crops, W b1 - crops).

    ``crops``: (2, 2) integers known when the program is made, what to cut before and after H and W at the end. The
    inverse of :data:`space_to_batch`. A batch that the blocks do not divide, or crops beyond the picture,
    raise ShapeError.
    """
    (top, bottom), (left, right) = block_pairs("batch_to_space", "crops", block_shape, crops)
    b0, b1 = block_shape
    n, c, h, w = check_blocks("batch_to_space", x, 1, 1, 1)
    if b0 < 1 or b1 < 1 or n % (b0 * b1) or top + bottom > h * b0 or left + right > w * b1:
        raise ShapeError(
            f"batch_to_space: x of shape {x.shape} cannot be laid out in blocks of {tuple(block_shape)} with crops "
            f"{[[top, bottom], [left, right]]}. The blocks divide the batch, and the crops fit in H and W."
        )
    xp = namespace(x)
    split = xp.reshape(x, (b0, b1, n // (b0 * b1), c, h, w))
    grown = xp.reshape(xp.permute_dims(split, (2, 3, 4, 0, 5, 1)), (n // (b0 * b1), c, h * b0, w * b1))
    return grown[:, :, top : h * b0 - bottom, left : w * b1 - right]
