"""Reductions over axes. ``dim`` is an axis, several or ``None`` for all; ``keepdim`` leaves axes of size 1."""

# ruff: noqa: A001 -- PyTorch's names

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from lucid.dtypes import bool_, int32
from lucid.errors import DTypeError, ShapeError
from lucid.functional.arithmetic import maximum, minimum
from lucid.functional.comparison import isnan, truth
from lucid.functional.operands import Axes, axes_of, axis_of, carried, floating, matched, needs_floating
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = [
    "Extremes",
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumsum",
    "logsumexp",
    "max",
    "mean",
    "min",
    "nansum",
    "norm",
    "prod",
    "std",
    "std_mean",
    "sum",
    "var",
    "var_mean",
]


class Extremes(NamedTuple):
    """The greatest or smallest elements along an axis, and where they stand."""

    values: Tensor
    indices: Tensor


def reduced(name: str, operation: str, x: Tensor, dim: Axes, keepdim: bool) -> Tensor:
    """Apply one of MIL's reductions; a tensor of rank 0 is reduced as if it had one axis."""
    axes = axes_of(name, dim, x.ndim)
    function: Callable[..., Tensor] = getattr(mil, operation)
    if x.ndim == 0:
        return function(mil.expand_dims(x, axes=(0,)), axes=(0,), keep_dims=False)
    return function(x, axes=axes, keep_dims=keepdim)


def _count(x: Tensor, dim: Axes) -> int:
    return math.prod(x.shape[axis] for axis in axes_of("mean", dim, x.ndim)) if x.ndim else 1


def sum(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: object = None) -> Tensor:
    """Return the sum. bool and narrow integers are summed as int32."""
    return reduced("sum", "reduce_sum", matched("sum", x, dtype, int32), dim, keepdim)


def nansum(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: object = None) -> Tensor:
    """Return the sum of the elements that are not NaN."""
    return sum(x.masked_fill(isnan(x), 0) if x.is_floating_point() else x, dim, keepdim, dtype=dtype)


def prod(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: object = None) -> Tensor:
    """Return the product. bool and narrow integers are multiplied as int32."""
    return reduced("prod", "reduce_prod", matched("prod", x, dtype, int32), dim, keepdim)


def mean(x: Tensor, dim: Axes = None, keepdim: bool = False, *, dtype: object = None) -> Tensor:
    """Return the mean of a floating tensor."""
    return reduced("mean", "reduce_mean", needs_floating("mean", x, dtype), dim, keepdim)


def var_mean(
    x: Tensor, dim: Axes = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean. The sum of squared distances is divided by ``n - correction`` (default 1)."""
    x = needs_floating("var", x)
    less = correction if correction is not None else float(unbiased)
    centre = reduced("var", "reduce_mean", x, dim, keepdim=True)
    distance = x - (centre if x.ndim else centre.squeeze())
    squares = reduced("var", "reduce_sum_square", distance, dim, keepdim)
    count = _count(x, dim) - less
    variance = squares * (1.0 / count) if count > 0 else squares / 0.0
    return variance, centre if keepdim else centre.squeeze(axes_of("var", dim, x.ndim))


def var(
    x: Tensor, dim: Axes = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the variance (see :func:`var_mean`)."""
    return var_mean(x, dim, unbiased, keepdim, correction=correction)[0]


def std(
    x: Tensor, dim: Axes = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> Tensor:
    """Return the standard deviation (see :func:`var_mean`)."""
    return mil.sqrt(var(x, dim, unbiased, keepdim, correction=correction))


def std_mean(
    x: Tensor, dim: Axes = None, unbiased: bool = True, keepdim: bool = False, *, correction: float | None = None
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean (see :func:`var_mean`)."""
    variance, centre = var_mean(x, dim, unbiased, keepdim, correction=correction)
    return mil.sqrt(variance), centre


def amax(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Return the greatest element."""
    return carried(lambda wide: reduced("amax", "reduce_max", wide, dim, keepdim), x)


def amin(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Return the smallest element."""
    return carried(lambda wide: reduced("amin", "reduce_min", wide, dim, keepdim), x)


def _extreme(
    name: str,
    x: Tensor,
    dim: int | Tensor | None,
    keepdim: bool,
    pairwise: Callable[[Tensor, Tensor], Tensor],
    whole: Callable[..., Tensor],
    place: Callable[..., Tensor],
) -> Tensor | Extremes:
    if isinstance(dim, Tensor):
        return pairwise(x, dim)
    if dim is None:
        return whole(x)
    axis_of(name, dim, x.ndim)
    return Extremes(whole(x, dim, keepdim), place(x, dim, keepdim))


def max(x: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | Extremes:
    """Return the greatest element; along an axis, also where it stands; against a tensor, the greater of each pair."""
    return _extreme("max", x, dim, keepdim, maximum, amax, argmax)


def min(x: Tensor, dim: int | Tensor | None = None, keepdim: bool = False) -> Tensor | Extremes:
    """Return the smallest element; along an axis, also where it stands; against a tensor, the smaller of each pair."""
    return _extreme("min", x, dim, keepdim, minimum, amin, argmin)


def _place(name: str, operation: str, x: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if x.numel() == 0:
        raise ShapeError(f"{name}: the tensor of shape {x.shape} has no elements.")
    wide = matched(name, x, None, int32)
    function: Callable[..., Tensor] = getattr(mil, operation)
    if dim is None or x.ndim == 0:
        flat = function(mil.reshape(wide, shape=(-1,)), axis=0, keep_dims=False)
        return flat.reshape((1,) * x.ndim) if keepdim and x.ndim else flat
    return function(wide, axis=axis_of(name, dim, x.ndim), keep_dims=keepdim)


def argmax(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the int32 position of the greatest element, the first of equal ones; without `dim`, in the flat tensor."""
    return _place("argmax", "reduce_argmax", x, dim, keepdim)


def argmin(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the int32 position of the smallest element, the first of equal ones; without `dim`, in the flat tensor."""
    return _place("argmin", "reduce_argmin", x, dim, keepdim)


def any(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Return whether any element is true (not zero)."""
    return reduced("any", "reduce_max", truth(x).to(int32), dim, keepdim).to(bool_)


def all(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Return whether all elements are true (not zero)."""
    return reduced("all", "reduce_min", truth(x).to(int32), dim, keepdim).to(bool_)


def count_nonzero(x: Tensor, dim: Axes = None) -> Tensor:
    """Return how many elements are not zero, as int32."""
    return sum(truth(x), dim)


def norm(x: Tensor, p: float | str = 2.0, dim: Axes = None, keepdim: bool = False, *, dtype: object = None) -> Tensor:
    """Return the vector norm of order `p` (a number, ``inf``, ``-inf``; ``"fro"`` is 2) over the axes."""
    x = needs_floating("norm", x, dtype)
    if p in (2, "fro"):
        return reduced("norm", "reduce_l2_norm", x, dim, keepdim)
    if p == 1:
        return reduced("norm", "reduce_l1_norm", x, dim, keepdim)
    if isinstance(p, str):
        raise DTypeError(f"norm: p is {p!r}. Use a number or 'fro'.")
    if math.isinf(p):
        return (amax if p > 0 else amin)(x.abs(), dim, keepdim)
    if p == 0:
        return sum((x != 0).to(x.dtype), dim, keepdim)
    return sum(x.abs() ** p, dim, keepdim) ** (1.0 / p)


def logsumexp(x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """Return ``log(sum(exp(x)))`` without overflow."""
    return reduced("logsumexp", "reduce_log_sum_exp", floating(x), dim, keepdim)


def cumsum(x: Tensor, dim: int, *, dtype: object = None) -> Tensor:
    """Return the running sums along an axis. bool and narrow integers are summed as int32."""
    wide = matched("cumsum", x, dtype, int32)
    if x.ndim == 0:
        return wide
    return mil.cumsum(wide, axis=axis_of("cumsum", dim, x.ndim), exclusive=False, reverse=False)
