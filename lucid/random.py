"""Random tensors that are the same on every machine: see :mod:`lucid.generator` for the stream they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.dtypes import as_dtype, float16, float32, int32
from lucid.errors import DTypeError, ShapeError
from lucid.generator import (
    Generator,
    GeneratorState,
    default_generator,
    fork,
    get_state,
    initial_seed,
    manual_seed,
    set_state,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Generator",
    "GeneratorState",
    "bernoulli",
    "default_generator",
    "fork",
    "get_state",
    "initial_seed",
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
    "set_state",
]


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    shape = tuple(size.__index__() for size in given)
    if min(shape, default=0) < 0:
        raise ShapeError(f"random: the shape {shape} has a negative size.")
    return shape


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=np.int64))


def _boxed(values: NDArray[Any], shape: tuple[int, ...], dtype: object, requires_grad: bool) -> Tensor:
    wanted = as_dtype(dtype)
    if not wanted.is_floating_point and values.dtype.kind == "f":
        raise DTypeError(f"random: dtype is {wanted}. Random floats need a floating dtype; use randint for integers.")
    return Tensor._boxed(values.astype(wanted.numpy, copy=False).reshape(shape), requires_grad)


def rand(
    *size: Any, generator: Generator | None = None, dtype: object = float32, requires_grad: bool = False
) -> Tensor:
    """Return numbers from [0, 1), uniformly distributed: multiples of 2**-24, or of 2**-11 in float16."""
    shape = _shape(size)
    values = (generator or default_generator()).uniform(_count(shape))
    if as_dtype(dtype) == float16:
        values = np.floor(values * np.float32(2048.0)) * np.float32(2.0**-11)  # rounding would reach 1
    return _boxed(values, shape, dtype, requires_grad)


def randn(
    *size: Any, generator: Generator | None = None, dtype: object = float32, requires_grad: bool = False
) -> Tensor:
    """Return numbers of the standard normal distribution."""
    shape = _shape(size)
    return _boxed((generator or default_generator()).normal(_count(shape)), shape, dtype, requires_grad)


def rand_like(x: Tensor, *, generator: Generator | None = None, dtype: object = None) -> Tensor:
    """Return uniform numbers in the shape and dtype of `x`."""
    return rand(x.shape, generator=generator, dtype=dtype or x.dtype)


def randn_like(x: Tensor, *, generator: Generator | None = None, dtype: object = None) -> Tensor:
    """Return normal numbers in the shape and dtype of `x`."""
    return randn(x.shape, generator=generator, dtype=dtype or x.dtype)


def normal(
    mean: float, std: float, size: Any, *, generator: Generator | None = None, dtype: object = float32
) -> Tensor:
    """Return normal numbers with the given mean and standard deviation."""
    if std < 0:
        raise ShapeError(f"normal: std is {std}; it must not be negative.")
    shape = _shape((size,))
    values = (generator or default_generator()).normal(_count(shape))
    return _boxed(values * np.float32(std) + np.float32(mean), shape, dtype, requires_grad=False)


def randint(
    low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: object = int32
) -> Tensor:
    """Return integers from `low` up to `high`, which is left out: ``randint(high, size)`` begins at 0.

    Made as 64 random bits modulo the range, so that no integer is likelier than another by more than 2**-32.
    """
    if size is None:
        low, high, size = 0, low, high
    if high <= low:
        raise ShapeError(f"randint: there is no integer from {low} up to {high}.")
    if low < -(1 << 31) or high > 1 << 31:
        raise DTypeError(f"randint: the range from {low} to {high} does not fit int32, Core ML's widest integer.")
    shape = _shape((size,))
    bits = (generator or default_generator()).raw(_count(shape))
    values = (bits % np.uint64(high - low)).astype(np.int64) + low
    return _boxed(values.astype(np.int32), shape, dtype, requires_grad=False)


def randperm(n: int, *, generator: Generator | None = None) -> Tensor:
    """Return the integers from 0 to ``n - 1`` in random order, as int32."""
    order = np.argsort((generator or default_generator()).raw(n), kind="stable")
    return Tensor._boxed(order.astype(np.int32))


def bernoulli(x: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Return ones with the probabilities that `x` holds, and zeros, in its dtype."""
    chance = (generator or default_generator()).uniform(x.numel()).reshape(x.shape)
    return Tensor._boxed((chance < x.numpy()).astype(x.dtype.numpy))


def uniform_(x: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Put numbers from [`from_`, `to`), uniformly distributed, into a floating tensor."""
    values = (generator or default_generator()).uniform(x.numel())
    return x._put(_boxed(values * np.float32(to - from_) + np.float32(from_), x.shape, x.dtype, requires_grad=False))


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Put normal numbers into a floating tensor."""
    return x._put(normal(mean, std, x.shape, generator=generator, dtype=x.dtype))


from lucid.tensor import Tensor  # noqa: E402 -- at the end, because its methods are among the functions above
