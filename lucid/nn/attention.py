"""Multi-head attention with PyTorch's parameters and contract."""

from __future__ import annotations

import math

import numpy as np

from lucid.dtypes import bool_, float32
from lucid.errors import ShapeError
from lucid.functional.comparison import where
from lucid.functional.creation import empty, zeros
from lucid.functional.joining import cat
from lucid.functional.vocabulary import mil
from lucid.nn import functional as F
from lucid.nn import init
from lucid.nn.linear import Linear
from lucid.nn.module import Module
from lucid.nn.parameter import Parameter
from lucid.tensor import Tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attend with several heads at once (Vaswani and others, 2017).

    Inputs are (L, N, E), or (N, L, E) with ``batch_first``, or (L, E). In bool masks, true forbids; floating masks are
    added to the scores. Returns the result and, unless ``need_weights`` is off, the attention weights: their mean over
    the heads (N, L, S), or all of them (N, heads, L, S).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: object = float32,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ShapeError(f"MultiheadAttention: embed_dim {embed_dim} does not split into {num_heads} heads.")
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        is_same = self.kdim == self.vdim == embed_dim

        def weight(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(shape, dtype=dtype)) if wanted else None

        self.register_parameter("in_proj_weight", weight(is_same, 3 * embed_dim, embed_dim))
        self.register_parameter("q_proj_weight", weight(not is_same, embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", weight(not is_same, embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", weight(not is_same, embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", weight(bias, 3 * embed_dim))
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        self.register_parameter("bias_k", weight(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", weight(add_bias_kv, 1, 1, embed_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projections by Glorot's rule; biases begin at zero."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                init.xavier_normal_(row)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the attended values and the weights (or ``None``)."""
        is_single = query.ndim == 2
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise ShapeError(
                f"MultiheadAttention: query {query.shape}, key {key.shape}, value {value.shape}: use 2 or 3 axes."
            )
        if is_causal and attn_mask is None:
            raise ShapeError("MultiheadAttention: is_causal is a hint about attn_mask. Pass the mask too.")
        if is_single:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (tensor.transpose(0, 1) for tensor in (query, key, value))
        queries, keys, values = self._projected(query, key, value)
        extra = 0
        if self.bias_k is not None:
            keys = cat([keys, self.bias_k.expand(keys.shape[0], 1, -1)], 1)
            values = cat([values, self.bias_v.expand(values.shape[0], 1, -1)], 1)
            extra += 1
        if self.add_zero_attn:
            keys, values = (cat([t, zeros(t.shape[0], 1, t.shape[2], dtype=t.dtype)], 1) for t in (keys, values))
            extra += 1
        mask = self._mask(query, key.shape[1], extra, attn_mask, key_padding_mask)
        dropout = self.dropout if self.training else 0.0
        heads = [self._split(tensor) for tensor in (queries, keys, values)]
        weights = None
        if need_weights:
            scores = mil.matmul(heads[0] * (1.0 / math.sqrt(self.embed_dim // self.num_heads)), heads[1], False, True)
            weights = mil.softmax(scores if mask is None else scores + mask, axis=-1)
            weights = F.dropout(weights, dropout, self.training)
            attended = mil.matmul(weights, heads[2], transpose_x=False, transpose_y=False)
            if average_attn_weights:
                weights = weights.mean(1)
            if is_single:
                weights = weights.squeeze(0)
        else:
            attended = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], mask, dropout)
        result = self.out_proj(attended.transpose(1, 2).flatten(2))
        if is_single:
            return result.squeeze(0), weights
        return result if self.batch_first else result.transpose(0, 1), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        bias = self.in_proj_bias
        size = self.embed_dim
        if self.in_proj_weight is not None and query is key is value:
            return F.linear(query, self.in_proj_weight, bias).chunk(3, -1)  # type: ignore[return-value]  # three chunks
        if self.in_proj_weight is not None:
            matrices = [self.in_proj_weight[size * place : size * (place + 1)] for place in range(3)]
        else:
            matrices = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        biases = [None if bias is None else bias[size * place : size * (place + 1)] for place in range(3)]
        first, second, third = (
            F.linear(tensor, matrix, part)
            for tensor, matrix, part in zip((query, key, value), matrices, biases, strict=True)
        )
        return first, second, third

    def _split(self, x: Tensor) -> Tensor:
        """Return (N, L, E) as (N, heads, L, E / heads)."""
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def _mask(
        self, query: Tensor, length: int, extra: int, attn_mask: Tensor | None, padding: Tensor | None
    ) -> Tensor | None:
        """Return what is added to the scores (N, heads, L, S), in a shape that broadcasts to them."""
        batch, rows = query.shape[:2]
        total: Tensor | None = None
        if attn_mask is not None:
            shapes = (rows, length), (batch * self.num_heads, rows, length)
            if attn_mask.shape not in shapes:
                raise ShapeError(
                    f"MultiheadAttention: attn_mask has shape {attn_mask.shape}, expected {shapes[0]} or {shapes[1]}."
                )
            total = _added(attn_mask, query)
            if attn_mask.ndim == 3:
                total = total.reshape(batch, self.num_heads, rows, length)
        if padding is not None:
            if padding.shape != (batch, length):
                raise ShapeError(
                    f"MultiheadAttention: key_padding_mask has shape {padding.shape}, expected {(batch, length)}."
                )
            row = _added(padding, query).reshape(batch, 1, 1, length)
            total = row if total is None else total + row
        return total if total is None or not extra else F.pad(total, (0, extra))


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask as what is added to scores: minus infinity where a bool mask forbids."""
    if mask.dtype == bool_:
        return where(mask, -np.inf, 0.0).to(like.dtype)
    return mask.to(like.dtype)
