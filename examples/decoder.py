"""A small Llama-style decoder: one token and its position in, logits out, key and value caches as state pairs."""

from __future__ import annotations

from dataclasses import dataclass

import lucid
from lucid import Tensor, nn
from lucid.nn import functional as F


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder."""

    vocabulary: int = 256
    hidden: int = 64
    layers: int = 2
    heads: int = 4
    key_value_heads: int = 2
    feed_forward: int = 128
    context: int = 32
    rope_base: float = 10_000.0
    epsilon: float = 1e-5

    @property
    def head(self) -> int:
        """Numbers per head."""
        return self.hidden // self.heads


class Attention(nn.Module):
    """Grouped-query attention of one new token over a cache: several query heads share one key and value head."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        kv = shape.key_value_heads * shape.head
        self.q_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.k_proj = nn.Linear(shape.hidden, kv, bias=False)
        self.v_proj = nn.Linear(shape.hidden, kv, bias=False)
        self.o_proj = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(self, x: Tensor, cache: Cache, layer: int) -> Tensor:
        """Write the token's key and value into the cache and return the output (1, 1, hidden)."""
        shape = self.shape
        query = cache.rotated(self.q_proj(x).reshape(1, shape.heads, 1, shape.head))
        key = cache.rotated(self.k_proj(x).reshape(1, shape.key_value_heads, 1, shape.head))
        value = self.v_proj(x).reshape(1, shape.key_value_heads, 1, shape.head)
        keys, values = cache.written(layer, key, value)
        grouped = query.reshape(1, shape.key_value_heads, shape.heads // shape.key_value_heads, shape.head)
        scores = (grouped * shape.head**-0.5) @ keys.transpose(-1, -2) + cache.mask
        mixed = F.softmax(scores, dim=-1) @ values
        return self.o_proj(mixed.reshape(1, 1, shape.hidden))


class FeedForward(nn.Module):
    """SwiGLU: a gated feed-forward layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.feed_forward, bias=False)
        self.down_proj = nn.Linear(shape.feed_forward, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return (1, 1, hidden)."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and feed-forward, each on a normalised input and added to the stream."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_norm = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        self.attention = Attention(shape)
        self.post_attention_norm = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor, cache: Cache, layer: int) -> Tensor:
        """Return the stream (1, 1, hidden)."""
        x = x + self.attention(self.input_norm(x), cache, layer)
        return x + self.mlp(self.post_attention_norm(x))


class Cache:
    """The keys and values of all layers while one token passes through them, and what depends on its position.

    Both are (layers, 1, key_value_heads, context, head). Writing puts a new value into this object's own tensors; what
    the caller passed in stays as it was.
    """

    def __init__(self, keys: Tensor, values: Tensor, position: Tensor, cos: Tensor, sin: Tensor) -> None:
        self.keys, self.values, self.position = keys.clone(), values.clone(), position
        self.cos, self.sin = cos[position], sin[position]
        ahead = lucid.arange(keys.shape[-2]) > position
        self.mask = lucid.where(ahead, float("-inf"), 0.0)

    def written(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write a layer's key and value at the position and return all of the layer's keys and values."""
        self.keys[layer, :, :, self.position] = key
        self.values[layer, :, :, self.position] = value
        return self.keys[layer], self.values[layer]

    def rotated(self, x: Tensor) -> Tensor:
        """Rotate pairs (i, i + head / 2) of the last axis by the angles of the position."""
        first, second = x.chunk(2, dim=-1)
        return x * self.cos + lucid.cat([-second, first], dim=-1) * self.sin


class Decoder(nn.Module):
    """One step of decoding. The last projection shares its weight with the embedding."""

    def __init__(self, **sizes: float) -> None:
        super().__init__()
        self.shape = shape = Shape(**sizes)  # type: ignore[arg-type]  # the spec's numbers
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList([Layer(shape) for _ in range(shape.layers)])
        self.norm = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        cos, sin = _rotary_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, token: Tensor, position: Tensor, keys: Tensor, values: Tensor) -> dict[str, Tensor]:
        """Return the logits (1, 1, vocabulary) of the next token, and both caches with this token written in.

        `token` (1, 1) and `position` (1,) are int32; `keys` and `values` are
        (layers, 1, key_value_heads, context, head).
        """
        cache = Cache(keys, values, position, self.cos, self.sin)
        x = self.embed_tokens(token)
        for index, layer in enumerate(self.layers):
            x = layer(x, cache, index)
        logits = F.linear(self.norm(x), self.embed_tokens.weight)
        return {"logits": logits, "new_keys": cache.keys, "new_values": cache.values}


def _rotary_tables(shape: Shape) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (context, head): the angle grows with the position, slower for later dimensions."""
    exponents = lucid.arange(0, shape.head, 2).float() / shape.head
    frequencies = 1.0 / lucid.tensor(shape.rope_base) ** exponents
    angles = lucid.outer(lucid.arange(shape.context).float(), frequencies)
    angles = lucid.cat([angles, angles], dim=-1)
    return angles.cos(), angles.sin()
