"""Compressed weights element by element, from the words of MIL's definitions, over random blocks, bits and vectors."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lucid import ops
from lucid.errors import DTypeError, ShapeError

SIZES = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4)  # blocks, size of a block
SEEDS = st.integers(0, 1 << 30)


def packed(values: np.ndarray, bits: int) -> np.ndarray:
    """Write numbers of so many bits one after the other, lowest bits first, as one large whole number."""
    whole = sum(int(value) << (place * bits) for place, value in enumerate(values.reshape(-1)))
    return np.frombuffer(whole.to_bytes(-(-values.size * bits // 8), "little"), np.uint8)


@settings(deadline=None)
@given(SIZES, st.sampled_from([1, 2, 3, 4, 6, 8]), st.integers(1, 3), SEEDS, st.data())
def test_palettes(sizes: list[tuple[int, int]], bits: int, vector: int, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    groups, shape = tuple(each for each, _ in sizes), tuple(each * block for each, block in sizes)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    indices = random.integers(0, 2**bits, shape).astype(np.uint8)
    lut = random.normal(size=(*groups, 2**bits, vector)).astype(np.float16)
    wanted_shape = list(shape)
    wanted_shape[axis] *= vector
    wanted = np.zeros(wanted_shape, np.float16)
    for place in product(*map(range, shape)):
        group = tuple(at // block for at, (_, block) in zip(place, sizes, strict=True))
        for element in range(vector):
            target = list(place)
            target[axis] = target[axis] * vector + element
            wanted[tuple(target)] = lut[(*group, indices[place], element)]
    got = ops.constexpr_lut_to_dense(indices=indices, lut=lut, vector_axis=axis)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, wanted)
    mask = random.integers(0, 2, shape).astype(np.uint8)
    wide, values = ops.constexpr_lut_to_sparse(
        indices_mask=mask, indices_nonzero_data=indices[mask != 0], lut=lut, vector_axis=axis
    )
    np.testing.assert_array_equal(wide, mask.repeat(vector, axis=axis))
    dense = ops.constexpr_sparse_to_dense(nonzero_data=values, mask=wide)
    np.testing.assert_array_equal(dense, np.where(wide, wanted, 0))


@given(st.lists(st.integers(1, 4), max_size=3), st.sampled_from([1, 2, 4, 6, 8]), SEEDS)
def test_packed_palettes_and_masks(sizes: list[int], bits: int, seed: int) -> None:
    random, shape = np.random.default_rng(seed), np.array(sizes, np.uint32)
    indices = random.integers(0, 2**bits, sizes).astype(np.uint8)
    lut = random.integers(-128, 128, 2**bits).astype(np.int8)
    got = ops.constexpr_lut_to_dense(indices=packed(indices, bits), lut=lut, shape=shape)
    np.testing.assert_array_equal(got, lut[indices])
    assert got.dtype == np.int8
    mask = random.integers(0, 2, sizes).astype(np.uint8)
    values = random.normal(size=int(mask.sum())).astype(np.float32)
    dense = ops.constexpr_sparse_to_dense(nonzero_data=values, mask=packed(mask, 1), shape=shape)
    wanted = np.zeros(prod(sizes), np.float32)
    wanted[mask.reshape(-1) != 0] = values
    np.testing.assert_array_equal(dense, wanted.reshape(sizes))


@settings(deadline=None)
@given(SIZES, st.sampled_from([np.int8, np.uint8, np.float16]), st.sampled_from([np.float16, np.float32]), SEEDS)
def test_blocks_of_scales(sizes: list[tuple[int, int]], dtype: Any, scale_dtype: Any, seed: int) -> None:
    """In float64, where the difference and the product of such numbers are all but exact, rounded once."""
    random = np.random.default_rng(seed)
    groups, shape = tuple(each for each, _ in sizes), tuple(each * block for each, block in sizes)
    data = random.integers(0, 100, shape).astype(dtype)
    scale = random.normal(size=groups).astype(scale_dtype)
    offset = random.integers(0, 100, groups).astype(dtype)
    wanted, plain = np.zeros(shape), np.zeros(shape)
    for place in product(*map(range, shape)):
        group = tuple(at // block for at, (_, block) in zip(place, sizes, strict=True))
        plain[place] = float(data[place]) * float(scale[group])
        wanted[place] = (float(data[place]) - float(offset[group])) * float(scale[group])
    mask = random.integers(0, 2, shape).astype(np.uint8)
    for expected, shift in ((wanted, offset), (plain, None)):
        got = ops.constexpr_blockwise_shift_scale(data=data, scale=scale, offset=shift)
        assert got.dtype == scale_dtype
        np.testing.assert_array_equal(got, expected.astype(scale_dtype))
        same, some = ops.constexpr_sparse_blockwise_shift_scale(
            data_mask=mask, nonzero_data=data[mask != 0], scale=scale, offset=shift
        )
        np.testing.assert_array_equal(same, mask)
        np.testing.assert_array_equal(some, got[mask != 0])


@pytest.mark.parametrize("zero_point", [np.float32(1.5), np.array([1.5, 0.25, 3], np.float32), np.int8(-7)])
@pytest.mark.parametrize("scale", [np.float16(0.5), np.array([0.5, 0.25, 3], np.float16)])
def test_the_dtype_is_that_of_scale(zero_point: Any, scale: Any) -> None:
    data = np.arange(-12, 12, dtype=np.int8).reshape(2, 3, 4)
    got = ops.constexpr_affine_dequantize(
        quantized_data=data, zero_point=np.asarray(zero_point), scale=np.asarray(scale), axis=-2
    )
    along = [np.asarray(each, np.float64).reshape(-1, 1) for each in (zero_point, scale)]
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, ((data - along[0]) * along[1]).astype(np.float16))


BYTES = np.zeros((2, 4), np.uint8)
WIDE = np.zeros((1, 1, 4, 2), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ops.constexpr_affine_dequantize(BYTES, np.uint8(0), np.ones(3, np.float32), 1), ShapeError,
         r"scale has shape \(3,\), expected \(\) or \(4,\)"),
        (lambda: ops.constexpr_blockwise_shift_scale(BYTES, np.ones((2, 3), np.float32)), ShapeError,
         r"scale has shape \(2, 3\), expected one that divides \(2, 4\)"),
        (lambda: ops.constexpr_blockwise_shift_scale(BYTES, np.ones(4, np.float32)), ShapeError, "one that divides"),
        (lambda: ops.constexpr_blockwise_shift_scale(BYTES, np.ones((2, 1), np.float32), np.zeros((1, 1), np.uint8)),
         ShapeError, r"offset has shape \(1, 1\), expected \(2, 1\)"),
        (lambda: ops.constexpr_cast(np.ones(2, np.float16), "fp16"), DTypeError, "output_dtype is 'fp16'"),
        (lambda: ops.constexpr_lut_to_dense(BYTES, WIDE), ShapeError, "vectors of 2 elements. Pass vector_axis"),
        (lambda: ops.constexpr_lut_to_dense(BYTES, WIDE, vector_axis=2), ShapeError, "is 2, expected -2 to 1"),
        (lambda: ops.constexpr_lut_to_dense(BYTES, WIDE[0]), ShapeError, "expected two axes more than indices"),
        (lambda: ops.constexpr_lut_to_dense(BYTES + 4, WIDE[..., :1]), ShapeError, "an index is 4"),
        (lambda: ops.constexpr_lut_to_dense(BYTES, np.zeros((1, 1, 5, 1))), ShapeError, "a palette has 5 entries"),
        (lambda: ops.constexpr_lut_to_dense(BYTES[0], np.zeros(4), shape=np.array([17])), ShapeError,
         r"indices has shape \(4,\), expected \(5,\) = 17 x 2 bits"),
        (lambda: ops.constexpr_lut_to_dense(BYTES[0], np.zeros(4), np.array([16]), 0), ShapeError, "one of the two"),
        (lambda: ops.constexpr_sparse_to_dense(np.ones(2), BYTES), ShapeError,
         r"nonzero_data has shape \(2,\), expected \(0,\) = the ones of the mask"),
    ],
)  # fmt: skip
def test_what_does_not_fit(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
