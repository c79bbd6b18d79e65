"""Normalizations. Means and variances are over the elements given, without Bessel's correction.

From MIL's opset iOS17 on, scales and offsets may have another dtype than `x`. float16 is computed on in float32, so the
squares of large values do not overflow.
"""

from __future__ import annotations

from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.axes import resolve_axes
from lucid.ops.record import operation, sample

__all__ = ["batch_norm", "instance_norm", "l2_norm", "layer_norm", "local_response_norm"]


def _per_channel(operation: str, x: Any, **parameters: Any) -> list[Any]:
    """Return the parameters, each (C,) or None, shaped to broadcast over `x`: (n, C, *D)."""
    if x.ndim < 2:
        raise ShapeError(f"{operation}: x has shape {x.shape}, expected (n, C, *D). Give it a batch axis.")
    xp, tail = namespace(x), (1,) * (x.ndim - 2)
    for name, values in parameters.items():
        if values is not None and values.shape != x.shape[1:2]:
            raise ShapeError(
                f"{operation}: {name} has shape {values.shape}, expected {x.shape[1:2]} = x.shape[1:2]. "
                "Pass one value per channel."
            )
    return [None if values is None else xp.reshape(values, (-1, *tail)) for values in parameters.values()]


def _scaled(out: Any, gamma: Any, beta: Any) -> Any:
    """Return ``out * gamma + beta`` in the memory of `out`, which the caller gives away."""
    if gamma is not None:
        out *= gamma
    if beta is not None:
        out += beta
    return out


def _standardized(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    xp = namespace(x)
    if 0 in x.shape:
        return xp.zeros_like(x)
    out = x - xp.mean(x, axis=axes, keepdims=True)
    out /= xp.sqrt(xp.mean(out * out, axis=axes, keepdims=True) + epsilon)
    return out


@operation(
    sample(
        [[[1.0, 3.0], [-1.0, 4.0]]],
        x=[[[1.0, 2.0], [3.0, 8.0]]],
        mean=[1.0, 4.0],
        variance=[0.25, 1.0],
        gamma=[1.0, 1.0],
        beta=[1.0, 0.0],
        epsilon=0.0,
    ),
    sample([[[0.5]]], x=[[[1.0]]], mean=[0.0], variance=[3.75], epsilon=0.25),
    later={
        "mean:dtype": "iOS17",
        "variance:dtype": "iOS17",
        "gamma:dtype": "iOS17",
        "beta:dtype": "iOS17",
        "epsilon:dtype": "iOS17",
    },
)
def batch_norm(
    x: Array, mean: Array, variance: Array, gamma: Array | None = None, beta: Array | None = None, epsilon: float = 1e-5
) -> Array:
    """Return ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``, per channel.

    ``x``: (n, C, *D), in MIL of rank 3 to 5; the others: (C,), known when the program is made, 1 and 0 where gamma
    and beta are not given. Another shape raises ShapeError.
    """
    mean, variance, gamma, beta = _per_channel("batch_norm", x, mean=mean, variance=variance, gamma=gamma, beta=beta)
    scale = 1 / namespace(x).sqrt(variance + epsilon)
    return _scaled(x - mean, scale if gamma is None else scale * gamma, beta)


@operation(
    sample([[[-1.0, 1.0]]], x=[[[1.0, 3.0]]], epsilon=0.0),
    sample([[[-1.0, 3.0], [0.5, 0.5]]], x=[[[1.0, 3.0], [5.0, 5.0]]], gamma=[2.0, 2.0], beta=[1.0, 0.5], epsilon=1e-7),
    later={"gamma:dtype": "iOS17", "beta:dtype": "iOS17", "epsilon:dtype": "iOS17"},
)
def instance_norm(x: Array, gamma: Array | None = None, beta: Array | None = None, epsilon: float = 1e-5) -> Array:
    """Standardize each channel of each batch entry over its pixels, then scale and shift per channel.

    ``x``: (n, C, *D), in MIL of rank 3 or 4; ``gamma``, ``beta``: (C,), known when the program is made. Another shape
    raises ShapeError.
    """
    gamma, beta = _per_channel("instance_norm", x, gamma=gamma, beta=beta)
    return _scaled(_standardized(x, tuple(range(2, x.ndim)), epsilon), gamma, beta)


@operation(
    sample([[[0.6, 0.8]]], x=[[[3.0, 4.0]]]),
    sample([[[[0.6], [0.8]]], [[[0.0], [0.0]]]], x=[[[[3.0], [4.0]]], [[[0.0], [0.0]]]]),
    later={"epsilon:dtype": "iOS17"},
)
def l2_norm(x: Array, epsilon: float = 1e-6) -> Array:
    """Return ``x / sqrt(sum(x^2) + epsilon)``, the sum over the last three axes of `x`, which has rank 3 or more."""
    if x.ndim < 3:
        raise ShapeError(f"l2_norm: x has shape {x.shape}, expected rank 3 or more. Expand its axes.")
    xp = namespace(x)
    return x / xp.sqrt(xp.sum(x * x, axis=(-3, -2, -1), keepdims=True) + epsilon)


@operation(
    sample([[-1.0, 1.0], [-1.0, 1.0]], x=[[1.0, 3.0], [2.0, 8.0]], axes=(1,), epsilon=0.0),
    sample([[1.0, 3.0]], x=[[5.0, 5.0]], axes=(-1,), gamma=[7.0, 7.0], beta=[1.0, 3.0]),
    sample([[-1.0, 1.0], [1.0, -1.0]], x=[[1.0, 3.0], [3.0, 1.0]], epsilon=0.0),
    later={"gamma:dtype": "iOS17", "beta:dtype": "iOS17", "epsilon:dtype": "iOS17"},
)
def layer_norm(
    x: Array, axes: Ints | None = None, gamma: Array | None = None, beta: Array | None = None, epsilon: float = 1e-5
) -> Array:
    """Standardize `x` over ``axes`` (all of them by default), then return it times ``gamma`` plus ``beta``.

    ``gamma`` and ``beta`` have the sizes of `x` at those axes, in the order of `x`, and are known when the program is
    made. Another shape raises ShapeError, for each of the two (MIL's own definition looks at gamma only).
    """
    rank = x.ndim
    chosen = range(rank) if axes is None else sorted(resolve_axes("layer_norm", axes, rank))
    shape = tuple(x.shape[axis] for axis in chosen)
    for name, values in (("gamma", gamma), ("beta", beta)):
        if values is not None and values.shape != shape:
            raise ShapeError(
                f"layer_norm: {name} has shape {values.shape}, expected {shape} = x.shape[axes]. "
                "Pass one value per normalised feature."
            )
    if len(chosen) and chosen[0] != rank - len(chosen):  # not the last axes: give the parameters the axes between
        xp, wide = namespace(x), tuple(size if axis in chosen else 1 for axis, size in enumerate(x.shape))
        gamma, beta = (None if values is None else xp.reshape(values, wide) for values in (gamma, beta))
    return _scaled(_standardized(x, tuple(chosen), epsilon), gamma, beta)


@operation(
    sample([[[1.0], [0.5], [0.5]]], x=[[[1.0], [1.0], [1.0]]], size=2, alpha=2.0, beta=1.0, k=0.0),
    sample([[[0.16666667], [0.2], [0.22222222]]], x=[[[1.0], [2.0], [2.0]]], size=3, alpha=3.0, beta=1.0),
    later={"alpha:dtype": "iOS17", "beta:dtype": "iOS17", "k:dtype": "iOS17"},
)
def local_response_norm(x: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Array:
    """Return ``x / (k + alpha / size * s)^beta``, where s sums the squares of ``size`` neighbouring channels.

    ``x``: (n, C, *D), in MIL of rank 3 or 4. The window of channel c runs from ``c - size // 2`` to
    ``c + (size - 1) // 2``, cut at the ends, as PyTorch's; Core ML does not say where a window of even size lies.
    A size below 1 or an `x` of rank below 3 raises ShapeError.
    """
    if x.ndim < 3 or size < 1:
        raise ShapeError(
            f"local_response_norm: x has shape {x.shape} and size is {size}, expected (n, C, *D) and 1 or more. "
            "Expand the axes of x, or average over at least one channel."
        )
    xp, channels = namespace(x), x.shape[1]
    squares = x * x
    running = xp.concat((xp.zeros_like(squares[:, :1]), squares), axis=1)
    sums = xp.zeros_like(squares)
    for offset in range(-(size // 2), (size - 1) // 2 + 1):
        place = xp.arange(channels) + (offset + 1)
        sums += xp.take(running, xp.where((place < 1) | (place > channels), 0, place), axis=1)
    return x / (k + (alpha / size) * sums) ** beta
