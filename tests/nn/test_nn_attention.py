"""Attention against PyTorch: masks, heads, and the layers built on it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch_oracle import agree, numbers, ours

import lucid
from lucid import nn
from lucid.errors import DTypeError, LucidError, ShapeError, UsageError
from lucid.nn import functional as F

sdpa = torch.nn.functional.scaled_dot_product_attention


@pytest.mark.parametrize("lengths", [(1, 4), (2, 4), (4, 4), (4, 2), (1, 1)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_causal_corner_is_pytorchs(lengths: tuple[int, int], is_causal: bool) -> None:
    rows, columns = lengths
    query, key, value = numbers(2, 3, rows, 8), numbers(2, 3, columns, 8, seed=1), numbers(2, 3, columns, 5, seed=2)
    expected = sdpa(query, key, value, is_causal=is_causal)
    agree(F.scaled_dot_product_attention(*ours((query, key, value)), is_causal=is_causal), expected)


def test_one_query_sees_the_first_key_alone() -> None:
    query = lucid.ones(1, 1, 1, 2)
    keys = lucid.arange(4.0).reshape(1, 1, 4, 1).expand(1, 1, 4, 2)
    assert F.scaled_dot_product_attention(query, keys, keys, is_causal=True).tolist() == [[[[0.0, 0.0]]]]
    found = F.scaled_dot_product_attention(query, keys, keys)
    np.testing.assert_allclose(found.numpy(), np.full((1, 1, 1, 2), 2.6928), atol=1e-4)


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (2, 1, 4, 6), (2, 3, 4, 6), (1, 1, 1, 6)])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(shape: tuple[int, ...], kind: str) -> None:
    query, key, value = numbers(2, 3, 4, 8), numbers(2, 3, 6, 8, seed=1), numbers(2, 3, 6, 8, seed=2)
    mask = numbers(*shape, dtype=torch.bool) if kind == "bool" else numbers(*shape)
    expected = sdpa(query, key, value, attn_mask=mask, scale=0.3)
    agree(F.scaled_dot_product_attention(*ours((query, key, value)), ours(mask), scale=0.3), expected)


def test_a_query_that_sees_nothing_gives_zeros() -> None:
    query, key, value = numbers(1, 1, 3, 4), numbers(1, 1, 3, 4, seed=1), numbers(1, 1, 3, 4, seed=2)
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])
    found = F.scaled_dot_product_attention(*ours((query, key, value)), ours(mask))
    agree(found, sdpa(query, key, value, attn_mask=mask))
    assert found[0, 0, 1].tolist() == [0.0] * 4


def test_grouped_queries() -> None:
    query, key, value = numbers(2, 6, 4, 8), numbers(2, 2, 5, 8, seed=1), numbers(2, 2, 5, 8, seed=2)
    agree(
        F.scaled_dot_product_attention(*ours((query, key, value)), enable_gqa=True),
        sdpa(query, key, value, enable_gqa=True),
    )


@pytest.mark.parametrize("rank", [2, 3, 4, 5])
def test_ranks_and_half_precision(rank: int) -> None:
    shape = (2, 1, 2, 4, 8)[5 - rank :]
    query, key, value = (numbers(*shape, seed=seed) for seed in range(3))
    agree(F.scaled_dot_product_attention(*ours((query, key, value))), sdpa(query, key, value))
    halves = query.half(), key.half(), value.half()
    agree(F.scaled_dot_product_attention(*ours(halves)), sdpa(*halves), rtol=5e-3, atol=5e-3)


def test_dropout_of_the_weights() -> None:
    lucid.manual_seed(0)
    query = lucid.zeros(1, 1, 2000, 4)
    found = F.scaled_dot_product_attention(query, query[:, :, :10], lucid.ones(1, 1, 10, 1), dropout_p=0.4)
    assert found.mean().item() == pytest.approx(1.0, abs=0.03)
    assert found.std().item() > 0.1


def attention(seed: int = 0, **settings: Any) -> tuple[Any, Any]:
    torch.manual_seed(seed)
    theirs = torch.nn.MultiheadAttention(12, 3, **settings).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.rand_like(parameter) - 0.5)
    mine = nn.MultiheadAttention(12, 3, **settings).eval()
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    return theirs, mine


SETTINGS: list[dict[str, Any]] = [
    {},
    {"batch_first": True},
    {"bias": False},
    {"kdim": 5, "vdim": 7},
    {"add_bias_kv": True},
    {"add_zero_attn": True, "batch_first": True},
    {"add_bias_kv": True, "add_zero_attn": True, "kdim": 5, "vdim": 7},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", [None, "bool", "float", "heads"])
@pytest.mark.parametrize("is_padded", [False, True])
def test_multihead_attention(settings: dict[str, Any], need_weights: bool, mask: str | None, is_padded: bool) -> None:
    theirs, mine = attention(**settings)
    query, key = numbers(2, 4, 12), numbers(2, 6, settings.get("kdim", 12), seed=1)
    value = numbers(2, 6, settings.get("vdim", 12), seed=2)
    if not settings.get("batch_first"):
        query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
    options: dict[str, Any] = {"need_weights": need_weights}
    kind = torch.float32 if mask == "float" else torch.bool
    if mask is not None:
        options["attn_mask"] = numbers(*((6, 4, 6) if mask == "heads" else (4, 6)), dtype=kind)
        if kind == torch.bool:
            options["attn_mask"][..., 0] = False
    if is_padded:
        options["key_padding_mask"] = torch.tensor([[False] * 5 + [True], [False] * 3 + [True] * 3])
        if kind == torch.float32:
            options["key_padding_mask"] = torch.where(options["key_padding_mask"], -1e4, 0.0)
    expected = theirs(query, key, value, **options)
    found = mine(*(ours(t.contiguous()) for t in (query, key, value)), **{name: ours(v) for name, v in options.items()})
    agree(found[0], expected[0], atol=1e-5)
    assert (found[1] is None) == (expected[1] is None)
    if need_weights:
        agree(found[1], expected[1], atol=1e-5)


def test_weights_of_each_head_and_single_sequences() -> None:
    theirs, mine = attention()
    x = numbers(5, 2, 12)
    agree(
        mine(ours(x), ours(x), ours(x), average_attn_weights=False),
        theirs(x, x, x, average_attn_weights=False),
        atol=1e-5,
    )
    box = ours(x)
    agree(mine(box, box, box), theirs(x, x, x), atol=1e-5)
    y = x[:, 0]
    agree(mine(ours(y), ours(y), ours(y)), theirs(y, y, y), atol=1e-5)


@pytest.mark.parametrize(
    ("norm_first", "activation", "batch_first"), list(itertools.product((True, False), ("relu", "gelu"), (True, False)))
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_encoder(norm_first: bool, activation: str, batch_first: bool) -> None:
    torch.manual_seed(0)
    settings: dict[str, Any] = {"norm_first": norm_first, "activation": activation, "batch_first": batch_first}
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(12, 3, 20, **settings), 2, torch.nn.LayerNorm(12)
    )
    mine = nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 20, **settings), 2, nn.LayerNorm(12))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    x = numbers(4, 4, 12)
    mask = torch.triu(torch.ones(4, 4, dtype=torch.bool), 1)
    theirs.eval()
    mine.eval()
    agree(mine(ours(x)), theirs(x), atol=2e-5)
    agree(mine(ours(x), ours(mask)), theirs(x, mask), atol=2e-5)
    padding = torch.zeros(4, 4, dtype=torch.bool)
    padding[1, 3] = True
    agree(mine(ours(x), None, ours(padding)), theirs(x, None, padding), atol=2e-5)
    assert [name for name, _ in mine.named_modules()] == [name for name, _ in theirs.named_modules()]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: F.scaled_dot_product_attention(lucid.ones(2, 3), lucid.ones(2, 4), lucid.ones(2, 3)),
            ShapeError,
            "do not fit",
        ),
        (
            lambda: F.scaled_dot_product_attention(lucid.ones(2, 3), lucid.ones(2, 3).half(), lucid.ones(2, 3)),
            DTypeError,
            "key float16",
        ),
        (
            lambda: F.scaled_dot_product_attention(*[lucid.ones(2, 3)] * 3, attn_mask=lucid.ones(2, 2), is_causal=True),
            ShapeError,
            "both given",
        ),
        (lambda: nn.MultiheadAttention(10, 3), ShapeError, "embed_dim 10 does not split into 3 heads"),
        (
            lambda: nn.MultiheadAttention(4, 2)(*[lucid.ones(3, 1, 4)] * 3, attn_mask=lucid.ones(2, 2)),
            ShapeError,
            "attn_mask has shape (2, 2), expected (3, 3) or (2, 3, 3)",
        ),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="swish"), UsageError, "activation is 'swish'"),
    ],
)
def test_errors(call: Any, kind: type[LucidError], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
