"""Activation functions: element-wise but for ``softmax``. They take float16 and float32 and keep shape and dtype.

NaN stays NaN unless a docstring says otherwise. ``alpha`` and ``beta`` may differ in dtype from `x` (from opset iOS17).
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from lucid.errors import ShapeError, UsageError
from lucid.ops import error_function
from lucid.ops.array import Array, namespace
from lucid.ops.axes import resolve_axis
from lucid.ops.record import operation, sample

__all__ = [
    "clamped_relu",
    "elu",
    "gelu",
    "leaky_relu",
    "linear_activation",
    "prelu",
    "relu",
    "relu6",
    "scaled_tanh",
    "sigmoid",
    "sigmoid_hard",
    "silu",
    "softmax",
    "softplus",
    "softplus_parametric",
    "softsign",
    "thresholded_relu",
]

_INF, _NAN = float("inf"), float("nan")


@operation(
    sample([1.0, 2.0, -0.5, 2.0], x=[1.0, 5.0, -1.0, _INF], alpha=0.5, beta=2.0),
    sample([-1.0, -2.0], x=[3.0, -4.0], alpha=0.5, beta=-1.0),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17"},
)
def clamped_relu(x: Array, alpha: float, beta: float) -> Array:
    """Return ``min(beta, x)`` where ``x >= 0``, elsewhere ``min(beta, alpha * x)``.

    MIL's value function adds the two halves, which counts a negative ``beta`` twice; its definition, and lucid, do not.
    """
    xp = namespace(x)
    return xp.minimum(xp.where(x >= 0, x, x * alpha), beta)


@operation(
    sample([1.0, 0.0, -1.2642411, -2.0, _INF], x=[1.0, 0.0, -1.0, -_INF, _INF], alpha=2.0),
    later={"alpha:dtype": "iOS17"},
)
def elu(x: Array, alpha: float) -> Array:
    """Return `x` where ``x > 0``, elsewhere ``alpha * (e ** x - 1)``, without cancellation near 0."""
    xp = namespace(x)
    return xp.where(x > 0, x, alpha * xp.expm1(xp.minimum(x, 0)))


@operation(
    sample([0.8413447, -0.1586553, 0.0, 1.9544997, _INF], x=[1.0, -1.0, 0.0, 2.0, _INF]),
    sample([0.0], x=[-_INF]),
    sample([0.8411920, -0.1588080, 0.0], x=[1.0, -1.0, 0.0], mode="TANH_APPROXIMATION"),
    sample([0.8457958, -0.1542042, 0.0], x=[1.0, -1.0, 0.0], mode="SIGMOID_APPROXIMATION"),
)
def gelu(x: Array, mode: str = "EXACT") -> Array:
    """Return the Gaussian error linear unit of `x` by one of three formulas. Another mode raises UsageError.

    - ``EXACT``: ``x / 2 * (1 + erf(x / sqrt(2)))``, to within 1e-6; at minus infinity 0, the limit;
    - ``TANH_APPROXIMATION``: ``x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))``;
    - ``SIGMOID_APPROXIMATION``: ``x * sigmoid(1.702 * x)``.

    At minus infinity the approximations give NaN, as their formulas do.
    """
    if mode == "EXACT":
        return error_function.gelu(x)
    xp = namespace(x)
    if mode == "TANH_APPROXIMATION":
        cubic = x * x
        cubic = cubic * (0.044715 * sqrt(2 / pi))
        cubic = cubic + sqrt(2 / pi)
        cubic = cubic * x
        return (xp.tanh(cubic) + 1.0) * (x * 0.5)
    if mode == "SIGMOID_APPROXIMATION":
        return x / (xp.exp(x * -1.702) + 1.0)
    raise UsageError(f"gelu: mode is {mode!r}, expected EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION.")


@operation(sample([2.0, -0.5, 0.0, -_INF], x=[2.0, -2.0, 0.0, -_INF], alpha=0.25), later={"alpha:dtype": "iOS17"})
def leaky_relu(x: Array, alpha: float) -> Array:
    """Return `x` where ``x >= 0``, elsewhere ``alpha * x``."""
    return namespace(x).where(x >= 0, x, x * alpha)


@operation(
    sample([3.5, -1.5, _INF], x=[2.0, -0.5, _INF], alpha=2.0, beta=-0.5),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17"},
)
def linear_activation(x: Array, alpha: float, beta: float) -> Array:
    """Return ``x * alpha + beta``."""
    return x * alpha + beta


@operation(
    sample([[[1.0, -0.5], [2.0, -4.0]]], x=[[[1.0, -1.0], [2.0, -2.0]]], alpha=[0.5, 2.0]),
    sample([[[[0.0, -0.25]]]], x=[[[[0.0, -1.0]]]], alpha=[0.25]),
    later={"alpha:dtype": "iOS17"},
)
def prelu(x: Array, alpha: Array) -> Array:
    """Return `x` where ``x > 0``, elsewhere ``alpha * x``. x: (B, C, ...) of rank 3, 4 or 5; alpha: (C,).

    Core ML runs ranks 3 and 5 only where all of ``alpha`` are equal; lucid does not ask. Another rank or another number
    of ``alpha`` raises ShapeError.
    """
    if not 3 <= x.ndim <= 5:
        raise ShapeError(f"prelu: x of shape {x.shape} has rank {x.ndim}, expected 3, 4 or 5.")
    return namespace(x).where(x > 0, x, x * _per_channel("prelu", "alpha", alpha, x))


@operation(sample([0.0, 0.0, 1.5, _INF, _NAN], x=[-1.0, 0.0, 1.5, _INF, _NAN]), exact=True)
def relu(x: Array) -> Array:
    """Return ``max(x, 0)``."""
    return namespace(x).maximum(x, 0)


@operation(sample([0.0, 1.5, 6.0, 6.0, _NAN], x=[-1.0, 1.5, 7.0, _INF, _NAN]), exact=True)
def relu6(x: Array) -> Array:
    """Return ``min(max(x, 0), 6)``."""
    xp = namespace(x)
    return xp.minimum(xp.maximum(x, 0), 6)


@operation(
    sample([1.5231884, 0.0, -2.0], x=[2.0, 0.0, -_INF], alpha=2.0, beta=0.5),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17"},
)
def scaled_tanh(x: Array, alpha: float, beta: float) -> Array:
    """Return ``alpha * tanh(beta * x)``."""
    return alpha * namespace(x).tanh(x * beta)


@operation(sample([0.5, 0.7310586, 0.2689414, 1.0, 0.0], x=[0.0, 1.0, -1.0, _INF, -_INF]))
def sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + e ** -x)``, 0 to 1."""
    return 1.0 / (namespace(x).exp(-x) + 1.0)


@operation(
    sample([0.5, 1.0, 0.0, 0.75], x=[0.0, 9.0, -_INF, 1.0], alpha=0.25, beta=0.5),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17"},
)
def sigmoid_hard(x: Array, alpha: float, beta: float) -> Array:
    """Return ``min(max(alpha * x + beta, 0), 1)``."""
    xp = namespace(x)
    return xp.minimum(xp.maximum(x * alpha + beta, 0), 1)


@operation(sample([0.0, 0.7310586, -0.2689414, _INF, 0.0], x=[0.0, 1.0, -1.0, _INF, -100.0]))
def silu(x: Array) -> Array:
    """Return ``x * sigmoid(x)``. NaN at minus infinity, as in PyTorch."""
    return x / (namespace(x).exp(-x) + 1.0)


@operation(
    sample([[0.5, 0.5], [0.2689414, 0.7310586]], x=[[3.0, 3.0], [-1.0, 0.0]]),
    sample([[0.5, 0.2689414], [0.5, 0.7310586]], x=[[3.0, -1.0], [3.0, 0.0]], axis=0),
    sample([1.0, 0.0, 0.0], x=[60000.0, 1.0, -_INF]),
    sample([_NAN, _NAN], x=[-_INF, -_INF]),
)
def softmax(x: Array, axis: int = -1) -> Array:
    """Return ``e ** x`` divided by its sum over ``axis``.

    The largest element is subtracted first, so large numbers do not overflow. Where all are minus infinity, or one is
    plus infinity or NaN, the whole row is NaN, as in PyTorch. An axis that `x` does not have raises ShapeError.
    """
    axis = resolve_axis("softmax", axis, x.ndim)
    xp = namespace(x)
    if 0 in x.shape:
        return x[...]
    powers = x - xp.max(x, axis=axis, keepdims=True)
    powers = np.exp(powers, out=powers) if xp is np else xp.exp(powers)
    powers /= xp.sum(powers, axis=axis, keepdims=True)
    return powers


@operation(sample([0.6931472, 1.3132617, 0.3132617, 200.0, 0.0], x=[0.0, 1.0, -1.0, 200.0, -_INF]))
def softplus(x: Array) -> Array:
    """Return ``log(1 + e ** x)``, without overflow."""
    xp = namespace(x)
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0)


@operation(
    sample(
        [[[0.6931472, 1.3132617], [2.6265233, 400.0]]],
        x=[[[0.0, 1.0], [0.5, 100.0]]],
        alpha=[1.0, 2.0],
        beta=[1.0, 2.0],
    ),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17"},
)
def softplus_parametric(x: Array, alpha: Array, beta: Array) -> Array:
    """Return ``alpha * log(1 + e ** (beta * x))``. x: (B, C, ...) of rank 3 or more; alpha, beta: (C,).

    Computed without overflow, where MIL's value function gives infinities. Another rank or number of ``alpha`` or
    ``beta`` raises ShapeError.
    """
    if x.ndim < 3:
        raise ShapeError(f"softplus_parametric: x of shape {x.shape} has rank {x.ndim}, expected 3 or more.")
    xp = namespace(x)
    alpha = _per_channel("softplus_parametric", "alpha", alpha, x)
    scaled = x * _per_channel("softplus_parametric", "beta", beta, x)
    return alpha * (xp.log1p(xp.exp(-xp.abs(scaled))) + xp.maximum(scaled, 0))


@operation(sample([0.5, -0.75, 0.0, _NAN], x=[1.0, -3.0, 0.0, _INF]))
def softsign(x: Array) -> Array:
    """Return ``x / (1 + abs(x))``. NaN at the infinities, as in PyTorch."""
    return x / (namespace(x).abs(x) + 1.0)


@operation(
    sample([0.0, 1.0, 2.0, _NAN], x=[0.5, 1.0, 2.0, _NAN], alpha=1.0),
    sample([0.0, -1.0], x=[-3.0, -1.0], alpha=-2.0),
    later={"alpha:dtype": "iOS17"},
)
def thresholded_relu(x: Array, alpha: float) -> Array:
    """Return `x` where ``x >= alpha``, elsewhere 0. NaN stays NaN, as in MIL's value function."""
    return namespace(x).where(x < alpha, 0, x)


def _per_channel(operation_name: str, name: str, values: Array, x: Array) -> Array:
    """Return ``values``, one for each channel of `x`, shaped to broadcast along axis 1."""
    if values.ndim != 1 or values.shape[0] != x.shape[1]:
        raise ShapeError(
            f"{operation_name}: {name} has shape {values.shape}, expected ({x.shape[1]},) = x.shape[1]. "
            "Pass one value per channel."
        )
    return namespace(values).reshape(values, (-1,) + (1,) * (x.ndim - 2))
