"""Random numbers, made when the program runs.

Core ML leaves its generator open, so its numbers cannot be foretold; what it promises is their distribution. In lucid
they come from :mod:`lucid.generator` and are the same on every machine:

- With a ``seed`` each run of the operation gives the same numbers again, and two operations of one seed and shape draw
  on the same bits. (MIL's text promises "a reproducible sequence of values across multiple invokes".)
- With the ``seed`` -1, the default, numbers go on where lucid's default generator stands, which ``lucid.manual_seed``
  sets: fresh ones in each run.

``shape``: (K,) int32. MIL asks for constant parameters and sizes above 0; in lucid a size of 0 gives an empty tensor,
and one below 0 raises ShapeError. Results have the dtype of the parameters, and of `x` in ``random_categorical``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import ShapeError, UsageError
from lucid.generator import Generator, default_generator, natural_log
from lucid.ops.array import Array, namespace
from lucid.ops.axes import integers
from lucid.ops.record import operation, sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["random_bernoulli", "random_categorical", "random_normal", "random_uniform"]

_ZERO, _HALF, _ONE = np.float32(0), np.float32(0.5), np.float32(1)
_BLOCK = 1 << 18  # numbers made at a time


def _stream(seed: int) -> Generator:
    """Return the generator that a seed means. Seeds are int32; negative ones count from 2**64 down."""
    return default_generator() if seed == -1 else Generator(seed % (1 << 64))


def _sizes(name: str, shape: Any) -> tuple[int, ...]:
    sizes = tuple(integers(shape))
    if any(size < 0 for size in sizes):
        raise ShapeError(f"{name}: shape is {sizes}, expected no size below 0.")
    return sizes


@operation(
    sample([[1.0, 1.0], [1.0, 1.0]], shape=[2, 2], prob=1.0),
    sample([0.0, 0.0, 0.0], shape=[3], prob=0.0, seed=7),
    sample([0.0, 1.0, 1.0, 1.0, 1.0, 0.0], shape=[6], prob=0.5, seed=7),
    pure=False,
)
def random_bernoulli(shape: Array, prob: Array = _HALF, seed: int = -1) -> Array:
    """Return ones with the probability ``prob``, () float16 or float32, and zeros."""
    sizes = _sizes("random_bernoulli", shape)
    chance = _stream(seed).uniform(prod(sizes)).reshape(sizes)
    return namespace(prob).asarray(chance < prob, dtype=prob.dtype)


@operation(
    sample([[2.0, 2.0]], shape=[1, 2], low=2.0, high=2.0),
    sample([0.7441468, -0.4092693, -0.1598047], shape=[3], low=-1.0, high=1.0, seed=7),
    pure=False,
)
def random_uniform(shape: Array, low: Array = _ZERO, high: Array = _ONE, seed: int = -1) -> Array:
    """Return numbers from [``low``, ``high``), all equally likely: ``low + (high - low) * u`` with u as below.

    u is a multiple of 2**-24. Both bounds are () of one dtype, float16 or float32; where they are equal, all numbers
    are. A number that float32 would round up to ``high`` is the next one before it; rounded to float16 it may be
    ``high``. MIL leaves ``high < low`` undefined; lucid raises UsageError.
    """
    if high < low:
        raise UsageError(f"random_uniform: high is {high}, below low, {low}. Exchange them.")
    sizes = _sizes("random_uniform", shape)
    share = _stream(seed).uniform(prod(sizes)).reshape(sizes)
    numbers = namespace(low).asarray(low + (high - low) * share, dtype=low.dtype)
    return np.where(numbers < high, numbers, np.nextafter(high, low))


@operation(
    sample([[1.5, 1.5]], shape=[1, 2], mean=1.5, stddev=0.0),
    sample([2.7724946, -0.5755547, 0.0967128], shape=[3], mean=0.5, stddev=2.0, seed=7),
    pure=False,
)
def random_normal(shape: Array, mean: Array = _ZERO, stddev: Array = _ONE, seed: int = -1) -> Array:
    """Return normally distributed numbers with the given mean and standard deviation, () of one floating dtype.

    A negative standard deviation raises UsageError.
    """
    if stddev < 0:
        raise UsageError(f"random_normal: stddev is {stddev}, expected 0 or more.")
    sizes = _sizes("random_normal", shape)
    standard = _stream(seed).normal(prod(sizes)).reshape(sizes)
    return namespace(mean).asarray(mean + stddev * standard, dtype=mean.dtype)


@operation(
    sample([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]], x=[[0.0, 3.0], [0.25, 0.0]], mode="probs", size=3),
    sample([[2.0]], x=[[-float("inf"), -float("inf"), 0.0]]),
    sample([[0.0, 2.0, 1.0, 1.0]], x=[[0.0, 0.0, 0.0]], size=4, seed=7),
    sample([[0.0, 2.0], [1.0, 0.0]], x=[[0.5, 0.25, 0.25], [2.0, 1.0, 1.0]], mode="probs", size=2, seed=7),
    pure=False,
)
def random_categorical(x: Array, mode: str = "logits", size: int = 1, seed: int = -1) -> Array:
    """Return places along the last axis of `x`, drawn ``size`` times with the probabilities that it holds.

    `x`: (*D, C) float16 or float32, log-probabilities (``mode`` logits) or probabilities (probs), which need not sum to
    1; the result: (*D, size), whole numbers in the dtype of `x` (float16 knows them up to 2048). Drawn by a race of
    exponential times, one per place, which needs no sum and is exact on every machine. Where no place has a
    probability, the first is drawn. Another mode raises UsageError; no axis, no place or a negative ``size`` raise
    ShapeError.
    """
    if mode not in ("logits", "probs"):
        raise UsageError(f"random_categorical: mode is {mode!r}. Choose one of logits, probs.")
    if not x.ndim or not x.shape[-1] or size < 0:
        raise ShapeError(
            f"random_categorical: x has shape {x.shape} and size is {size}, expected a last axis with one place or "
            "more, and 0 or more draws."
        )
    places = x.shape[-1]
    rows = np.asarray(x, np.float64).reshape(-1, places)
    drawn = np.empty(len(rows) * size, np.float32)
    stream, block = _stream(seed), max(1, _BLOCK // places)
    for start in range(0, drawn.size, block):
        stop = min(start + block, drawn.size)
        times = _times(stream, (stop - start) * places).reshape(-1, places)
        weights = rows[np.arange(start, stop) // size]
        if mode == "logits":
            drawn[start:stop] = (weights - natural_log(times)).argmax(axis=1)
        else:
            drawn[start:stop] = np.where(weights > 0, times / weights, np.inf).argmin(axis=1)
    return namespace(x).asarray(drawn.reshape(*x.shape[:-1], size), dtype=x.dtype)


def _times(stream: Generator, count: int) -> NDArray[np.float64]:
    """Return exponentially distributed times. The 52 bits of each make a number from (0, 1) that float64 holds."""
    bits = stream.raw(count) >> np.uint64(12)
    return -natural_log((bits.astype(np.float64) + 0.5) * 2.0**-52)
