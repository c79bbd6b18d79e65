"""Pooling over windows of one, two or three axes."""

from __future__ import annotations

import math

from lucid.errors import DTypeError, ShapeError, UnsupportedError
from lucid.functional.padding import pad
from lucid.functional.vocabulary import mil
from lucid.nn.functional.convolution import Sizes, sizes
from lucid.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def _overhang(size: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """Return how far the last window reaches beyond the padded axis. A window begins inside the axis or its padding."""
    span = size + 2 * padding - kernel
    if span < 0 and not ceil_mode:
        raise ShapeError(f"pool: a window of {kernel} does not fit an axis of {size} padded by {padding}.")
    count = (-(-span // stride) if ceil_mode else span // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return max((count - 1) * stride + kernel - (size + 2 * padding), 0)


def _windows(
    name: str, count: int, x: Tensor, kernel: Sizes, stride: Sizes | None, padding: Sizes, ceil_mode: bool
) -> tuple[Tensor, bool, tuple[int, ...], tuple[int, ...], tuple[int, ...], list[int]]:
    if x.ndim not in (count + 1, count + 2):
        raise ShapeError(f"{name}: x has shape {x.shape}; it takes (N, C) or (C,) and {count} axes.")
    if not x.is_floating_point():
        raise DTypeError(f"{name}: x is {x.dtype}. It takes a floating dtype.")
    kernels = sizes(f"{name}: kernel_size", kernel, count)
    strides = kernels if stride is None or stride == () else sizes(f"{name}: stride", stride, count)
    amounts = sizes(f"{name}: padding", padding, count)
    if any(2 * amount > size for amount, size in zip(amounts, kernels, strict=True)):
        raise ShapeError(f"{name}: padding {amounts} is more than half of the kernel {kernels}.")
    is_single = x.ndim == count + 1
    full = x.unsqueeze(0) if is_single else x
    beyond = [
        _overhang(size, window, step, amount, ceil_mode)
        for size, window, step, amount in zip(full.shape[2:], kernels, strides, amounts, strict=True)
    ]
    return full, is_single, kernels, strides, amounts, beyond


def _max_pool(
    count: int,
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    return_indices: bool,
) -> Tensor:
    name = f"max_pool{count}d"
    if any(step != 1 for step in sizes(f"{name}: dilation", dilation, count)) or return_indices:
        raise UnsupportedError(f"{name}: Core ML has neither dilation nor indices of pooling.")
    full, is_single, kernels, strides, amounts, beyond = _windows(
        name, count, x, kernel_size, stride, padding, ceil_mode
    )
    pads = tuple(part for amount, extra in zip(amounts, beyond, strict=True) for part in (amount, amount + extra))
    result = mil.max_pool(full, kernel_sizes=kernels, strides=strides, pad_type="custom", pad=pads, ceil_mode=False)
    return result.squeeze(0) if is_single else result


def _avg_pool(
    count: int,
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """What overhangs an axis because its end is rounded up is never counted; padding is if `count_include_pad`."""
    name = f"avg_pool{count}d"
    full, is_single, kernels, strides, amounts, beyond = _windows(
        name, count, x, kernel_size, stride, padding, ceil_mode
    )
    counted = count_include_pad or divisor_override is not None
    if divisor_override is not None and any(beyond):
        counted, amounts_end = True, tuple(a + b for a, b in zip(amounts, beyond, strict=True))
        beyond = [0] * count
    else:
        amounts_end = amounts
    if counted and any(amounts_end) and any(beyond):
        full = pad(full, [amount for amount in reversed(amounts) for _ in range(2)])
        amounts = amounts_end = (0,) * count
    pads = tuple(
        part for amount, end, extra in zip(amounts, amounts_end, beyond, strict=True) for part in (amount, end + extra)
    )
    result = mil.avg_pool(
        full,
        kernel_sizes=kernels,
        strides=strides,
        pad_type="custom",
        pad=pads,
        exclude_padding_from_average=any(beyond) or not counted,
        ceil_mode=False,
    )
    if divisor_override is not None:
        result = result * (math.prod(kernels) / divisor_override)
    return result.squeeze(0) if is_single else result


def max_pool1d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Return the greatest element of each window of the last axis."""
    return _max_pool(1, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Return the greatest element of each window of the last two axes."""
    return _max_pool(2, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """Return the greatest element of each window of the last three axes."""
    return _max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Return the mean of each window of the last axis."""
    return _avg_pool(1, x, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of the last two axes."""
    return _avg_pool(2, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    x: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Return the mean of each window of the last three axes."""
    return _avg_pool(3, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive(name: str, count: int, x: Tensor, output_size: int | tuple[int | None, ...] | None) -> Tensor:
    if x.ndim not in (count + 1, count + 2):
        raise ShapeError(
            f"adaptive_{name}_pool{count}d: x has shape {x.shape}; it takes (N, C) or (C,) and {count} axes."
        )
    field = x.shape[-count:]
    given = output_size if isinstance(output_size, tuple | list) else (output_size,) * count
    wanted = tuple(size if out is None else out for out, size in zip(given, field, strict=True))
    if any(out <= 0 or size % out for out, size in zip(wanted, field, strict=True)):
        raise UnsupportedError(
            f"adaptive_{name}_pool{count}d: the field {field} is not a multiple of the output size {wanted}. "
            "Core ML's windows have one size; choose an output size that divides the field."
        )
    if all(out == 1 for out in wanted):
        reduce = mil.reduce_mean if name == "avg" else mil.reduce_max
        return reduce(x, axes=tuple(range(x.ndim - count, x.ndim)), keep_dims=True)
    kernel = tuple(size // out for out, size in zip(wanted, field, strict=True))
    if name == "avg":
        return _avg_pool(count, x, kernel, None, 0, False, True, None)
    return _max_pool(count, x, kernel, None, 0, 1, False, False)


def adaptive_avg_pool1d(x: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Return the means of `output_size` equal windows of the last axis, whose size it must divide."""
    return _adaptive("avg", 1, x, output_size)


def adaptive_avg_pool2d(x: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Return the means of equal windows of the last two axes, whose sizes the output's must divide."""
    return _adaptive("avg", 2, x, output_size)


def adaptive_max_pool1d(x: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Return the greatest elements of `output_size` equal windows of the last axis, whose size it must divide."""
    return _adaptive("max", 1, x, output_size)


def adaptive_max_pool2d(x: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Return the greatest elements of equal windows of the last two axes, whose sizes the output's must divide."""
    return _adaptive("max", 2, x, output_size)
