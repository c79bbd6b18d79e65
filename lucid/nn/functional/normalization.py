"""Normalization by mean and variance, by root mean square and by length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lucid.dtypes import float16
from lucid.errors import DTypeError, ShapeError
from lucid.functional.operands import needs_floating
from lucid.functional.reductions import norm, var_mean
from lucid.functional.vocabulary import mil
from lucid.nn.functional.constants import are_constant
from lucid.tensor import Tensor

__all__ = [
    "batch_norm",
    "cosine_similarity",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "normalize",
    "rms_norm",
]


def _last_axes(name: str, x: Tensor, normalized_shape: int | Sequence[int], *weights: Tensor | None) -> tuple[int, ...]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"{name}: x has shape {x.shape}, which does not end with the normalized shape {shape}.")
    for weight in weights:
        if weight is not None and weight.shape != shape:
            raise ShapeError(f"{name}: a weight has shape {weight.shape}, expected {shape}, the normalized shape.")
    return tuple(range(x.ndim - len(shape), x.ndim))


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Return `x` with mean 0 and variance 1 over its last axes, times `weight`, plus `bias`."""
    x = needs_floating("layer_norm", x)
    axes = _last_axes("layer_norm", x, normalized_shape, weight, bias)
    if are_constant(weight, bias):
        return mil.layer_norm(x, axes=axes, gamma=weight, beta=bias, epsilon=eps)
    result = mil.layer_norm(x, axes=axes, epsilon=eps)
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def rms_norm(
    x: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Return `x` divided by its root mean square over the last axes, times `weight` (Zhang and Sennrich, 2019).

    float16 is squared in float32, where no square of a half overflows. ``eps`` is added to the mean of squares; the
    default is the dtype's own epsilon.
    """
    x = needs_floating("rms_norm", x)
    axes = _last_axes("rms_norm", x, normalized_shape, weight)
    small = float(np.finfo(x.dtype.name).eps) if eps is None else eps
    wide = x.float() if x.dtype == float16 else x
    scale = mil.rsqrt(mil.reduce_mean(mil.square(wide), axes=axes, keep_dims=True), epsilon=small)
    result = (wide * scale).to(x.dtype)
    return result if weight is None else result * weight


def _per_channel(weight: Tensor, rank: int) -> Tensor:
    return weight.reshape(1, -1, *(1 for _ in range(rank - 2))) if rank > 2 else weight


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return `x` (N, C, ...) normalized per channel, by the running statistics or, in training, by the batch's own.

    In training, the running statistics move towards the batch's by `momentum`, in place; the variance kept there is
    the unbiased one.
    """
    x = needs_floating("batch_norm", x)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: x has shape {x.shape}; it takes (N, C, ...).")
    if not training:
        if running_mean is None or running_var is None:
            raise ShapeError("batch_norm: the running statistics are missing. Pass training=True to use the batch's.")
        known = are_constant(running_mean, running_var, weight, bias)
        if known and 3 <= x.ndim <= 5:
            return mil.batch_norm(x, mean=running_mean, variance=running_var, gamma=weight, beta=bias, epsilon=eps)
        return _scaled(x, running_mean, running_var, weight, bias, eps)
    axes = [axis for axis in range(x.ndim) if axis != 1]
    count = x.numel() // max(x.shape[1], 1)
    if count <= 1:
        raise ShapeError(f"batch_norm: x has shape {x.shape}: one value per channel has no variance. Use eval().")
    variance, mean = var_mean(x, axes, correction=0)
    for running, found in ((running_mean, mean), (running_var, variance * (count / (count - 1)))):
        if running is not None:
            running.copy_(running * (1.0 - momentum) + found.detach() * momentum)
    return _scaled(x, mean, variance, weight, bias, eps)


def _scaled(
    x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    scale = mil.rsqrt(variance, epsilon=eps)
    if weight is not None:
        scale = scale * weight
    result = (x - _per_channel(mean, x.ndim)) * _per_channel(scale, x.ndim)
    return result if bias is None else result + _per_channel(bias, x.ndim)


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Return `x` (N, C, ...) normalized over the axes after C, per sample and channel."""
    return group_norm(x, x.shape[1], weight, bias, eps)


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Return `x` (N, C, ...) normalized per sample over groups of channels, times `weight`, plus `bias` per channel."""
    x = needs_floating("group_norm", x)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm: x has shape {x.shape}; axis 1 does not split into {num_groups} groups.")
    grouped = mil.layer_norm(x.reshape(x.shape[0], num_groups, -1), axes=(2,), epsilon=eps).reshape(x.shape)
    if weight is not None:
        grouped = grouped * _per_channel(weight, x.ndim)
    return grouped if bias is None else grouped + _per_channel(bias, x.ndim)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Return `x` divided by its norm of order `p` along an axis, or by `eps` where the norm is smaller."""
    return x / norm(x, p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along an axis; each length counts as at least `eps`."""
    if x1.dtype != x2.dtype:
        raise DTypeError(f"cosine_similarity: the operands are {x1.dtype} and {x2.dtype}. Cast one of them.")
    lengths = norm(x1, 2.0, dim, keepdim=True).clamp(min=eps), norm(x2, 2.0, dim, keepdim=True).clamp(min=eps)
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)
