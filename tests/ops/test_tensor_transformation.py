"""Moving elements: against PyTorch, Python's own slices, and loops that follow the definitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from lucid import ops
from lucid.errors import IndexingError, ShapeError
from lucid.ops.execution import execute


def counting(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def same(found: Any, expected: Any) -> None:
    expected = expected.numpy() if isinstance(expected, torch.Tensor) else np.asarray(expected)
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("axes", [(0,), (-1,), (1, 0), (0, -1), (-2, 1, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
def test_expand_dims_is_numpys(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = counting(*shape)
    try:
        expected = np.expand_dims(x, axes)
    except (ValueError, np.exceptions.AxisError):
        with pytest.raises(ShapeError):
            ops.expand_dims(x, axes)
    else:
        same(ops.expand_dims(x, axes), expected)


def test_expand_dims_refuses_an_axis_named_twice() -> None:
    with pytest.raises(ShapeError, match=r"expand_dims: axes \(0, -3\) names one axis twice in rank 3\."):
        ops.expand_dims(counting(2), (0, -3))


@pytest.mark.parametrize("axes", [None, (0,), (1,), (-1,), (0, 2), (2, 0), (-4, -2, 3), ()])
@pytest.mark.parametrize("shape", [(1, 2, 1, 3), (1, 1, 1, 1), (2, 3, 4, 5), (1, 0, 1, 2)])
def test_squeeze_is_pytorchs(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> None:
    x = counting(*shape)
    tensor = torch.tensor(x)
    same(ops.squeeze(x, axes), tensor.squeeze() if axes is None else tensor.squeeze(axes))


def test_squeeze_refuses_an_axis_that_is_not_there() -> None:
    with pytest.raises(ShapeError, match=r"squeeze: axes is 2, expected -2 to 1 in a tensor of rank 2\."):
        ops.squeeze(counting(1, 2), (2,))
    with pytest.raises(ShapeError, match=r"squeeze: axes is 0, but the tensor has rank 0\."):
        ops.squeeze(counting(), (0,))


@pytest.mark.parametrize(
    ("old", "shape", "new"),
    [
        ((2, 6), (3, 4), (3, 4)),
        ((2, 6), (0, -1), (2, 6)),
        ((2, 6), (-1, 0), (2, 6)),
        ((2, 6), (0, 2, 3), None),  # the 0 stands before the axes of x: it is 1
        ((2, 50), (1, 0, -1, 0), (1, 1, 2, 50)),
        ((2, 3, 4), (-1, 0), (6, 4)),
        ((6,), (-1,), (6,)),
        ((), (1, 1), (1, 1)),
        ((), (-1,), (1,)),
        ((1, 1), (), ()),
        ((0, 3), (0, 3), (0, 3)),
        ((0, 3), (-1, 3), (0, 3)),
        ((0, 3), (3, 0, 5), (3, 0, 5)),
        ((0, 3), (-1, 0, 0), None),
        ((2, 6), (-1, -1), None),
        ((2, 6), (5, -1), None),
        ((2, 6), (-2, 6), None),
        ((2, 6), (2, 5), None),
    ],
)
def test_reshape(old: tuple[int, ...], shape: tuple[int, ...], new: tuple[int, ...] | None) -> None:
    x = counting(*old, dtype=np.int32)
    if new is None:
        with pytest.raises(ShapeError, match=r"reshape: shape \("):
            ops.reshape(x, ints(*shape))
    else:
        same(ops.reshape(x, ints(*shape)), x.reshape(new))


def test_reshape_names_both_sides() -> None:
    with pytest.raises(ShapeError) as caught:
        ops.reshape(counting(2, 6), ints(2, 5))
    assert str(caught.value) == (
        "reshape: shape (2, 5) has 10 elements, x of shape (2, 6) has 12. Pass a shape with as many."
    )


def test_reshape_like_joins_pieces_of_shapes() -> None:
    x = counting(6, 30)
    references = [counting(2, 3, 4), counting(1, 5, 6)]
    same(ops.reshape_like(x, references, (0, 1), (2, 0), (False, True)), x.reshape(2, 3, 5, 6))
    with pytest.raises(ShapeError, match=r"give shape \(2, 3\) with 6 elements, x of shape \(6, 30\) has 180"):
        ops.reshape_like(x, references[:1], (0,), (2,), (False,))
    with pytest.raises(ShapeError, match=r"have lengths \(2, 1, 1, 1\)"):
        ops.reshape_like(x, references, (0,), (2,), (False,))


@pytest.mark.parametrize("perm", [(0, 1, 2), (2, 0, 1), (-1, 0, 1), (1, -3, -1)])
def test_transpose_is_pytorchs(perm: tuple[int, ...]) -> None:
    x = counting(2, 0 if perm[0] == 1 else 3, 4, dtype=np.int32)
    same(ops.transpose(x, perm), torch.tensor(x).permute(perm))


def test_transpose_refuses_what_is_no_permutation() -> None:
    with pytest.raises(ShapeError, match=r"perm \(0, 0, 1\) names one axis twice"):
        ops.transpose(counting(2, 3, 4), (0, 0, 1))
    with pytest.raises(ShapeError, match=r"perm \(1, 0\) has 2 axes, x of shape \(2, 3, 4\) has 3"):
        ops.transpose(counting(2, 3, 4), (1, 0))


@pytest.mark.parametrize("axes", [None, (), (0,), (-1,), (0, 2), (-1, 1, 0)])
def test_reverse_is_pytorchs_flip(axes: tuple[int, ...] | None) -> None:
    x = counting(2, 3, 4)
    same(ops.reverse(x, axes), torch.tensor(x).flip((0, 1, 2) if axes is None else axes))
    same(ops.reverse(counting()), counting())


@pytest.mark.parametrize(("seq_axis", "batch_axis"), [(0, 1), (1, 0), (2, 0), (-1, -2), (0, 2)])
def test_reverse_sequence_follows_its_definition(seq_axis: int, batch_axis: int) -> None:
    x = counting(4, 3, 5)
    size, count = x.shape[seq_axis], x.shape[batch_axis]
    lengths = ints(*(i % (size + 1) for i in range(1, 2 * count, 2)))
    expected = x.copy()
    for i, length in enumerate(lengths):
        source, target = (
            np.moveaxis(x, (batch_axis, seq_axis), (0, 1)),
            np.moveaxis(expected, (batch_axis, seq_axis), (0, 1)),
        )
        for j in range(length):
            target[i, j] = source[i, length - 1 - j]
    same(ops.reverse_sequence(x, lengths, seq_axis, batch_axis), expected)


def test_reverse_sequence_refuses_wrong_lengths() -> None:
    with pytest.raises(IndexingError, match="length 4 is not in 0 to 3"):
        ops.reverse_sequence(counting(2, 3), ints(1, 4), 1, 0)
    with pytest.raises(ShapeError, match=r"lengths has shape \(3,\), expected \(2,\)"):
        ops.reverse_sequence(counting(2, 3), ints(1, 1, 1), 1, 0)
    with pytest.raises(ShapeError, match="names one axis twice"):
        ops.reverse_sequence(counting(2, 3), ints(1, 1))


ENDS = (None, -9, -4, -3, -1, 0, 1, 2, 4, 9)


@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2, None])
def test_slices_are_pythons(stride: int | None) -> None:
    """All ends and masks on an axis of size 4, against Python's slices; None stands for a mask."""
    x = counting(2, 4, dtype=np.int32)
    for first, last in product(ENDS, ENDS):
        found = ops.slice_by_index(
            x,
            ints(0, 7 if first is None else first),
            ints(2, 7 if last is None else last),
            None if stride is None else (1, stride),
            (False, first is None),
            (True, last is None),
        )
        same(found, np.array([row.tolist()[first:last:stride] for row in x], dtype=np.int32).reshape(2, -1))


@pytest.mark.parametrize("squeezed", list(product((False, True), repeat=3)))
def test_all_masks(squeezed: tuple[bool, ...]) -> None:
    """Every combination of the three masks on three axes, each with its own begin, end and stride."""
    x = counting(3, 4, 5)
    begin, end, stride = (1, -3, -1), (3, 4, 1), (2, 1, -2)
    for begin_mask, end_mask in product(product((False, True), repeat=3), repeat=2):
        expected = x[
            tuple(
                (0 if b else first) if s else slice(None if b else first, None if e else last, step)
                for s, b, e, first, last, step in zip(squeezed, begin_mask, end_mask, begin, end, stride, strict=True)
            )
        ]
        same(ops.slice_by_index(x, ints(*begin), ints(*end), stride, begin_mask, end_mask, squeezed), expected)


def test_last_element_by_a_negative_begin() -> None:
    """The last element is -1 with end_mask; every narrow of every axis is PyTorch's."""
    x = counting(2, 3, 4)
    last = ops.slice_by_index(x, ints(0, 0, -1), ints(0, 0, 0), None, (True, True, False), (True, True, True))
    assert last.shape == (2, 3, 1)
    assert last.ravel().tolist() == [3, 7, 11, 15, 19, 23]
    for axis, size in enumerate(x.shape):
        for start in range(-size, size):
            for length in range(size - start % size + 1):
                begin, count = [0, 0, 0], [-1, -1, -1]
                begin[axis], count[axis] = start, length
                same(ops.slice_by_size(x, ints(*begin), ints(*count)), torch.tensor(x).narrow(axis, start, length))


def test_slices_out_of_range() -> None:
    x = counting(2, 3)
    with pytest.raises(IndexingError, match="slice_by_index: index 3 is out of range for axis 1 of size 3"):
        ops.slice_by_index(x, ints(0, 3), ints(2, 3), None, None, None, (False, True))
    with pytest.raises(
        IndexingError, match="slice_by_size: 3 elements from 1 on are out of range for axis 1 of size 3"
    ):
        ops.slice_by_size(x, ints(0, 1), ints(-1, 3))
    with pytest.raises(IndexingError, match="slice_by_size: -1 elements from 4 on"):
        ops.slice_by_size(x, ints(0, 4), ints(-1, -1))
    with pytest.raises(ShapeError, match=r"slice_by_index: end has 1 entries, x of shape \(2, 3\) has rank 2"):
        ops.slice_by_index(x, ints(0, 0), ints(1))
    with pytest.raises(ShapeError, match="slice_by_size: begin and size have 2 and 1 entries"):
        ops.slice_by_size(x, ints(0, 0), ints(1))
    with pytest.raises(ShapeError, match=r"stride \(0, 1\) has a 0"):
        ops.slice_by_index(x, ints(0, 0), ints(1, 1), (0, 1))


@pytest.mark.parametrize(
    "key",
    [
        (slice(1, 3), slice(None), slice(0, 5, 2)),
        (slice(None), slice(3, 0, -2), slice(-2, None)),
        (0, slice(1, 2), slice(None)),
        (slice(0, 3, 2), -1, slice(None, None, -1)),
        (slice(2, 2), slice(None), slice(None)),
    ],
)
def test_slice_update_writes_the_slice_and_nothing_else(key: tuple[Any, ...]) -> None:
    x = counting(3, 4, 5)
    expected = x.copy()
    update = -1 - counting(*x[key].shape)
    expected[key] = update
    marks = [part if isinstance(part, slice) else slice(part, 0) for part in key]
    found = ops.slice_update(
        x,
        update,
        ints(*(part.start or 0 for part in marks)),
        ints(*(part.stop or 0 for part in marks)),
        tuple(part.step or 1 for part in marks),
        tuple(part.start is None for part in marks),
        tuple(part.stop is None for part in marks),
        tuple(not isinstance(part, slice) for part in key),
    )
    same(found, expected)
    same(x, counting(3, 4, 5))


def test_slice_update_never_broadcasts() -> None:
    state = counting(1, 4)
    with pytest.raises(ShapeError) as caught:
        ops.slice_update(state, counting(3, 4), ints(0, 0), ints(1, 4))
    assert str(caught.value) == (
        "slice_update: update has shape (3, 4), expected (1, 4) = the slice of x of shape (1, 4). "
        "Reshape the update or choose another slice."
    )
    with pytest.raises(ShapeError, match=r"update has shape \(1, 1\), expected \(1, 4\)"):
        ops.slice_update(state, counting(1, 1), ints(0, 0), ints(1, 4))
    with pytest.raises(ShapeError, match="update has rank 0"):
        ops.slice_update(state, counting(), ints(0, 0), ints(1, 4), squeeze_mask=(True, True))


@pytest.mark.parametrize(("axis", "size", "stride"), [(0, 2, 1), (1, 3, 2), (-1, 1, 3), (2, 5, 1), (-2, 4, 1)])
def test_sliding_windows_are_pytorchs_unfold(axis: int, size: int, stride: int) -> None:
    x = counting(3, 4, 5)
    place = axis % 3
    same(ops.sliding_windows(x, axis, size, stride), torch.tensor(x).unfold(axis, size, stride).movedim(-1, place + 1))


@pytest.mark.parametrize(("size", "stride"), [(6, 1), (0, 1), (2, 0)])
def test_sliding_windows_refuse_what_does_not_fit(size: int, stride: int) -> None:
    with pytest.raises(ShapeError, match=f"size {size} and stride {stride} do not fit axis -1 of size 5"):
        ops.sliding_windows(counting(3, 5), -1, size, stride)


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_pixel_shuffles_are_pytorchs(factor: int) -> None:
    x = counting(2, 2 * factor**2, 3, 5)
    grown = torch.nn.functional.pixel_shuffle(torch.tensor(x), factor)
    same(ops.pixel_shuffle(x, factor), grown)
    same(ops.pixel_unshuffle(grown.numpy(), factor), x)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_follows_its_definition(block: int) -> None:
    x = counting(2, 2 * block**2, 3, 5)
    grown = np.zeros((2, 2, 3 * block, 5 * block), np.float32)
    for c, h, w, i, j in product(range(2), range(3), range(5), range(block), range(block)):
        grown[:, c, h * block + i, w * block + j] = x[:, (i * block + j) * 2 + c, h, w]
    same(ops.depth_to_space(x, block), grown)
    same(ops.space_to_depth(grown, block), x)


@pytest.mark.parametrize("pads", [((0, 0), (0, 0)), ((1, 0), (0, 2)), ((2, 1), (3, 1))])
@pytest.mark.parametrize("block", [(1, 1), (2, 2), (2, 3), (3, 1)])
def test_space_to_batch_follows_its_definition(block: tuple[int, int], pads: tuple[tuple[int, int], ...]) -> None:
    b0, b1 = block
    h, w = 6 * b0 - sum(pads[0]), 6 * b1 - sum(pads[1])
    x = 1 + counting(2, 3, h, w)
    padded = np.pad(x, ((0, 0), (0, 0), *pads))
    expected = np.zeros((2 * b0 * b1, 3, 6, 6), np.float32)
    for i, j, m, row, column in product(range(b0), range(b1), range(2), range(6), range(6)):
        expected[(i * b1 + j) * 2 + m, :, row, column] = padded[m, :, row * b0 + i, column * b1 + j]
    same(ops.space_to_batch(x, block, np.array(pads, np.int32)), expected)
    same(ops.batch_to_space(expected, block, np.array(pads, np.int32)), x)


def test_blocks_that_leave_a_rest_are_refused() -> None:
    flat = np.zeros((2, 2), np.int32)
    with pytest.raises(ShapeError, match="depth_to_space: C = 6 of x is not a multiple of 4"):
        ops.depth_to_space(counting(1, 6, 2, 2), 2)
    with pytest.raises(ShapeError, match="space_to_depth: H = 3 of x is not a multiple of 2"):
        ops.space_to_depth(counting(1, 1, 3, 2), 2)
    with pytest.raises(ShapeError, match="pixel_unshuffle: W = 3 of x is not a multiple of 2"):
        ops.pixel_unshuffle(counting(1, 1, 2, 3), 2)
    with pytest.raises(ShapeError, match=r"pixel_shuffle: x has shape \(4, 2, 2\), expected rank 4"):
        ops.pixel_shuffle(counting(4, 2, 2), 2)
    with pytest.raises(ShapeError, match="space_to_batch: H = 3 of x is not a multiple of 2"):
        ops.space_to_batch(counting(1, 1, 3, 2), (2, 2), flat)
    with pytest.raises(
        ShapeError, match=r"batch_to_space: x of shape \(3, 1, 2, 2\) cannot be laid out in blocks of \(2, 2\)"
    ):
        ops.batch_to_space(counting(3, 1, 2, 2), (2, 2), flat)
    with pytest.raises(ShapeError, match=r"crops \[\[3, 2\], \[0, 0\]\]"):
        ops.batch_to_space(counting(4, 1, 2, 2), (2, 2), np.array([[3, 2], [0, 0]], np.int32))
    with pytest.raises(ShapeError, match=r"paddings .* has a negative entry"):
        ops.space_to_batch(counting(1, 1, 2, 2), (2, 2), flat - 1)
    with pytest.raises(ShapeError, match="block_shape has 1 entries"):
        ops.space_to_batch(counting(1, 1, 2, 2), (2,), flat)


@pytest.mark.parametrize("dtype", [np.float16, np.int32, np.int8, np.uint16, np.bool_])
def test_every_dtype_passes_as_it_is(dtype: type) -> None:
    x = np.array([[0, 1], [1, 0]], dtype)
    calls = {
        "transpose": {"perm": (1, 0)},
        "reverse": {},
        "reshape": {"shape": ints(4)},
        "slice_by_index": {"begin": ints(0, 1), "end": ints(2, 2)},
        "slice_update": {"update": x[:, :1], "begin": ints(0, 1), "end": ints(2, 2)},
        "sliding_windows": {"axis": 0, "size": 2},
    }
    for name, arguments in calls.items():
        record = ops.find(name)
        (found,) = execute(record, record.bind(x=x, **arguments))
        assert found.dtype == dtype
