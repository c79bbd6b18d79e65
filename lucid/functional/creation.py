"""New tensors. ``dtype`` is float32 unless given or seen from the numbers; integers are int32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid.dtypes import as_dtype, float32, int32
from lucid.errors import DTypeError, ShapeError
from lucid.functional.operands import Number, sizes_of
from lucid.tensor import Tensor, check_int32

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _made(array: Any, dtype: object, requires_grad: bool) -> Tensor:
    return Tensor(array, dtype, requires_grad=requires_grad)


def _sizes(name: str, sizes: tuple[object, ...]) -> tuple[int, ...]:
    shape = sizes_of(name, sizes)
    if min(shape, default=0) < 0:
        raise ShapeError(f"{name}: the shape {shape} has a negative size.")
    return shape


def zeros(*size: object, dtype: object = float32, requires_grad: bool = False) -> Tensor:
    """Return a tensor of zeros; `size` is several integers or one sequence. Memory is touched when it is first used."""
    value = np.zeros(_sizes("zeros", size), as_dtype(dtype).numpy)
    return Tensor._boxed(value, requires_grad)


def empty(*size: object, dtype: object = float32, requires_grad: bool = False) -> Tensor:
    """Return a tensor whose values do not matter: zeros, so that every run is the same."""
    return zeros(*size, dtype=dtype, requires_grad=requires_grad)


def ones(*size: object, dtype: object = float32, requires_grad: bool = False) -> Tensor:
    """Return a tensor of ones; `size` is several integers or one sequence."""
    value = np.ones(_sizes("ones", size), as_dtype(dtype).numpy)
    return Tensor._boxed(value, requires_grad)


def full(
    size: tuple[int, ...] | list[int] | int, fill_value: Number, *, dtype: object = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor of one number, whose kind gives the dtype where none is asked for."""
    number = Tensor(fill_value, dtype)
    value = np.full(_sizes("full", (size,)), number._value)
    return Tensor._boxed(value, requires_grad)


def zeros_like(x: Tensor, *, dtype: object = None, requires_grad: bool = False) -> Tensor:
    """Return zeros of the shape and dtype of `x`."""
    return zeros(x.shape, dtype=dtype or x.dtype, requires_grad=requires_grad)


def empty_like(x: Tensor, *, dtype: object = None, requires_grad: bool = False) -> Tensor:
    """Return a tensor of the shape and dtype of `x` whose values do not matter (zeros)."""
    return zeros_like(x, dtype=dtype, requires_grad=requires_grad)


def ones_like(x: Tensor, *, dtype: object = None, requires_grad: bool = False) -> Tensor:
    """Return ones of the shape and dtype of `x`."""
    return ones(x.shape, dtype=dtype or x.dtype, requires_grad=requires_grad)


def full_like(x: Tensor, fill_value: Number, *, dtype: object = None, requires_grad: bool = False) -> Tensor:
    """Return one number in the shape and dtype of `x`."""
    return full(x.shape, fill_value, dtype=dtype or x.dtype, requires_grad=requires_grad)


def arange(
    start: Number, end: Number | None = None, step: Number = 1, *, dtype: object = None, requires_grad: bool = False
) -> Tensor:
    """Return the numbers from `start` (0 if only an end is given) up to `end`, which is left out, `step` apart."""
    first, last = (0, start) if end is None else (start, end)
    if step == 0 or (last - first) * step < 0:
        raise ShapeError(f"arange: the step {step} does not lead from {first} to {last}.")
    is_whole = all(isinstance(number, int) for number in (first, last, step))
    wanted = as_dtype(dtype) if dtype is not None else int32 if is_whole else float32
    count = -((first - last) // step) if is_whole else math.ceil((last - first) / step)
    wide = np.arange(count, dtype=np.int64 if is_whole else np.float64) * step + first
    return _made(wide.astype(wanted.numpy) if wanted != int32 else _whole(wide), wanted, requires_grad)


def _whole(wide: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    check_int32(wide)
    return wide.astype(np.int32)


def linspace(start: float, end: float, steps: int, *, dtype: object = None, requires_grad: bool = False) -> Tensor:
    """Return `steps` evenly spaced numbers from `start` to `end`, both included."""
    if steps < 0:
        raise ShapeError(f"linspace: steps is {steps}; it must not be negative.")
    wanted = as_dtype(dtype or float32)
    return _made(np.linspace(start, end, steps).astype(wanted.numpy), wanted, requires_grad)


def eye(n: int, m: int | None = None, *, dtype: object = float32, requires_grad: bool = False) -> Tensor:
    """Return a matrix with ones on its diagonal and zeros elsewhere."""
    return _made(np.eye(n, m, dtype=as_dtype(dtype).numpy), None, requires_grad)


def from_dlpack(source: Any) -> Tensor:
    """Return a tensor of anything that offers its memory by DLPack (NumPy, PyTorch, JAX …), without copying it.

    int64 becomes int32 where every value fits. The caller promises not to write to the memory.
    """
    from lucid.tensor import from_numpy

    array = np.from_dlpack(source)
    if array.dtype.kind not in "biuf":
        raise DTypeError(f"from_dlpack: the source is {array.dtype}. Use one of Core ML's types.")
    return from_numpy(array)
