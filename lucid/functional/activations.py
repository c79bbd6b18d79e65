"""Activation functions under the names of ``torch.nn.functional``, fused where Core ML has the operation."""

from __future__ import annotations

from lucid.errors import DTypeError, ShapeError
from lucid.functional.arithmetic import maximum, mul
from lucid.functional.comparison import where
from lucid.functional.operands import axis_of, needs_floating
from lucid.functional.pointwise import clamp
from lucid.functional.vocabulary import mil
from lucid.tensor import Tensor

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softsign",
    "tanhshrink",
]


def relu(x: Tensor) -> Tensor:
    """Return ``max(x, 0)``."""
    return mil.relu(x) if x.is_floating_point() else maximum(x, 0)


def relu6(x: Tensor) -> Tensor:
    """Return `x` held between 0 and 6."""
    return mil.relu6(x) if x.is_floating_point() else clamp(x, 0, 6)


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Return `x` where positive and ``negative_slope * x`` elsewhere."""
    return mil.leaky_relu(needs_floating("leaky_relu", x), alpha=negative_slope)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """Return `x` where positive and ``weight * x`` elsewhere; one weight, or one per channel (axis 1)."""
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise ShapeError(f"prelu: the weight has {weight.numel()} elements, expected 1 or {channels} = x.shape[1].")
    slope = weight.reshape(-1, *(1 for _ in range(x.ndim - 2))) if weight.numel() > 1 else weight.reshape(())
    return where(x > 0, x, mul(x, slope))


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return `x` where positive and ``alpha * (exp(x) - 1)`` elsewhere."""
    return mil.elu(needs_floating("elu", x), alpha=alpha)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return `x` where positive and ``alpha * (exp(x / alpha) - 1)`` elsewhere."""
    return mil.elu(needs_floating("celu", x) / alpha, alpha=1.0) * alpha


def selu(x: Tensor) -> Tensor:
    """Return the scaled ELU of Klambauer and others (2017)."""
    return mil.elu(needs_floating("selu", x), alpha=1.6732632423543772) * 1.0507009873554805


def silu(x: Tensor) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return mil.silu(needs_floating("silu", x))


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Return ``x * Phi(x)``, Phi the normal distribution function; ``approximate="tanh"`` uses a formula with tanh."""
    modes = {"none": "EXACT", "tanh": "TANH_APPROXIMATION"}
    if approximate not in modes:
        raise DTypeError(f"gelu: approximate is {approximate!r}. Use 'none' or 'tanh'.")
    return mil.gelu(needs_floating("gelu", x), mode=modes[approximate])


def mish(x: Tensor) -> Tensor:
    """Return ``x * tanh(softplus(x))``."""
    return x * mil.tanh(mil.softplus(needs_floating("mish", x)))


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta``, and `x` itself where ``beta * x`` exceeds the threshold."""
    scaled = needs_floating("softplus", x) if beta == 1 else needs_floating("softplus", x) * beta
    soft = mil.softplus(scaled)
    if threshold < 20.0:  # beyond 20 the soft form equals x in float32
        soft = where(scaled > threshold, scaled, soft)
    return soft if beta == 1 else soft / beta


def softsign(x: Tensor) -> Tensor:
    """Return ``x / (1 + |x|)``."""
    return mil.softsign(needs_floating("softsign", x))


def logsigmoid(x: Tensor) -> Tensor:
    """Return ``log(sigmoid(x))`` without overflow."""
    return -mil.softplus(-needs_floating("logsigmoid", x))


def tanhshrink(x: Tensor) -> Tensor:
    """Return ``x - tanh(x)``."""
    return x - x.tanh()


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Return `x` held between two numbers."""
    return clamp(x, min_val, max_val)


def hardsigmoid(x: Tensor) -> Tensor:
    """Return ``x / 6 + 1 / 2`` held between 0 and 1."""
    return mil.sigmoid_hard(needs_floating("hardsigmoid", x), alpha=1.0 / 6.0, beta=0.5)


def hardswish(x: Tensor) -> Tensor:
    """Return ``x * hardsigmoid(x)``."""
    return x * hardsigmoid(x)


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """Return the first half of an axis times the sigmoid of the second."""
    axis = axis_of("glu", dim, x.ndim)
    if x.shape[axis] % 2:
        raise ShapeError(f"glu: axis {dim} has {x.shape[axis]} elements; it takes an even number.")
    first, second = x.split(x.shape[axis] // 2, axis)
    return first * mil.sigmoid(second)


def _axis(name: str, x: Tensor, dim: int | None) -> int:
    if dim is None:
        raise ShapeError(f"{name}: dim is missing. Name the axis that sums to one, usually dim=-1.")
    return axis_of(name, dim, x.ndim)


def softmax(x: Tensor, dim: int | None = None, *, dtype: object = None) -> Tensor:
    """Return ``exp(x)`` divided by its sum along an axis, without overflow."""
    box = needs_floating("softmax", x, dtype)
    axis = _axis("softmax", box, dim)
    return mil.softmax(box, axis=axis) if box.ndim else box * 0 + 1


def softmin(x: Tensor, dim: int | None = None, *, dtype: object = None) -> Tensor:
    """Return the softmax of ``-x``."""
    return softmax(-x, dim, dtype=dtype)


def log_softmax(x: Tensor, dim: int | None = None, *, dtype: object = None) -> Tensor:
    """Return the logarithm of the softmax as a difference, so that no small probability is lost.

    The greatest element is taken off first: beside large logits the difference would lose digits.
    """
    box = needs_floating("log_softmax", x, dtype)
    axis = _axis("log_softmax", box, dim)
    if box.ndim == 0:
        return box * 0
    below = box - mil.reduce_max(box, axes=(axis,), keep_dims=True)
    return below - mil.reduce_log_sum_exp(below, axes=(axis,), keep_dims=True)
