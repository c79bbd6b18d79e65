"""Convolutions with 1 to 3 spatial axes, as sums of products in float32.

A convolution is one matrix product per group over the columns of all windows; where each group has one input channel
(depthwise), it is a sum over the elements of the kernel instead.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.record import operation, sample
from lucid.ops.windows import padded, padding, per_axis, place, shifted, window_count

__all__ = ["conv", "conv_transpose"]


def _check(name: str, x: Any, weight: Any, bias: Any, groups: int, *, is_transposed: bool = False) -> None:
    """Raise ShapeError where the channels of `x`, `weight` and `bias` do not fit."""
    if x.ndim not in (3, 4, 5) or weight.ndim != x.ndim:
        raise ShapeError(
            f"{name}: x has shape {x.shape} and weight {weight.shape}, expected (n, C, *D) with 1 to 3 spatial "
            "axes and a weight of the same rank. Add or remove axes."
        )
    channels, (first, second) = x.shape[1], weight.shape[:2]
    is_split = groups >= 1 and channels % groups == 0
    if is_transposed:
        if not is_split or first != channels:
            raise ShapeError(
                f"{name}: weight has shape {weight.shape}, x has {channels} channels in {groups} groups. The weight is "
                "(C_in, C_out / groups, *K), and groups divides C_in."
            )
    elif not is_split or first % groups or second != channels // groups:
        raise ShapeError(
            f"{name}: weight has shape {weight.shape}, x has {channels} channels in {groups} groups. The weight is "
            "(C_out, C_in / groups, *K), and groups divides C_in and C_out."
        )
    outputs = second * groups if is_transposed else first
    if bias is not None and bias.shape != (outputs,):
        raise ShapeError(
            f"{name}: bias has shape {bias.shape}, expected {(outputs,)}. Pass one value per output channel."
        )


@operation(
    sample([[[3.0, 5.0, 7.0]]], x=[[[1.0, 2.0, 3.0, 4.0]]], weight=[[[1.0, 1.0]]]),
    sample(
        [[[[0.5, 1.5], [2.5, 3.5]], [[0.0, 2.0], [4.0, 6.0]]]],
        x=[[[[0.0, 1.0], [2.0, 3.0]], [[0.0, 1.0], [2.0, 3.0]]]],
        weight=[[[[1.0]]], [[[2.0]]]],
        bias=[0.5, 0.0],
        groups=2,
    ),
    sample(
        [[[2.0, 6.0, 4.0]]], x=[[[1.0, 2.0, 3.0, 4.0, 5.0]]], weight=[[[1.0, 0.0, 1.0]]], strides=(2,), pad_type="same"
    ),
    sample([[[4.0, 2.0]]], x=[[[1.0, 2.0, 3.0]]], weight=[[[1.0, 1.0]]], pad_type="custom", pad=(0, 1), dilations=(2,)),
    later={"weight:dtype": "iOS17", "bias:dtype": "iOS17", "bias:variable": "iOS17", "pad_type=same_lower": "iOS16"},
)
def conv(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    strides: Ints | None = None,
    pad_type: str = "valid",
    pad: Ints | None = None,
    dilations: Ints | None = None,
    groups: int = 1,
) -> Array:
    """Slide kernels over the spatial axes and sum the products, as a cross-correlation (kernels are not turned).

    ``x``: (n, C_in, *D) with 1 to 3 spatial axes; ``weight``: (C_out, C_in / groups, *K), ``bias``: (C_out,); the
    result: (n, C_out, *O). ``strides`` and ``dilations`` default to 1 along each axis, ``pad`` to 0; ``pad`` counts for
    ``pad_type`` custom only. ``same_lower`` exists from opset iOS16 on. Core ML takes no dilation where the weight is
    computed at run time. Shapes that do not fit raise ShapeError.
    """
    _check("conv", x, weight, bias, groups)
    rank = x.ndim - 2
    strides = per_axis("conv", "strides", strides, rank, 1)
    dilations = per_axis("conv", "dilations", dilations, rank, 1)
    sizes, kernel = x.shape[2:], weight.shape[2:]
    extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    pairs = padding("conv", pad_type, pad, sizes, extents, strides)
    counts = window_count("conv", sizes, pairs, extents, strides)
    views = shifted(padded(x, pairs), kernel, strides, dilations, counts)

    xp = namespace(x, weight)
    n, c_in, c_out = x.shape[0], x.shape[1], weight.shape[0]
    if groups == c_in and c_in > 1:
        out = _depthwise(xp, views, weight, groups)
    else:
        columns = next(views) if prod(kernel) == 1 else xp.stack(list(views), axis=2)
        columns = xp.reshape(columns, (n, groups, c_in // groups * prod(kernel), prod(counts)))
        out = xp.matmul(xp.reshape(weight, (groups, c_out // groups, columns.shape[2])), columns)
    out = xp.reshape(out, (n, c_out, *counts))
    if bias is not None:
        out += xp.reshape(bias, (c_out, *(1,) * rank))
    return out


def _depthwise(xp: Any, views: Any, weight: Any, groups: int) -> Any:
    """Return the sums over the kernel of view times weight: (n, groups, C_out / groups, *counts)."""
    rank = weight.ndim - 2
    factors = xp.reshape(weight, (groups, weight.shape[0] // groups, *(1,) * rank, -1))
    out = None
    for element, view in enumerate(views):
        term = view[:, :, None] * factors[..., element]
        if out is None:
            out = term
        else:
            out += term
    return out


@operation(
    sample([[[1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 3.0]]], x=[[[1.0, 2.0, 3.0]]], weight=[[[1.0, 1.0, 1.0]]], strides=(2,)),
    sample(
        [[[1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 3.0, 0.0]]],
        x=[[[1.0, 2.0, 3.0]]],
        weight=[[[1.0, 1.0, 1.0]]],
        strides=(2,),
        output_shape=(1, 1, 8),
    ),
    sample(
        [[[3.0, 4.0, 5.0]]],
        x=[[[1.0, 2.0]]],
        weight=[[[1.0, 2.0, 1.0]]],
        bias=[1.0],
        strides=(2,),
        pad=(1, 1),
        pad_type="custom",
    ),
    later={"weight:dtype": "iOS17", "weight:variable": "iOS17", "bias:dtype": "iOS17", "bias:variable": "iOS17"},
)
def conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    pad: Ints | None = None,
    output_shape: Ints | None = None,
    pad_type: str = "valid",
    strides: Ints | None = None,
    dilations: Ints | None = None,
    groups: int = 1,
) -> Array:
    """Spread each element over the kernel and sum what meets: the gradient of :data:`conv` with respect to its input.

    ``x``: (n, C_in, *D) with 1 to 3 spatial axes; ``weight``: (C_in, C_out / groups, *K), ``bias``: (C_out,); the
    result: (n, C_out, *O). Uncut, O is ``(D - 1) strides + (K - 1) dilations + 1`` (``valid``). ``custom`` cuts ``pad``
    before and after each axis; ``same`` leaves ``D strides``, cutting what a ``same`` convolution would have padded.

    ``output_shape``, all axes of it, sets O where several sizes are possible. It counts at the end of each axis only:
    the cut before is that of ``pad_type`` (for ``same``, of a convolution from ``output_shape``), and elements that
    nothing is spread to hold the bias. Shapes that do not fit, and ``same_lower``, which MIL does not have here, raise
    ShapeError.
    """
    _check("conv_transpose", x, weight, bias, groups, is_transposed=True)
    if pad_type not in ("valid", "same", "custom"):
        raise ShapeError(f"conv_transpose: pad_type is {pad_type!r}. Choose one of valid, same, custom.")
    rank, c_out = x.ndim - 2, weight.shape[1] * groups
    strides = per_axis("conv_transpose", "strides", strides, rank, 1)
    dilations = per_axis("conv_transpose", "dilations", dilations, rank, 1)
    sizes, kernel = x.shape[2:], weight.shape[2:]
    extents = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    if output_shape is not None:
        if len(output_shape) != x.ndim or tuple(output_shape[:2]) != (x.shape[0], c_out) or min(output_shape) < 1:
            raise ShapeError(
                f"conv_transpose: output_shape is {tuple(output_shape)}, expected ({x.shape[0]}, {c_out}) and {rank} "
                "spatial sizes of 1 or more."
            )
        counts = tuple(output_shape[2:])
    elif pad_type == "same":
        counts = tuple(size * stride for size, stride in zip(sizes, strides, strict=True))
    else:
        counts = ()
    full = tuple((size - 1) * stride + extent for size, stride, extent in zip(sizes, strides, extents, strict=True))
    pairs = padding("conv_transpose", pad_type, pad, counts or sizes, extents, strides)
    if not counts:
        counts = tuple(size - before - after for size, (before, after) in zip(full, pairs, strict=True))
        if min(counts) < 1:
            raise ShapeError(
                f"conv_transpose: pad {pairs} cuts away all of the result of spatial shape {full}. Pad less."
            )

    xp = namespace(x, weight)
    n, c_in = x.shape[:2]
    per_group = xp.reshape(weight, (groups, c_in // groups, weight.shape[1] * prod(kernel)))
    columns = xp.matmul(per_group.mT, xp.reshape(x, (n, groups, c_in // groups, prod(sizes))))
    columns = xp.reshape(columns, (n, c_out, prod(kernel), *sizes))
    starts = tuple(before for before, _ in pairs)
    room = tuple(max(size, start + count) for size, start, count in zip(full, starts, counts, strict=True))
    out = xp.zeros((n, c_out, *room), dtype=columns.dtype)
    for element, offsets in enumerate(product(*map(range, kernel))):
        key = place(offsets, strides, dilations, sizes)
        if hasattr(out, "at"):  # JAX's arrays cannot be written to
            out = out.at[key].add(columns[:, :, element])
        else:
            out[key] += columns[:, :, element]
    out = out[(..., *(slice(start, start + count) for start, count in zip(starts, counts, strict=True)))]
    return out if bias is None else out + xp.reshape(bias, (c_out, *(1,) * rank))
