"""Initial values of parameters, under PyTorch's names and with its distributions. Every function writes in place."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from lucid import random
from lucid.errors import ShapeError, UsageError
from lucid.functional.creation import full, zeros_like
from lucid.generator import inverse_normal
from lucid.tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "fan_in_and_fan_out",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "skip_init",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_skipped: ContextVar[bool] = ContextVar("lucid_skip_init", default=False)


@contextmanager
def skip_init() -> Iterator[None]:
    """Inside, initial values are not made: parameters are zeros whose memory is not touched.

    For a model whose weights are loaded at once: ``load_state_dict(weights, assign=True)`` then puts the loaded arrays
    in their place, so that nothing is drawn and no second copy is held.
    """
    token = _skipped.set(True)
    try:
        yield
    finally:
        _skipped.reset(token)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, *, generator: random.Generator | None = None) -> Tensor:
    """Fill with numbers from [a, b), uniformly distributed."""
    return tensor if _skipped.get() else random.uniform_(tensor, a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: random.Generator | None = None
) -> Tensor:
    """Fill with normal numbers."""
    return tensor if _skipped.get() else random.normal_(tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    generator: random.Generator | None = None,
) -> Tensor:
    """Fill with normal numbers between `a` and `b`, by inverting the distribution function."""
    if _skipped.get():
        return tensor
    low, high = (0.5 * (1.0 + math.erf((bound - mean) / (std * math.sqrt(2.0)))) for bound in (a, b))
    uniform = (generator or random.default_generator()).uniform(tensor.numel()).astype(np.float64) + 2.0**-25
    values = inverse_normal(low + uniform * (high - low)) * std + mean
    held = np.clip(values, a, b).astype(tensor.dtype.numpy).reshape(tensor.shape)
    return tensor._put(Tensor._boxed(held))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return tensor if _skipped.get() else tensor._put(full(tensor.shape, val, dtype=tensor.dtype))


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    return tensor if _skipped.get() else tensor._put(zeros_like(tensor))


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_: the tensor has shape {tensor.shape}; it takes a matrix.")
    return tensor._put(Tensor._boxed(np.eye(*tensor.shape, dtype=tensor.dtype.numpy)))


def fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs reach one output of a weight, and how many outputs one input reaches."""
    if tensor.ndim < 2:
        raise ShapeError(f"fan in and fan out: the tensor has shape {tensor.shape}; they need at least two axes.")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which a nonlinearity's weights should be larger, so that variance is kept."""
    gains = {"tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 3.0 / 4.0}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1.0 + (0.01 if param is None else param) ** 2))
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"):
        return 1.0
    if nonlinearity not in gains:
        raise UsageError(
            f"calculate_gain: {nonlinearity!r} has no gain. Use leaky_relu, linear, sigmoid, {', '.join(gains)}."
        )
    return gains[nonlinearity]


def _kaiming(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise UsageError(f"kaiming: mode is {mode!r}. Use 'fan_in' or 'fan_out'.")
    fan = fan_in_and_fan_out(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: random.Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers of variance ``gain^2 / fan`` (He and others, 2015)."""
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    generator: random.Generator | None = None,
) -> Tensor:
    """Fill with normal numbers of variance ``gain^2 / fan`` (He and others, 2015)."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity), generator=generator)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, *, generator: random.Generator | None = None) -> Tensor:
    """Fill with uniform numbers of variance ``2 gain^2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / sum(fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, *, generator: random.Generator | None = None) -> Tensor:
    """Fill with normal numbers of variance ``2 gain^2 / (fan_in + fan_out)`` (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fan_in_and_fan_out(tensor))), generator=generator)
