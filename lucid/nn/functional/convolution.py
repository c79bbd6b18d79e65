"""Convolution, forward and transposed, over one, two or three axes."""

from __future__ import annotations

from collections.abc import Sequence

from lucid.errors import DTypeError, ShapeError, UnsupportedError
from lucid.functional.padding import pad
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sizes"]

Sizes = int | Sequence[int]


def sizes(name: str, value: Sizes, count: int) -> tuple[int, ...]:
    """Return one size per spatial axis: an integer counts for all of them."""
    numbers = (value,) * count if isinstance(value, int) else tuple(value)
    if len(numbers) == 1:
        numbers *= count
    if len(numbers) != count:
        raise ShapeError(f"{name} is {value}; it takes one integer or {count}.")
    return numbers


def _checked(name: str, x: Tensor, weight: Tensor, count: int, groups: int, axis: int) -> tuple[Tensor, bool]:
    """Return `x` with a batch axis, and whether it came without one."""
    if x.dtype != weight.dtype or not x.is_floating_point():
        raise DTypeError(f"{name}: x is {x.dtype}, the weight {weight.dtype}. Both must be one floating dtype.")
    if x.ndim not in (count + 1, count + 2) or weight.ndim != count + 2:
        raise ShapeError(f"{name}: x has shape {x.shape}, the weight {weight.shape}; expected N, C and {count} axes.")
    is_single = x.ndim == count + 1
    full = x.unsqueeze(0) if is_single else x
    expected = weight.shape[axis] * (groups if axis == 1 else 1)
    if full.shape[1] != expected or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: x has {full.shape[1]} channels, expected {expected}: "
            f"the weight has shape {weight.shape}, groups is {groups}."
        )
    return full, is_single


def _conv(
    count: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Tensor:
    name = f"conv{count}d"
    full, is_single = _checked(name, x, weight, count, groups, 1)
    strides, dilations = sizes(f"{name}: stride", stride, count), sizes(f"{name}: dilation", dilation, count)
    pads = _pads(name, padding, weight.shape[2:], strides, dilations)
    result = mil.conv(
        full,
        weight=weight,
        bias=bias,
        strides=strides,
        pad_type="custom",
        pad=pads,
        dilations=dilations,
        groups=groups,
    )
    return result.squeeze(0) if is_single else result


def _pads(
    name: str, padding: Sizes | str, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]
) -> tuple[int, ...]:
    if padding == "valid":
        return (0,) * (2 * len(kernel))
    if padding == "same":
        if any(stride != 1 for stride in strides):
            raise UnsupportedError(
                f"{name}: padding='same' with stride {strides}. Strides must be 1, or pad in numbers."
            )
        totals = [dilation * (size - 1) for size, dilation in zip(kernel, dilations, strict=True)]
        return tuple(part for total in totals for part in (total // 2, total - total // 2))
    if isinstance(padding, str):
        raise UnsupportedError(f"{name}: padding is {padding!r}. Use 'valid', 'same' or numbers.")
    return tuple(amount for amount in sizes(f"{name}: padding", padding, len(kernel)) for _ in range(2))


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution of `x` (N, C, L) or (C, L) with `weight` (out, C / groups, K)."""
    return _conv(1, x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution of `x` (N, C, H, W) or (C, H, W) with `weight` (out, C / groups, KH, KW)."""
    return _conv(2, x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """Return the convolution of `x` (N, C, D, H, W) with `weight` (out, C / groups, KD, KH, KW)."""
    return _conv(3, x, weight, bias, stride, padding, dilation, groups)


def _conv_transpose(
    count: int,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Tensor:
    name = f"conv_transpose{count}d"
    full, is_single = _checked(name, x, weight, count, groups, 0)
    strides, dilations = sizes(f"{name}: stride", stride, count), sizes(f"{name}: dilation", dilation, count)
    amounts = sizes(f"{name}: padding", padding, count)
    extras = sizes(f"{name}: output_padding", output_padding, count)
    for extra, step, spacing in zip(extras, strides, dilations, strict=True):
        if not 0 <= extra < max(step, spacing):
            raise ShapeError(
                f"{name}: output_padding is {extra}; it must be less than stride {step} or dilation {spacing}."
            )
    # The output grows at its end by output_padding: less is cut there, and what goes beyond the last product is zero.
    pads = tuple(
        part for amount, extra in zip(amounts, extras, strict=True) for part in (amount, max(amount - extra, 0))
    )
    beyond = [max(extra - amount, 0) for amount, extra in zip(amounts, extras, strict=True)]
    result = mil.conv_transpose(
        full,
        weight=weight,
        bias=None if any(beyond) else bias,
        pad=pads,
        pad_type="custom",
        strides=strides,
        dilations=dilations,
        groups=groups,
    )
    if any(beyond):
        result = pad(result, [part for extra in reversed(beyond) for part in (0, extra)])
        if bias is not None:
            result = result + bias.reshape(1, -1, *(1 for _ in range(count)))
    return result.squeeze(0) if is_single else result


def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Return the transposed convolution of `x` (N, C, L) with `weight` (C, out / groups, K)."""
    return _conv_transpose(1, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Return the transposed convolution of `x` (N, C, H, W) with `weight` (C, out / groups, KH, KW)."""
    return _conv_transpose(2, x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Tensor:
    """Return the transposed convolution of `x` (N, C, D, H, W) with `weight` (C, out / groups, KD, KH, KW)."""
    return _conv_transpose(3, x, weight, bias, stride, padding, output_padding, groups, dilation)
