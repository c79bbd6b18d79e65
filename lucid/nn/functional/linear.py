"""Linear maps and tables of vectors."""

from __future__ import annotations

from lucid.errors import DTypeError, ShapeError
from lucid.functional.linalg import matmul
from lucid.functional.vocabulary import mil
from lucid.nn.functional.constants import are_constant
from lucid.tensor import Tensor

__all__ = ["bilinear", "embedding", "linear"]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x @ weight.T + bias``. `x` (..., in), `weight` (out, in) or (in,), `bias` (out,) or ()."""
    if x.ndim == 0 or weight.ndim not in (1, 2) or x.shape[-1] != weight.shape[-1]:
        raise ShapeError(f"linear: x has shape {x.shape}, the weight {weight.shape}. Their last sizes must be equal.")
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise ShapeError(
            f"linear: the bias has shape {bias.shape}, expected {weight.shape[:-1]}, one number per output."
        )
    if x.dtype != weight.dtype:
        raise DTypeError(f"linear: x is {x.dtype}, the weight {weight.dtype}. Cast one of them.")
    if weight.ndim == 2 and x.numel() and are_constant(weight, bias):
        return mil.linear(x, weight, bias)
    product = matmul(x, weight.transpose(-2, -1) if weight.ndim == 2 else weight)
    return product if bias is None else product + bias


def bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x1 @ weight[k] @ x2 + bias[k]`` for each k. `weight` (out, in1, in2)."""
    from lucid.functional.summation import einsum

    result = einsum("...i,kij,...j->...k", x1, weight, x2)
    return result if bias is None else result + bias


def embedding(x: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Return the rows of `weight` (count, width) that the integers `x` name: shape ``x.shape + (width,)``.

    ``padding_idx`` only matters to gradients.
    """
    del padding_idx
    if not x.dtype.is_integer:
        raise DTypeError(f"embedding: x is {x.dtype}. It takes integers.")
    if weight.ndim != 2:
        raise ShapeError(f"embedding: the weight has shape {weight.shape}; it takes a matrix, one row per number.")
    return mil.gather(weight, indices=x, axis=0, batch_dims=0, validate_indices=False)
