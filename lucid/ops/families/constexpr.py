"""Weights in their compressed form, and what they stand for: quantized, palettized, sparse, and these joined.

Their inputs are constants, or come from another operation of this family, so an engine computes them once, before the
program runs. The kernels get their arrays as they are: those that scale compute in float32 and round once to the dtype
of ``scale``; the others only look up and place values. Elements of less than a byte come one to a byte.

Two operations have an older form, of iOS16 and iOS17, with packed bits and a ``shape``. The shape tells which is meant.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from lucid.errors import DTypeError, ShapeError
from lucid.ops.array import Array, namespace
from lucid.ops.axes import integers, resolve_axis
from lucid.ops.record import operation, sample

__all__ = [
    "constexpr_affine_dequantize",
    "constexpr_blockwise_shift_scale",
    "constexpr_cast",
    "constexpr_lut_to_dense",
    "constexpr_lut_to_sparse",
    "constexpr_sparse_blockwise_shift_scale",
    "constexpr_sparse_to_dense",
]

_BYTE = np.uint8
_MASK = np.array([[1, 1, 0, 0], [0, 0, 1, 1]], _BYTE)


@operation(
    sample(
        [[0.0, 0.5], [1.0, -65.5]],
        quantized_data=np.array([[3, 4], [5, -128]], np.int8),
        zero_point=np.int8(3),
        axis=0,
        scale=0.5,
    ),
    sample(
        [[2.0, 8.0], [4.0, -4.0]],
        quantized_data=np.array([[2, 3], [3, 0]], np.uint8),
        zero_point=np.array([1, 1], np.uint8),
        axis=-1,
        scale=[2.0, 4.0],
    ),
    since="iOS16",
    exact=True,
    typed=True,
)
def constexpr_affine_dequantize(quantized_data: Array, zero_point: Array, scale: Array, axis: int) -> Array:
    """Return ``scale * (quantized_data - zero_point)`` in the dtype of ``scale``.

    ``quantized_data``: int8 or uint8 of rank 1 or more; ``zero_point`` (of its dtype, or float32) and ``scale``
    (float16 or float32): () or (K,) with K the size of ``axis``, else ShapeError.
    """
    at = resolve_axis("constexpr_affine_dequantize", axis, quantized_data.ndim)
    size = quantized_data.shape[at]
    xp = namespace(quantized_data)
    along = [1] * quantized_data.ndim
    along[at] = -1
    for name, given in (("zero_point", zero_point), ("scale", scale)):
        if given.shape not in ((), (size,)):
            raise ShapeError(
                f"constexpr_affine_dequantize: {name} has shape {given.shape}, expected () or ({size},) = the size of "
                f"axis {axis} of quantized_data."
            )
    offset, factor = (xp.reshape(xp.asarray(given, dtype="float32"), tuple(along)) for given in (zero_point, scale))
    return ((quantized_data.astype("float32") - offset) * factor).astype(scale.dtype)


@operation(
    sample([[5.0, 7.0, 0.0, -2.0]], data=np.array([[5, 7, 0, -2]], np.int8), scale=[[1.0]]),
    sample(
        [[2.0, 3.0, 0.0, -3.0]],
        data=np.array([[5, 7, 0, -2]], np.int8),
        scale=[[0.5, 1.5]],
        offset=np.array([[1, 0]], np.int8),
    ),
    sample(
        [[1.0, 2.0], [6.0, 8.0], [-2.25, -2.25]],
        data=np.array([[1, 2], [3, 4], [0, 0]], np.uint8),
        scale=[[1.0], [2.0], [0.5]],
        offset=[[0.0], [0.0], [4.5]],
    ),
    since="iOS18",
    exact=True,
    typed=True,
)
def constexpr_blockwise_shift_scale(data: Array, scale: Array, offset: Array | None = None) -> Array:
    """Return ``scale * (data - offset)``, one scale and offset for each block, in the dtype of ``scale``.

    ``data``: int4, uint4, int8, uint8, float16 or float32 of rank 1 or more; ``scale`` and ``offset``: of the same rank
    and each other's shape, whose sizes divide those of ``data`` into blocks. What does not fit raises ShapeError.
    """
    return _scaled("constexpr_blockwise_shift_scale", data, scale, offset)


@operation(
    sample([0.5, -2.0], source_val=np.array([0.5, -2.0], np.float16), output_dtype="fp32"),
    since="iOS16",
    exact=True,
    typed=True,
)
def constexpr_cast(source_val: Array, output_dtype: str) -> Array:
    """Return the float16 values of ``source_val`` as float32. Another ``output_dtype`` than fp32 raises DTypeError."""
    if output_dtype != "fp32":
        raise DTypeError(f"constexpr_cast: output_dtype is {output_dtype!r}, expected fp32.")
    return source_val.astype("float32")


@operation(
    sample(
        [[9.0, 13.0], [13.0, 1.0], [5.0, 1.0], [26.0, 2.0], [18.0, 10.0], [2.0, 26.0]],
        indices=np.array([[2, 3], [3, 0], [1, 0], [3, 0], [2, 1], [0, 3]], _BYTE),
        lut=[[[[1.0], [5.0], [9.0], [13.0]]], [[[2.0], [10.0], [18.0], [26.0]]]],
    ),
    sample(
        [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]],
        indices=np.array([[0, 1]], _BYTE),
        lut=[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]],
        vector_axis=0,
    ),
    sample(
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        indices=np.array([0, 0, 1], _BYTE),
        lut=[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]],
        vector_axis=-1,
    ),
    sample(
        [7.0, 11.0, 9.0, 5.0, 11.0],
        indices=np.array([0b00_10_11_01, 0b11], _BYTE),
        lut=[5.0, 7.0, 9.0, 11.0],
        shape=np.array([5], np.uint32),
    ),
    since="iOS16",
    exact=True,
    later={"vector_axis": "iOS18"},
    until={"shape": "iOS17"},
)
def constexpr_lut_to_dense(
    indices: Array, lut: Array, shape: Array | None = None, vector_axis: int | None = None
) -> Array:
    """Return the entries of the palettes ``lut`` that ``indices`` name, in the dtype of ``lut``.

    ``indices``: uint1 to uint8, (I0, ..., Ik); ``lut``: (L0, ..., Lk, palette, vector), where each L divides its I: one
    palette of 2, 4, 8, 16, 64 or 256 entries for each block of indices. With vectors of more than one element, axis
    ``vector_axis`` of the result is the longer by that factor.
    In the older form ``lut`` is (palette,), ``indices`` are the bytes of the packed indices, lowest bits first, and
    ``shape`` is that of the result. What does not fit, an index beyond the palette included, raises ShapeError.
    """
    if shape is None:
        return _looked_up("constexpr_lut_to_dense", indices, lut, vector_axis)
    sizes, bits = tuple(integers(shape)), _bits_of("constexpr_lut_to_dense", lut.shape[-1] if lut.ndim == 1 else 0)
    if vector_axis is not None:
        raise ShapeError("constexpr_lut_to_dense: shape and vector_axis are given, expected one of the two forms.")
    return lut[_unpacked("constexpr_lut_to_dense", "indices", indices, bits, sizes)]


@operation(
    sample(
        _MASK,
        [2.0, 3.0, 3.0, 2.0],
        indices_mask=_MASK,
        indices_nonzero_data=np.array([0, 1, 1, 0], _BYTE),
        lut=[[[[2.0], [3.0]]]],
    ),
    sample(
        np.array([[1, 1], [0, 1], [0, 1]], _BYTE).repeat(2, 0),
        [2.0, 4.0, 2.5, 4.5, 4.0, 4.5, 2.0, 2.5],
        indices_mask=np.array([[1, 1], [0, 1], [0, 1]], _BYTE),
        indices_nonzero_data=np.array([0, 1, 1, 0], _BYTE),
        lut=[[[[2.0, 2.5], [4.0, 4.5]]]],
        vector_axis=0,
    ),
    since="iOS18",
    exact=True,
    typed=True,
)
def constexpr_lut_to_sparse(
    indices_mask: Array, indices_nonzero_data: Array, lut: Array, vector_axis: int | None = None
) -> tuple[Array, Array]:
    """Return a mask and the values at its ones: what ``constexpr_lut_to_dense`` makes of the indices at the ones.

    ``indices_mask``: uint1 of the shape of the indices; ``indices_nonzero_data``: (ones,), row by row. With vectors of
    more than one element the mask grows as the result of ``constexpr_lut_to_dense`` does.
    """
    xp = namespace(indices_mask)
    indices = _placed("constexpr_lut_to_sparse", "indices_nonzero_data", indices_nonzero_data, indices_mask)
    values = _looked_up("constexpr_lut_to_sparse", indices, lut, vector_axis)
    mask, vector = indices_mask, lut.shape[-1]
    if vector > 1 and vector_axis is not None:
        mask = xp.repeat(mask, vector, axis=vector_axis)
    return mask, values[mask != 0]


@operation(
    sample(
        _MASK,
        [4.5, 10.0, 3.0, 6.0],
        data_mask=_MASK,
        nonzero_data=np.array([10, 11, 5, 7], np.int8),
        scale=[[0.5, 1.0, 1.5, 2.0]],
        offset=np.array([[1, 1, 3, 4]], np.int8),
    ),
    sample(
        _MASK,
        [5.0, 5.5, 10.0, 14.0],
        data_mask=_MASK,
        nonzero_data=np.array([10, 11, 5, 7], np.int8),
        scale=[[0.5], [2.0]],
    ),
    since="iOS18",
    exact=True,
    typed=True,
)
def constexpr_sparse_blockwise_shift_scale(
    data_mask: Array, nonzero_data: Array, scale: Array, offset: Array | None = None
) -> tuple[Array, Array]:
    """Return the mask and, for its ones, what ``constexpr_blockwise_shift_scale`` makes of the values there.

    ``data_mask``: uint1 of the shape of the dense data; ``nonzero_data``: (ones,), row by row.
    """
    data = _placed("constexpr_sparse_blockwise_shift_scale", "nonzero_data", nonzero_data, data_mask)
    return data_mask, _scaled("constexpr_sparse_blockwise_shift_scale", data, scale, offset)[data_mask != 0]


@operation(
    sample([[5.0, 6.0, 0.0, 0.0], [0.0, 0.0, 7.0, 8.0]], nonzero_data=[5.0, 6.0, 7.0, 8.0], mask=_MASK),
    sample(
        [0.0, 0.0, 1.0, 2.0, 0.0],
        nonzero_data=[1.0, 2.0],
        mask=np.array([0b01100], _BYTE),
        shape=np.array([5], np.uint32),
    ),
    since="iOS16",
    exact=True,
    until={"shape": "iOS17"},
)
def constexpr_sparse_to_dense(nonzero_data: Array, mask: Array, shape: Array | None = None) -> Array:
    """Return a tensor that holds ``nonzero_data`` row by row where ``mask`` is 1, and 0 elsewhere.

    ``nonzero_data``: (ones,); ``mask``: uint1 of the shape of the result. In the older form ``mask`` holds the bytes of
    the packed bits, lowest first, and ``shape`` is that of the result. What does not fit raises ShapeError.
    """
    if shape is not None:
        mask = _unpacked("constexpr_sparse_to_dense", "mask", mask, 1, tuple(integers(shape)))
    return _placed("constexpr_sparse_to_dense", "nonzero_data", nonzero_data, mask)


def _placed(operation: str, name: str, values: Array, mask: Array) -> Array:
    """Return a tensor of the shape of `mask` with the values at its ones."""
    xp = namespace(mask)
    places = xp.nonzero(xp.reshape(mask, (-1,)))[0]
    if values.shape != places.shape:
        raise ShapeError(
            f"{operation}: {name} has shape {values.shape}, expected {places.shape} = the ones of the mask."
        )
    dense = xp.zeros(mask.size, dtype=values.dtype)
    dense[places] = values
    return xp.reshape(dense, mask.shape)


def _scaled(operation: str, data: Array, scale: Array, offset: Array | None) -> Array:
    if (
        data.ndim < 1
        or data.ndim != scale.ndim
        or any(many < 1 or size % many for size, many in zip(data.shape, scale.shape, strict=True))
    ):
        raise ShapeError(
            f"{operation}: scale has shape {scale.shape}, expected one that divides {data.shape} = the data's."
        )
    if offset is not None and offset.shape != scale.shape:
        raise ShapeError(f"{operation}: offset has shape {offset.shape}, expected {scale.shape} = that of scale.")
    xp = namespace(data)
    blocks = [each for size, many in zip(data.shape, scale.shape, strict=True) for each in (many, size // many)]
    per_block = [each for many in scale.shape for each in (many, 1)]
    values = xp.reshape(data.astype("float32"), tuple(blocks))
    if offset is not None:
        values = values - xp.reshape(offset.astype("float32"), tuple(per_block))
    values = values * xp.reshape(scale.astype("float32"), tuple(per_block))
    return xp.reshape(values.astype(scale.dtype), data.shape)


def _looked_up(operation: str, indices: Array, lut: Array, vector_axis: int | None) -> Array:
    rank, groups = indices.ndim, lut.shape[:-2]
    if (
        rank < 1
        or lut.ndim != rank + 2
        or any(many < 1 or size % many for size, many in zip(indices.shape, groups, strict=True))
    ):
        raise ShapeError(
            f"{operation}: lut has shape {lut.shape}, expected two axes more than indices of shape {indices.shape}, "
            "each of the others dividing theirs."
        )
    xp = namespace(indices)
    palette, vector = lut.shape[-2:]
    _bits_of(operation, palette)
    if indices.size and int(xp.max(indices)) >= palette:
        raise ShapeError(f"{operation}: an index is {int(xp.max(indices))}, the palettes have {palette} entries.")
    if vector != 1 and (vector_axis is None or vector < 1):
        raise ShapeError(f"{operation}: the palettes hold vectors of {vector} elements. Pass vector_axis.")
    rows: Any = indices.astype("int32")
    stride = palette
    for axis in reversed(range(rank)):
        if groups[axis] > 1:
            block = indices.shape[axis] // groups[axis]
            start = xp.repeat(xp.arange(groups[axis], dtype="int32") * stride, block)
            rows = rows + xp.reshape(start, (-1,) + (1,) * (rank - 1 - axis))
        stride *= groups[axis]
    found = xp.reshape(lut, (prod(groups) * palette, vector))[rows]
    if vector == 1:
        return found[..., 0]
    at = resolve_axis(operation, vector_axis, rank, "vector_axis")  # type: ignore[arg-type]  # None is refused above
    sizes = list(indices.shape)
    sizes[at] *= vector
    return xp.reshape(xp.moveaxis(found, -1, at + 1), tuple(sizes))


def _bits_of(operation: str, palette: int) -> int:
    """Return how many bits an index into a palette has."""
    if palette not in (2, 4, 8, 16, 64, 256):
        raise ShapeError(f"{operation}: a palette has {palette} entries, expected 2, 4, 8, 16, 64 or 256.")
    return palette.bit_length() - 1


def _unpacked(operation: str, name: str, packed: Array, bits: int, shape: tuple[int, ...]) -> Array:
    """Return the unsigned numbers of so many bits each that stand in bytes, lowest bits first."""
    size = prod(shape)
    expected = -(-size * bits // 8)
    if packed.shape != (expected,):
        raise ShapeError(
            f"{operation}: {name} has shape {packed.shape}, expected ({expected},) = {size} x {bits} bits in bytes."
        )
    found = np.unpackbits(packed, count=size * bits, bitorder="little").reshape(size, bits)
    return np.packbits(found, axis=1, bitorder="little").reshape(shape)
