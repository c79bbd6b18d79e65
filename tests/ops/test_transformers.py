"""Attention against PyTorch in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention as attention

from lucid import ops
from lucid.errors import ShapeError
from lucid.ops.execution import execute

LENGTHS = [(1, 4), (2, 4), (4, 4), (4, 2), (1, 1)]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def inputs(batch: tuple[int, ...], queries: int, keys: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return normal(*batch, queries, 6), normal(*batch, keys, 6), normal(*batch, keys, 5)


def reference(*arrays: np.ndarray, mask: np.ndarray | None = None, is_causal: bool = False) -> np.ndarray:
    tensors = [torch.tensor(array).double() for array in arrays]
    chosen = None if mask is None else torch.tensor(mask if mask.dtype == bool else mask.astype(np.float64))
    return attention(*tensors, attn_mask=chosen, is_causal=is_causal).numpy()


@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
@pytest.mark.parametrize("batch", [(2,), (2, 3), (1, 2, 3)])
def test_attention_is_pytorchs(batch: tuple[int, ...], queries: int, keys: int) -> None:
    arrays = inputs(batch, queries, keys)
    found = ops.scaled_dot_product_attention(*arrays)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, reference(*arrays), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("queries", "keys"), LENGTHS)
def test_a_lower_triangle_is_pytorchs_causal_flag(queries: int, keys: int) -> None:
    arrays = inputs((1, 2), queries, keys)
    mask = np.tri(queries, keys, dtype=bool)
    expected = reference(*arrays, is_causal=True)
    found = ops.scaled_dot_product_attention(*arrays, mask)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    added = np.where(mask, np.float32(0), np.float32(-np.inf))
    np.testing.assert_allclose(ops.scaled_dot_product_attention(*arrays, added), expected, rtol=1e-5, atol=1e-6)


def test_one_query_and_four_keys() -> None:
    """Key i and value i are i: the causal query sees key 0 alone, without the mask it sees all four."""
    query, keys = np.ones((1, 1, 1, 2), np.float32), np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1).repeat(2, -1)
    causal = ops.scaled_dot_product_attention(query, keys, keys, np.tri(1, 4, dtype=bool))
    assert causal.tolist() == [[[[0.0, 0.0]]]]
    np.testing.assert_allclose(ops.scaled_dot_product_attention(query, keys, keys), [[[[2.6928, 2.6928]]]], atol=5e-5)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (1, 4), (2, 1, 4), (2, 3, 4), (5, 2, 3, 4), (1, 1, 1, 4)])
@pytest.mark.parametrize("is_boolean", [False, True])
def test_masks_broadcast(shape: tuple[int, ...], is_boolean: bool) -> None:
    arrays = inputs((5, 2), 3, 4)
    mask = normal(*shape)
    if is_boolean:
        mask = (mask > 0) | (np.arange(4) == 1)
    found = ops.scaled_dot_product_attention(*arrays, mask)
    np.testing.assert_allclose(found, reference(*arrays, mask=np.atleast_2d(mask)), rtol=1e-5, atol=1e-6)


def test_large_scores_stay_finite() -> None:
    query, key, value = inputs((1,), 2, 3)
    found = ops.scaled_dot_product_attention(query * 1000, key * 1000, value)
    np.testing.assert_allclose(found, reference(query * 1000, key * 1000, value), rtol=1e-5)


def test_a_finite_fill_leaves_a_masked_row_uniform() -> None:
    """A row filled with one very negative number is a mean over all keys, as softmax says."""
    value = np.array([[[1.0], [2.0], [3.0], [6.0]]], np.float32)
    zero = np.zeros((1, 4, 2), np.float32)
    fill = np.full((1, 4), np.finfo(np.float32).min)
    assert ops.scaled_dot_product_attention(zero[:, :1], zero, value, fill).tolist() == [[[3.0]]]


def test_no_key_at_all() -> None:
    query, key, value = inputs((1,), 2, 3)
    masked = np.array([[True, True, False], [False, False, False]])
    found = ops.scaled_dot_product_attention(query, key, value, masked)
    assert np.isfinite(found[0, 0]).all()
    assert np.isnan(found[0, 1]).all()
    assert ops.scaled_dot_product_attention(query, key[:, :0], value[:, :0]).tolist() == [[[0.0] * 5] * 2]
    assert ops.scaled_dot_product_attention(query[:, :0], key, value).shape == (1, 0, 5)


def test_half_precision_rounds_once() -> None:
    query, key, value = (array.astype(np.float16) for array in inputs((1, 2), 3, 4))
    (found,) = execute(ops.scaled_dot_product_attention, ops.scaled_dot_product_attention.bind(query, key, value))
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, reference(query, key, value), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("query", "key", "value"),
    [
        ((1, 2, 3, 4), (1, 1, 5, 4), (1, 1, 5, 4)),
        ((1, 3, 4), (1, 5, 3), (1, 5, 4)),
        ((1, 3, 4), (1, 5, 4), (1, 6, 4)),
        ((3, 4), (5, 4), (5, 4)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...]
) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.scaled_dot_product_attention(normal(*query), normal(*key), normal(*value))
    assert f"query {query}, key {key} and value {value} do not fit" in str(caught.value)


@pytest.mark.parametrize("shape", [(1,), (3, 1), (2, 4), (2, 3, 4), (1, 1, 3, 4), ()])
def test_masks_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError) as caught:
        ops.scaled_dot_product_attention(*inputs((1,), 3, 4), normal(*shape))
    assert f"attn_mask has shape {shape}, expected one that broadcasts to (1, 3, 4)" in str(caught.value)
