"""The encoder of the Transformer."""

from __future__ import annotations

import copy
from collections.abc import Callable

from lucid.dtypes import float32
from lucid.errors import UsageError
from lucid.nn import functional as F
from lucid.nn.activation import Dropout
from lucid.nn.attention import MultiheadAttention
from lucid.nn.containers import ModuleList
from lucid.nn.linear import Linear
from lucid.nn.module import Module
from lucid.nn.normalization import LayerNorm
from lucid.tensor import Tensor

__all__ = ["TransformerEncoder", "TransformerEncoderLayer"]


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with a residual and a normalization."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: object = float32,
    ) -> None:
        super().__init__()
        known: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
        if isinstance(activation, str) and activation not in known:
            raise UsageError(
                f"TransformerEncoderLayer: activation is {activation!r}. Use 'relu', 'gelu' or a function."
            )
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = known[activation] if isinstance(activation, str) else activation

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return `src` with attention and feed-forward added; masks as in :class:`MultiheadAttention`."""
        if self.norm_first:
            src = src + self._attended(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._fed(self.norm2(src))
        src = self.norm1(src + self._attended(src, src_mask, src_key_padding_mask, is_causal))
        result: Tensor = self.norm2(src + self._fed(src))
        return result

    def _attended(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        attended, _ = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False, is_causal=is_causal
        )
        result: Tensor = self.dropout1(attended)
        return result

    def _fed(self, x: Tensor) -> Tensor:
        result: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return result


class TransformerEncoder(Module):
    """Several copies of an encoder layer, one after the other."""

    def __init__(self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.add_module("norm", norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Return `src` after all layers; masks as in :class:`MultiheadAttention`."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        result: Tensor = src if self.norm is None else self.norm(src)
        return result
