"""Scaled dot-product attention, composed of matrix products and a softmax, which every deployment target has."""

from __future__ import annotations

import math

import numpy as np

from lucid.dtypes import bool_
from lucid.errors import DTypeError, ShapeError
from lucid.functional.comparison import logical_not, logical_or, where
from lucid.functional.shapes import repeat_interleave
from lucid.functional.vocabulary import mil
from lucid.nn.functional.dropout import dropout
from lucid.tensor import Tensor

__all__ = ["scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return ``softmax(query @ key.T * scale + mask) @ value`` (Vaswani and others, 2017).

    `query` (..., L, E), `key` (..., S, E), `value` (..., S, Ev); the result is (..., L, Ev). A bool mask is true where
    a key may be seen, and a query that sees none gives zeros; a floating mask is added to the scores. ``is_causal``
    lets query i see keys 0 to i, counted from the first of each. ``scale`` is ``1 / sqrt(E)`` unless given. With
    ``enable_gqa`` each head of `key` and `value` (axis -3) serves several heads of `query`.
    """
    if (
        min(query.ndim, key.ndim, value.ndim) < 2
        or query.shape[-1] != key.shape[-1]
        or key.shape[-2] != value.shape[-2]
    ):
        raise ShapeError(
            f"attention: query {query.shape}, key {key.shape} and value {value.shape} do not fit together."
        )
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        raise DTypeError(
            f"attention: query is {query.dtype}, key {key.dtype}, value {value.dtype}. Use one floating dtype."
        )
    if is_causal and attn_mask is not None:
        raise ShapeError("attention: is_causal and attn_mask are both given. Put the triangle into the mask.")
    if enable_gqa:
        groups, rest = divmod(query.shape[-3], key.shape[-3])
        if rest:
            raise ShapeError(f"attention: {query.shape[-3]} query heads do not share {key.shape[-3]} key heads evenly.")
        key, value = repeat_interleave(key, groups, -3), repeat_interleave(value, groups, -3)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = mil.matmul(query * factor, key, transpose_x=False, transpose_y=True)
    seen = None
    if is_causal:
        triangle = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
        scores = scores + Tensor(np.where(triangle, 0.0, -np.inf).astype(query.dtype.numpy))
    elif attn_mask is not None and attn_mask.dtype == bool_:
        # A row without a visible key is given all of them and set to zero at the end: it never divides by zero.
        seen = attn_mask.any(-1, keepdim=True)
        bias = where(logical_or(attn_mask, logical_not(seen)), 0.0, -math.inf)
        scores = scores + bias.to(query.dtype)
    elif attn_mask is not None:
        scores = scores + attn_mask.to(query.dtype)
    weights = dropout(mil.softmax(scores, axis=-1), dropout_p, training=dropout_p > 0.0)
    result = mil.matmul(weights, value, transpose_x=False, transpose_y=False)
    return result if seen is None else result * seen.to(query.dtype)
