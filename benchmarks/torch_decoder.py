"""The SmolLM2 decoder written plainly in PyTorch, as somebody would write it for coremltools: caches are buffers.

It decodes one token a call: `token` int32 (1, 1) and `position` int32 (1,) in, `logits` float32 (1, 1, vocabulary) out.
The keys and the values of all layers are one buffer each, of shape (layers, 1, key-value heads, context, head_dim), and
a call writes its own position. The tensors' names are those of `smollm2_weights.read_weights`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from smollm2_weights import Config

__all__ = ["CONTEXT", "Decoder", "greedy", "make_decoder"]

CONTEXT = 256


Cache = tuple[Tensor, Tensor]  # the keys and the values of all layers


class RMSNorm(nn.Module):
    """Root-mean-square normalisation over the last axis, within float16's range.

    The decoder's hidden values reach 22,552, whose square float16 cannot hold; they are divided by the largest first.
    """

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (…, width)."""
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1.0)
        x = x / scale
        mean = x.pow(2).mean(-1, keepdim=True) + (self.epsilon**0.5 / scale).pow(2)
        return x * torch.rsqrt(mean) * self.weight


class Attention(nn.Module):
    """Grouped-query attention of one token to the cache, with rotary positions."""

    def __init__(self, sizes: Config, index: int) -> None:
        super().__init__()
        self.index, self.width = index, sizes.head_dim
        self.heads, self.groups = sizes.heads, sizes.key_value_heads
        self.q_proj = nn.Linear(sizes.hidden, self.heads * self.width, bias=False)
        self.k_proj = nn.Linear(sizes.hidden, self.groups * self.width, bias=False)
        self.v_proj = nn.Linear(sizes.hidden, self.groups * self.width, bias=False)
        self.o_proj = nn.Linear(self.heads * self.width, sizes.hidden, bias=False)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor, position: Tensor, cache: Cache) -> Tensor:
        """Attend from x (1, 1, hidden); this layer's slice of the cache is written at the position."""
        q = self.q_proj(x).view(1, 1, self.heads, self.width).transpose(1, 2)
        k = self.k_proj(x).view(1, 1, self.groups, self.width).transpose(1, 2)
        v = self.v_proj(x).view(1, 1, self.groups, self.width).transpose(1, 2)
        keys, values = cache
        keys[self.index, :, :, position : position + 1] = rotate(k, *turn)
        values[self.index, :, :, position : position + 1] = v
        repeats = self.heads // self.groups
        mixed = functional.scaled_dot_product_attention(
            rotate(q, *turn),
            keys[self.index].repeat_interleave(repeats, dim=1),
            values[self.index].repeat_interleave(repeats, dim=1),
            attn_mask=mask,
        )
        out: Tensor = self.o_proj(mixed.transpose(1, 2).reshape(1, 1, self.heads * self.width))
        return out


class MLP(nn.Module):
    """The gated feed-forward network (SwiGLU)."""

    def __init__(self, sizes: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(sizes.hidden, sizes.feed_forward, bias=False)
        self.up_proj = nn.Linear(sizes.hidden, sizes.feed_forward, bias=False)
        self.down_proj = nn.Linear(sizes.feed_forward, sizes.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (1, 1, hidden) to the same shape."""
        out: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    """Attention, then the feed-forward network, each behind its norm and added to what came in."""

    def __init__(self, sizes: Config, index: int) -> None:
        super().__init__()
        self.input_norm = RMSNorm(sizes.hidden, sizes.epsilon)
        self.attention = Attention(sizes, index)
        self.post_attention_norm = RMSNorm(sizes.hidden, sizes.epsilon)
        self.mlp = MLP(sizes)

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], mask: Tensor, position: Tensor, cache: Cache) -> Tensor:
        """Map (1, 1, hidden) to the same shape and write the cache."""
        x = x + self.attention(self.input_norm(x), turn, mask, position, cache)
        out: Tensor = x + self.mlp(self.post_attention_norm(x))
        return out


class Decoder(nn.Module):
    """The whole decoder; its output layer is its embedding."""

    places: Tensor
    cos: Tensor
    sin: Tensor
    keys: Tensor
    values: Tensor

    def __init__(self, sizes: Config, context: int = CONTEXT) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.layers = nn.ModuleList(Layer(sizes, index) for index in range(sizes.layers))
        self.norm = RMSNorm(sizes.hidden, sizes.epsilon)
        room = (sizes.layers, 1, sizes.key_value_heads, context, sizes.head_dim)
        with torch.device("cpu"):
            places = torch.arange(context, dtype=torch.int32)
            exponents = torch.arange(0, sizes.head_dim, 2) / sizes.head_dim
            angles = torch.outer(places, sizes.rope_base**-exponents).repeat(1, 2)
            buffers = {"places": places, "cos": angles.cos(), "sin": angles.sin()}
            buffers |= {"keys": torch.zeros(room), "values": torch.zeros(room)}
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer, persistent=False)

    def forward(self, token: Tensor, position: Tensor) -> Tensor:
        """Logits float32 (1, 1, vocabulary) for what follows token int32 (1, 1) at position int32 (1,)."""
        x = self.embed_tokens(token)
        turn = self.cos[position], self.sin[position]
        mask = (self.places <= position).view(1, 1, 1, -1)
        for layer in self.layers:
            x = layer(x, turn, mask, position, (self.keys, self.values))
        return functional.linear(self.norm(x), self.embed_tokens.weight)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn x (1, heads, 1, head_dim) by the angles of its position, given as cos and sin (1, head_dim)."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def make_decoder(sizes: Config, weights: Mapping[str, NDArray[np.float32]], context: int = CONTEXT) -> Decoder:
    """The decoder in `eval`, with the weights as they are: float32 arrays are shared, not copied."""
    with torch.device("meta"):  # no room and no random numbers for parameters that are replaced at once
        decoder = Decoder(sizes, context)
    decoder.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()}, assign=True)
    return decoder.requires_grad_(False).eval()


def greedy(decoder: Decoder, prompt: Sequence[int], count: int) -> list[int]:
    """The `count` likeliest tokens after the prompt, one after another, from empty caches."""
    decoder.keys.zero_()
    decoder.values.zero_()
    tokens = list(prompt)
    with torch.no_grad():
        for place in range(len(prompt) + count - 1):
            token = torch.tensor([[tokens[place]]], dtype=torch.int32)
            logits = decoder(token, torch.tensor([place], dtype=torch.int32))
            if place + 1 == len(tokens):
                tokens.append(int(logits.argmax()))
    return tokens[len(prompt) :]
