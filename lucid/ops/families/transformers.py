"""Operations of transformers."""

from __future__ import annotations

from math import sqrt
from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, namespace
from lucid.ops.record import operation, sample

__all__ = ["scaled_dot_product_attention"]


@operation(
    sample(
        [[[2.0, 20.0]]],
        query=[[[0.0]]],
        key=[[[5.0], [-3.0]]],
        value=[[[1.0, 10.0], [3.0, 30.0]]],
    ),
    sample(
        [[[1.0], [2.0]]],
        query=[[[0.0], [0.0]]],
        key=[[[1.0], [1.0]]],
        value=[[[1.0], [3.0]]],
        attn_mask=[[True, False], [True, True]],
    ),
    sample(
        [[[2.4621172]]],
        query=[[[1.0, 1.0, 0.0, 0.0]]],
        key=[[[1.0, 0.0, 9.0, 9.0], [1.0, 1.0, 9.0, 9.0]]],
        value=[[[1.0], [3.0]]],
        attn_mask=[[0.0, 0.5]],
    ),
    since="iOS18",
)
def scaled_dot_product_attention(query: Array, key: Array, value: Array, attn_mask: Array | None = None) -> Array:
    """Return ``softmax(query @ key.T / sqrt(E) + mask) @ value``, the softmax over the keys.

    ``query``: (B, *, L, E), ``key``: (B, *, S, E), ``value``: (B, *, S, EV), the axes before the last two equal in
    all three; the result: (B, *, L, EV). ``attn_mask`` has S as its last size and broadcasts to (B, *, L, S): booleans
    say which keys take part, numbers are added to the scores. Shapes that do not fit raise ShapeError.

    There is no causal flag. PyTorch's ``is_causal`` is the mask ``tril(ones(L, S))``: query i sees the keys 0 to i,
    the triangle beginning at the first query and the first key whatever L and S. A query without any key gives NaN, as
    MIL's formula says (PyTorch gives 0); without keys at all (S = 0) the result is 0.
    """
    _check(query, key, value, attn_mask)
    xp = namespace(query, key, value)
    if not key.shape[-2]:
        return xp.zeros((*query.shape[:-1], value.shape[-1]), dtype=query.dtype)
    scores = (query * (1 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0)) @ key.mT
    if attn_mask is not None:
        if attn_mask.dtype == xp.bool:
            scores = xp.where(attn_mask, scores, xp.asarray(-xp.inf, dtype=scores.dtype))
        else:
            scores += attn_mask
    scores -= xp.max(scores, axis=-1, keepdims=True)
    weights = xp.exp(scores)
    out = weights @ value
    out /= xp.sum(weights, axis=-1, keepdims=True)
    return out


def _check(query: Any, key: Any, value: Any, mask: Any) -> None:
    q, k, v = query.shape, key.shape, value.shape
    if len(q) < 3 or q[:-2] != k[:-2] or q[:-2] != v[:-2] or q[-1] != k[-1] or k[-2] != v[-2]:
        raise ShapeError(
            f"scaled_dot_product_attention: query {q}, key {k} and value {v} do not fit, expected (B, *, L, E), "
            "(B, *, S, E) and (B, *, S, EV). Repeat key and value heads that several query heads share."
        )
    if mask is not None:
        wanted, given = (*q[:-1], k[-2]), mask.shape
        tail = wanted[len(wanted) - len(given) :]
        fits = 0 < len(given) <= len(wanted) and given[-1] == k[-2]
        if not fits or any(a not in (1, b) for a, b in zip(given, tail, strict=True)):
            raise ShapeError(
                f"scaled_dot_product_attention: attn_mask has shape {given}, expected one that broadcasts to {wanted} "
                f"and ends in {k[-2]}. Expand it over the keys."
            )
