"""Linear layers and tables of vectors."""

from __future__ import annotations

import math

import numpy as np

from lucid.dtypes import float32
from lucid.errors import ShapeError
from lucid.functional.creation import empty
from lucid.nn import functional as F
from lucid.nn import init
from lucid.nn.module import Module
from lucid.nn.parameter import Parameter
from lucid.tensor import Tensor

__all__ = ["Embedding", "Flatten", "Identity", "Linear", "Unflatten"]


class Identity(Module):
    """Return what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`."""
        return x


class Linear(Module):
    """Multiply by a matrix and add a vector: (..., in) to (..., out)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: object = float32) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        if bias:
            self.bias: Parameter | None = Parameter(empty(out_features, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias from the uniform distribution within ``1 / sqrt(in_features)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1.0 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight.T + bias``."""
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    """Look integers up in a table of vectors. The row of ``padding_idx`` begins as zeros."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, dtype: object = float32
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ShapeError(f"Embedding: padding_idx is {padding_idx}; the table has {num_embeddings} rows.")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors from the standard normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            value = np.array(self.weight._value)
            value[self.padding_idx] = 0
            self.weight._put(Tensor._boxed(value))

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors that the integers name."""
        return F.embedding(x, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Return the sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Flatten(Module):
    """Make several neighbouring axes one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with the axes from ``start_dim`` to ``end_dim`` made one."""
        return x.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one axis into several."""

    def __init__(self, dim: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with one axis split."""
        return x.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """Return the axis and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
