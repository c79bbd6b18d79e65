"""Reading and writing by index: against PyTorch, and loops that follow the definitions."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from lucid import ops
from lucid.errors import DTypeError, IndexingError, ShapeError

MODES = ("update", "add", "sub", "mul", "div", "max", "min")


def ints(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def combined(mode: str, old: Any, new: Any) -> Any:
    if mode == "div" and old.dtype.kind == "i":
        return old // new
    return {
        "update": lambda: new,
        "add": lambda: old + new,
        "sub": lambda: old - new,
        "mul": lambda: old * new,
        "div": lambda: old / new,
        "max": lambda: np.maximum(old, new),
        "min": lambda: np.minimum(old, new),
    }[mode]()


def test_a_scalar_index_counts_from_the_back() -> None:
    found = ops.gather(ints([10, 20, 30]), ints(-1))
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype, int(found)) == ((), np.int32, 30)
    assert ops.gather(ints([10, 20]), ints(-1)).tolist() == 20  # an axis of up to 8, 2 long in this call
    assert ops.gather(ints([10, 20, 30]), ints([-3, 2, -1])).tolist() == [10, 30, 30]
    assert ops.gather_along_axis(ints([10, 20, 30]), ints([-3, -1])).tolist() == [10, 30]
    assert ops.gather_nd(ints([10, 20, 30]), ints([[-1], [-3]])).tolist() == [30, 10]
    assert ops.scatter(ints([0, 0, 0]), ints([-1]), ints([5]), mode="update").tolist() == [0, 0, 5]
    assert ops.scatter_along_axis(ints([0, 0, 0]), ints([-3]), ints([5])).tolist() == [5, 0, 0]
    assert ops.scatter_nd(ints([0, 0, 0]), ints([[-1]]), ints([5])).tolist() == [0, 0, 5]


def test_integers_stay_exact() -> None:
    x = ints([[70000, 40000, -40000, 2147483647]])
    assert ops.gather(x, ints([0, 1, 2, 3]), axis=1).tolist() == [[70000, 40000, -40000, 2147483647]]
    assert ops.scatter(ints([16777217]), ints([0]), ints([2])).tolist() == [16777219]


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_out_of_range_is_named_with_its_size(index: int) -> None:
    data, wrong = ints([10, 20, 30]), ints([0, index])
    message = f"index {index} is out of range, expected -3 to 2 for size 3"
    with pytest.raises(IndexingError, match=f"gather: {message}"):
        ops.gather(data, wrong)
    with pytest.raises(IndexingError, match=f"gather: {message}"):
        ops.gather(ints([[1, 2, 3]]), wrong[None], axis=1, batch_dims=1)
    with pytest.raises(IndexingError, match=f"gather_along_axis: {message}"):
        ops.gather_along_axis(data, wrong)
    with pytest.raises(IndexingError, match=f"gather_nd: {message}"):
        ops.gather_nd(np.zeros((2, 3), np.float32), ints([[0, 0], [1, index]]))
    for mode in MODES:
        with pytest.raises(IndexingError, match=f"scatter: {message}"):
            ops.scatter(data, wrong, ints([1, 1]), mode=mode)
        with pytest.raises(IndexingError, match=f"scatter_along_axis: {message}"):
            ops.scatter_along_axis(data, wrong, ints([1, 1]), mode=mode)
        with pytest.raises(IndexingError, match=f"scatter_nd: {message}"):
            ops.scatter_nd(data, wrong[:, None], ints([1, 1]), mode=mode)
    assert data.tolist() == [10, 20, 30]


def test_validated_indices_are_not_negative() -> None:
    data, negative = ints([10, 20, 30]), ints([-1])
    message = "index -1 is out of range, expected 0 to 2 for size 3"
    with pytest.raises(IndexingError, match=f"gather: {message}"):
        ops.gather(data, negative, validate_indices=True)
    with pytest.raises(IndexingError, match=f"gather_along_axis: {message}"):
        ops.gather_along_axis(data, negative, validate_indices=True)
    with pytest.raises(IndexingError, match=f"gather_nd: {message}"):
        ops.gather_nd(data, negative[None], validate_indices=True)
    with pytest.raises(IndexingError, match=f"scatter: {message}"):
        ops.scatter(data, negative, ints([1]), validate_indices=True)
    with pytest.raises(IndexingError, match=f"scatter_along_axis: {message}"):
        ops.scatter_along_axis(data, negative, ints([1]), validate_indices=True)
    with pytest.raises(IndexingError, match=f"scatter_nd: {message}"):
        ops.scatter_nd(data, negative[None], ints([1]), validate_indices=True)
    assert ops.gather(data, ints([2, 0]), validate_indices=True).tolist() == [30, 10]
    assert ops.gather_nd(ints([[1, 2, 3], [4, 5, 6]]), ints([[1, 2]]), validate_indices=True).tolist() == [6]


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (0,), (1, 1, 1)])
def test_gather_is_pytorchs_index_select(shape: tuple[int, ...], axis: int) -> None:
    x = normal(3, 4, 5)
    size, place = x.shape[axis], axis % 3
    indices = ints(np.random.default_rng(1).integers(-size, size, shape))
    rows = torch.tensor(x).index_select(axis, torch.tensor((indices % size).reshape(-1)))
    expected = rows.reshape(*x.shape[:place], *shape, *x.shape[place + 1 :])
    np.testing.assert_array_equal(ops.gather(x, indices, axis), expected.numpy(), strict=True)


@pytest.mark.parametrize(
    ("shape", "picked", "axis", "batch_dims"),
    [
        ((2, 5), (3,), 1, 1),
        ((2, 5), (), 1, 1),
        ((2, 3, 5), (4, 2), -1, 1),
        ((2, 3, 5, 4), (3,), 2, 2),
        ((2, 3, 5), (2,), 2, 1),
    ],
)
def test_gather_with_batch_axes(shape: tuple[int, ...], picked: tuple[int, ...], axis: int, batch_dims: int) -> None:
    x, size = normal(*shape), shape[axis]
    indices = ints(np.random.default_rng(1).integers(-size, size, (*shape[:batch_dims], *picked)))
    expected = np.empty((*shape[: axis % len(shape)], *picked, *shape[axis % len(shape) + 1 :]), np.float32)
    for entry in product(*map(range, shape[:batch_dims])):
        expected[entry] = np.take(x[entry], indices[entry], axis=axis if axis < 0 else axis - batch_dims)
    np.testing.assert_array_equal(ops.gather(x, indices, axis, batch_dims), expected, strict=True)


@pytest.mark.parametrize("axis", [-3, -1, 0, 1])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_gather_along_axis_is_numpys(axis: int, length: int) -> None:
    x = normal(3, 4, 5)
    shape = [3, 4, 5]
    shape[axis] = length
    indices = ints(np.random.default_rng(1).integers(-x.shape[axis], x.shape[axis], shape))
    expected = torch.gather(torch.tensor(x), axis, torch.tensor(indices % x.shape[axis]).long())
    np.testing.assert_array_equal(ops.gather_along_axis(x, indices, axis), expected.numpy(), strict=True)


@pytest.mark.parametrize(
    ("places", "count", "batch_dims"),
    [((4,), 1, 0), ((2, 3), 2, 0), ((), 3, 0), ((5,), 0, 0), ((3,), 1, 1), ((3, 2), 2, 1), ((3, 4), 1, 2)],
)
def test_gather_nd_follows_its_definition(places: tuple[int, ...], count: int, batch_dims: int) -> None:
    x = normal(3, 4, 5)
    sizes = x.shape[batch_dims : batch_dims + count]
    rng = np.random.default_rng(1)
    indices = np.stack([rng.integers(-s, s, places) for s in sizes], -1) if count else np.zeros((*places, 0))
    indices = indices.astype(np.int32)
    expected = np.empty((*places, *x.shape[batch_dims + count :]), np.float32)
    for place in product(*map(range, places)):
        expected[place] = x[(*place[:batch_dims], *indices[place])]
    np.testing.assert_array_equal(ops.gather_nd(x, indices, batch_dims), expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("mode", MODES)
def test_scatters_follow_their_definition(mode: str, dtype: type) -> None:
    """One update after the other in row-major order, with indices that repeat and are negative."""
    rng = np.random.default_rng(3)
    data = rng.integers(-9, 9, (3, 4, 2)).astype(dtype)

    for axis in (-3, -2, 1, 2):
        size, place = data.shape[axis], axis % 3
        indices = ints(rng.integers(-size, size, 5))
        updates = rng.integers(1, 5, (*data.shape[:place], 5, *data.shape[place + 1 :])).astype(dtype)
        expected = data.copy()
        for i, index in enumerate(indices):
            target, value = np.moveaxis(expected, axis, 0), np.moveaxis(updates, axis, 0)[i]
            target[index] = combined(mode, target[index], value)
        np.testing.assert_allclose(ops.scatter(data, indices, updates, axis, mode), expected, rtol=1e-6, strict=True)

        shape = list(data.shape)
        shape[axis] = 3
        indices, updates = ints(rng.integers(-size, size, shape)), rng.integers(1, 5, shape).astype(dtype)
        expected = data.copy()
        for where in product(*map(range, shape)):
            key = (*where[:place], indices[where], *where[place + 1 :])
            expected[key] = combined(mode, expected[key], updates[where])
        found = ops.scatter_along_axis(data, indices, updates, axis, mode)
        np.testing.assert_allclose(found, expected, rtol=1e-6, strict=True)

    for count in (0, 1, 2, 3):
        indices = ints(np.stack([rng.integers(-s, s, 6) for s in data.shape[:count]], -1)) if count else ints([[]] * 2)
        updates = rng.integers(1, 5, (len(indices), *data.shape[count:])).astype(dtype)
        expected = data.copy()
        for coordinates, value in zip(indices, updates, strict=True):
            expected[tuple(coordinates)] = combined(mode, expected[tuple(coordinates)], value)
        np.testing.assert_allclose(ops.scatter_nd(data, indices, updates, mode), expected, rtol=1e-6, strict=True)


@pytest.mark.parametrize(("mode", "reduce"), [("add", "sum"), ("mul", "prod"), ("max", "amax"), ("min", "amin")])
def test_scatter_along_axis_is_pytorchs_scatter_reduce(mode: str, reduce: str) -> None:
    data, updates = normal(4, 3), normal(6, 3)
    indices = np.random.default_rng(0).integers(0, 4, (6, 3))
    expected = torch.tensor(data).scatter_reduce(0, torch.tensor(indices), torch.tensor(updates), reduce)
    found = ops.scatter_along_axis(data, ints(indices), updates, 0, mode)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


def test_the_default_mode_accumulates() -> None:
    zeros, updates = np.zeros(3, np.float32), np.array([1, 2, 3], np.float32)
    for found in (
        ops.scatter(zeros, ints([0, 0, 0]), updates),
        ops.scatter_along_axis(zeros, ints([0, 0, 0]), updates),
        ops.scatter_nd(zeros, ints([[0], [0], [0]]), updates),
    ):
        assert (1 + found).tolist() == [7.0, 1.0, 1.0]
    assert zeros.tolist() == [0.0, 0.0, 0.0]


def test_nothing_to_scatter() -> None:
    data = normal(3, 2)
    np.testing.assert_array_equal(ops.scatter(data, ints([]), normal(0, 2)), data)
    np.testing.assert_array_equal(ops.scatter_nd(data, np.zeros((0, 1), np.int32), normal(0, 2)), data)


def test_integer_division_by_zero_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ops.scatter(ints([7, -7]), ints([0, 1]), ints([0, 2]), mode="div").tolist() == [0, -4]


def test_shapes_that_would_broadcast_are_refused() -> None:
    data = normal(3, 2)
    with pytest.raises(ShapeError, match=r"scatter: updates have shape \(1, 2\), expected \(2, 2\)"):
        ops.scatter(data, ints([0, 1]), normal(1, 2))
    with pytest.raises(ShapeError, match=r"scatter_nd: updates have shape \(2,\), expected \(1, 2\)"):
        ops.scatter_nd(data, ints([[0]]), normal(2))
    with pytest.raises(ShapeError, match=r"scatter_along_axis: indices have shape \(1, 1\), the tensor has \(3, 2\)"):
        ops.scatter_along_axis(data, ints([[0]]), normal(1, 1))
    with pytest.raises(ShapeError, match=r"scatter_along_axis: updates have shape \(1, 1\), expected \(1, 2\)"):
        ops.scatter_along_axis(data, ints([[0, 1]]), normal(1, 1))
    with pytest.raises(ShapeError, match="gather_along_axis: indices have shape"):
        ops.gather_along_axis(data, ints([[0]]), 0)
    with pytest.raises(ShapeError, match="gather: batch_dims 1 does not fit"):
        ops.gather(data, ints([[0], [1]]), 1, 1)
    with pytest.raises(ShapeError, match=r"gather_nd: indices of shape .* name more axes"):
        ops.gather_nd(data, ints([[0, 0, 0]]))
    with pytest.raises(ShapeError, match=r"scatter_nd: indices are .* Pass 2 coordinates or fewer"):
        ops.scatter_nd(data, ints([[0, 0, 0]]), normal(1))
    with pytest.raises(ShapeError, match=r"scatter: mode is 'sum'\. Choose one of update, add"):
        ops.scatter(data, ints([0]), normal(1, 2), mode="sum")
    with pytest.raises(ShapeError, match="gather: axis is 2, expected -2 to 1"):
        ops.gather(data, ints([0]), 2)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_indices_are_integers(dtype: type) -> None:
    data, wrong = ints([10, 20, 30]), np.array([1, 0, 1], dtype)
    calls = {
        "gather": (data, wrong),
        "gather_along_axis": (data, wrong),
        "gather_nd": (data, wrong[:1]),
        "scatter": (data, wrong, data),
        "scatter_along_axis": (data, wrong, data),
        "scatter_nd": (data, wrong[:1], ints(1)),
    }
    for name, arguments in calls.items():
        with pytest.raises(DTypeError) as caught:
            ops.find(name)(*arguments)
        assert str(caught.value) == f"{name}: indices are {wrong.dtype}, expected integers. Cast them to int32."


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_narrow_indices(dtype: type) -> None:
    assert ops.gather(ints([10, 20, 30]), np.array([2, 0], dtype)).tolist() == [30, 10]
    with pytest.raises(IndexingError, match="gather: index 100 is out of range"):
        ops.gather(np.zeros(100, np.float32), np.array([100], dtype))
