"""Operations that make, join, divide, order and count, against PyTorch and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lucid.errors import DTypeError, LucidError, ShapeError, UsageError
from lucid.ops import registry
from lucid.ops.execution import execute

INF, NAN = float("inf"), float("nan")
DTYPES = [np.float32, np.float16, np.int32, np.bool_]
SHAPES = [(5,), (1,), (2, 3), (2, 3, 4), (2, 1, 3, 2), (2, 3, 1, 2, 2), (0,), (2, 0, 3)]


def every(name: str, **inputs: Any) -> tuple[np.ndarray, ...]:
    record = registry[name]
    outputs = execute(record, record.bind(**inputs))
    assert all(isinstance(output, np.ndarray) for output in outputs)
    return outputs


def run(name: str, **inputs: Any) -> np.ndarray:
    (output,) = every(name, **inputs)
    return output


def integers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def values(shape: tuple[int, ...], dtype: type = np.float32, seed: int = 0, most: int = 6) -> np.ndarray:
    """Return whole numbers with many ties, which all dtypes hold."""
    return np.random.default_rng(seed).integers(-most, most, shape).astype(dtype)


def same(output: np.ndarray, expected: Any, dtype: Any = None) -> None:
    expected = np.asarray(expected)
    assert output.dtype == (expected.dtype if dtype is None else dtype)
    assert output.shape == expected.shape
    np.testing.assert_array_equal(output, expected)


# -- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[:3])
def test_argsort_and_topk(dtype: type, ascending: bool) -> None:
    for shape in SHAPES:
        x = values(shape, dtype)
        for axis in range(-len(shape), len(shape)):
            found = torch.sort(torch.tensor(x), dim=axis, descending=not ascending, stable=True)
            places = found.indices.numpy().astype(np.int32)
            same(run("argsort", x=x, axis=axis, ascending=ascending), places)
            size = x.shape[axis]
            for k in {-1, 0, min(1, size), size // 2, size}:
                kept = np.arange(size if k == -1 else k)
                expected = [np.take(array, kept, axis) for array in (found.values.numpy(), places)]
                outputs = every("topk", x=x, k=k, axis=axis, ascending=ascending)
                same(outputs[0], expected[0], dtype)
                same(outputs[1], expected[1])
                same(run("topk", x=x, k=k, axis=axis, ascending=ascending, return_indices=False), expected[0], dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_order_of_special_floats(dtype: type) -> None:
    x = np.array([1, NAN, -INF, 0.0, INF, -0.0, NAN], dtype)
    assert run("argsort", x=x, ascending=True).tolist() == [2, 3, 5, 0, 4, 1, 6]
    assert run("argsort", x=x).tolist() == [1, 6, 4, 0, 3, 5, 2]
    assert every("topk", x=x, k=1)[1].tolist() == [1]
    assert every("topk", x=x, k=1, ascending=True)[1].tolist() == [2]
    assert every("topk", x=x, k=3)[1].tolist() == [1, 6, 4]


def test_order_of_extreme_integers() -> None:
    x = integers(-(2**31), 2**31 - 1, 0, -(2**31))
    assert run("argsort", x=x).tolist() == [1, 2, 0, 3]
    assert run("argsort", x=x, ascending=True).tolist() == [0, 3, 2, 1]
    close = integers(2**24 + 1, 2**24, 2**24 + 2)
    assert every("topk", x=close, k=2)[0].tolist() == [2**24 + 2, 2**24 + 1]


def test_topk_says_its_dtype() -> None:
    outputs = every("topk", x=values((2, 5)), k=2, output_indices_dtype="uint16", sort=False)
    assert [output.dtype for output in outputs] == [np.float32, np.uint16]
    with pytest.raises(ShapeError, match="k is 6, expected -1 to 5 = the size of axis 1"):
        every("topk", x=values((2, 5)), k=6)
    with pytest.raises(ShapeError, match="k is -2"):
        every("topk", x=values((2, 5)), k=-2)
    for wrong in ({"output_indices_dtype": "int64"}, {"output_indices_dtype": "int32", "return_indices": False}):
        with pytest.raises(DTypeError, match="expected int32 or uint16, and only with return_indices"):
            every("topk", x=values((2, 5)), **wrong)


# -- sums and bands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES[:3])
def test_cumsum(dtype: type) -> None:
    for shape in SHAPES:
        x = values(shape, dtype)
        for axis in range(-len(shape), len(shape)):
            inclusive = np.cumsum(x.astype(np.int64), axis)
            total = np.sum(x.astype(np.int64), axis, keepdims=True)
            same(run("cumsum", x=x, axis=axis), inclusive, dtype)
            same(run("cumsum", x=x, axis=axis, exclusive=True), inclusive - x, dtype)
            same(run("cumsum", x=x, axis=axis, reverse=True), total - inclusive + x, dtype)
            same(run("cumsum", x=x, axis=axis, exclusive=True, reverse=True), total - inclusive, dtype)


def test_cumsum_keeps_what_is_left_out_out() -> None:
    x = np.float32([1, INF, 1])
    assert run("cumsum", x=x, exclusive=True).tolist() == [0, 1, INF]
    assert run("cumsum", x=np.full(4096, 1, np.float16))[-1] == 4096
    assert run("cumsum", x=integers(2**31 - 1, 1, 1)).tolist() == [2**31 - 1, -(2**31), -(2**31) + 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (1, 2, 5, 3), (1, 1), (0, 3), (3, 0)], ids=str)
def test_band_part(shape: tuple[int, ...], dtype: type) -> None:
    x = values(shape, dtype)
    for lower in (-1, 0, 1, 2, 9):
        for upper in (-1, 0, 1, 2, 9):
            expected = x if lower < 0 else np.triu(x, -lower)
            expected = expected if upper < 0 else np.tril(expected, upper)
            same(run("band_part", x=x, lower=lower, upper=upper), expected, dtype)
    same(run("band_part", x=x), x)


def test_band_part_drops_what_is_not_finite() -> None:
    x = np.full((3, 3), NAN, np.float16)
    x[0] = INF
    same(np.isfinite(run("band_part", x=x, lower=0, upper=0)), ~np.eye(3, dtype=bool))
    with pytest.raises(ShapeError, match=r"x of shape \(3,\) has rank 1, expected 2 or more"):
        run("band_part", x=x[0])


# -- making -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 1, 2, 1, 2)], ids=str)
def test_fill(shape: tuple[int, ...], dtype: type) -> None:
    value = np.array(1, dtype)
    same(run("fill", shape=integers(*shape), value=value), np.full(shape, value))
    for reference in DTYPES:
        same(run("fill_like", ref_tensor=np.zeros(shape, reference), value=value), np.full(shape, value))
        same(run("fill_like", ref_tensor=np.ones(shape, reference)), np.zeros(shape, np.float32))
    same(run("fill", shape=integers(*shape)), np.zeros(shape, np.float32))


def test_fill_of_a_negative_size() -> None:
    with pytest.raises(ShapeError, match=r"shape is \(2, -1\), expected no size below 0"):
        run("fill", shape=integers(2, -1))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0), (1, 2, 1, 2)], ids=str)
def test_one_hot(shape: tuple[int, ...]) -> None:
    indices = np.random.default_rng(0).integers(0, 4, shape).astype(np.int32)
    plain = F.one_hot(torch.tensor(indices).long(), 4).numpy()
    rank = len(shape)
    for axis in range(-rank - 1, rank + 1):
        expected = np.moveaxis(plain, -1, axis)
        same(run("one_hot", indices=indices, one_hot_vector_size=np.array(4, np.int32), axis=axis), expected, np.int32)
        for dtype in DTYPES:
            on, off = np.array(1, dtype), np.array(0, dtype)
            output = run("one_hot", indices=indices, one_hot_vector_size=4, axis=axis, on_value=on, off_value=off)
            same(output, expected.astype(dtype))
    assert run("one_hot", indices=indices, one_hot_vector_size=0).shape == (*shape, 0)


def test_one_hot_outside() -> None:
    output = run("one_hot", indices=integers(-1, 0, 3, 2**31 - 1, -(2**31)), one_hot_vector_size=3)
    assert output.sum(axis=1).tolist() == [0, 1, 0, 0, 0]
    with pytest.raises(ShapeError, match="one_hot_vector_size is -1"):
        run("one_hot", indices=integers(0), one_hot_vector_size=-1)
    with pytest.raises(ShapeError, match="axis is 2, expected -2 to 1"):
        run("one_hot", indices=integers(0), one_hot_vector_size=1, axis=2)
    with pytest.raises(DTypeError, match="on_value is float32, off_value is int32"):
        run("one_hot", indices=integers(0), one_hot_vector_size=1, on_value=np.float32(1))


@pytest.mark.parametrize("dtype", DTYPES[:3])
@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, 5, 1), (5, 0, -1), (-3, 8, 4), (2, 2, 1), (0, 5, -1), (7, -8, -3), (0, 1, 9)]
)
def test_range(start: int, end: int, step: int, dtype: type) -> None:
    ends = {name: np.array(number, dtype) for name, number in (("start", start), ("end", end), ("step", step))}
    same(run("range_1d", **ends), np.array(range(start, end, step)), dtype)


def test_range_of_fractions() -> None:
    for dtype in (np.float32, np.float16):
        start, end, step = dtype(-0.3), dtype(2), dtype(0.1)
        exact = float(start) + np.arange(np.ceil((float(end) - float(start)) / float(step))) * float(step)
        same(run("range_1d", start=start, end=end, step=step), exact.astype(dtype))
    many = run("range_1d", start=np.float32(0), end=np.float32(1e5), step=np.float32(0.1))
    assert abs(float(many[-1]) - 1e5) < 0.2
    ends = run("range_1d", start=integers(2**31 - 3)[0], end=integers(2**31 - 1)[0], step=integers(1)[0])
    assert ends.tolist() == [2**31 - 3, 2**31 - 2]
    wide = run("range_1d", start=np.int32(-(2**31)), end=np.int32(2**31 - 1), step=np.int32(2**30))
    assert wide.tolist() == [-(2**31), -(2**30), 0, 2**30]


@pytest.mark.parametrize(("end", "step"), [(5.0, 0.0), (INF, 1.0), (NAN, 1.0), (1.0, NAN)])
def test_range_without_an_end(end: float, step: float) -> None:
    with pytest.raises(ShapeError, match="expected finite numbers and a step that is not 0"):
        run("range_1d", start=np.float32(0), end=np.float32(end), step=np.float32(step))


def test_range_of_two_dtypes() -> None:
    with pytest.raises(DTypeError, match="dtypes are float32, int32, float32"):
        run("range_1d", start=np.float32(0), end=np.int32(3), step=np.float32(1))


# -- counting and looking ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [*SHAPES, ()], ids=str)
def test_non_zero_shape_identity(shape: tuple[int, ...], dtype: type) -> None:
    x = values(shape, dtype, most=2)
    same(run("non_zero", x=x), torch.nonzero(torch.tensor(x)).numpy(), np.int32)
    same(run("shape", x=x), integers(*shape))
    output = run("identity", x=x)
    same(output, x)
    assert output is not x


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 3, 2), (5, 5, 2, 1), (1, 2, 3, 4, 5), (2, 0, 3)], ids=str)
def test_flatten2d(shape: tuple[int, ...]) -> None:
    x = values(shape)
    for axis in range(-len(shape), len(shape) + 1):
        at = axis % len(shape) if axis < len(shape) else axis
        expected = x.reshape(int(np.prod(shape[:at])), int(np.prod(shape[at:])))
        same(run("flatten2d", x=x, axis=axis), expected)
    with pytest.raises(ShapeError, match="flatten2d: axis is 9"):
        run("flatten2d", x=x, axis=9)


def test_flatten2d_of_the_definition() -> None:
    cases = [
        ((3,), -1, (1, 3)),
        ((3,), 1, (3, 1)),
        ((4, 3), -1, (4, 3)),
        ((2, 3, 2), -1, (6, 2)),
        ((5, 5, 2), 1, (5, 10)),
    ]
    for shape, axis, expected in cases:
        assert run("flatten2d", x=values(shape), axis=axis).shape == expected


# -- padding and tiling -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_pad(mode: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    for shape in [(5,), (3, 4), (2, 3, 4), (2, 3, 2, 4), (2, 1, 3, 2, 2)]:
        x = values(shape, dtype)
        for count in range(len(shape) + 1):
            most = [min(size - 1, 2) if mode == "reflect" else 2 for size in shape]
            pads = [(0, 0)] * (len(shape) - count) + [
                tuple(rng.integers(0, limit + 1, 2).tolist()) for limit in most[len(shape) - count :]
            ]
            flat = [number for pair in pads[len(shape) - count :] for number in pair]
            more = {"constant_values": 1} if mode == "constant" else {}
            expected = np.pad(x, pads, {"replicate": "edge"}.get(mode, mode), **more)
            same(run("pad", x=x, pad=integers(*flat), mode=mode, constant_val=1.0), expected, dtype)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
def test_pad_as_pytorch(mode: str) -> None:
    x = values((1, 2, 4, 5), most=90)
    expected = F.pad(torch.tensor(x), (4, 1, 0, 3), mode=mode).numpy()
    same(run("pad", x=x, pad=integers(0, 3, 4, 1), mode=mode), expected)


def test_pad_fills_with_what_float16_has() -> None:
    output = run("pad", x=np.zeros(1, np.float16), pad=integers(1, 0), constant_val=0.1)
    same(output, np.array([0.1, 0], np.float16))
    same(
        run("pad", x=np.zeros((0, 2), np.float32), pad=integers(1, 1, 0, 0), constant_val=-INF),
        np.full((2, 2), np.float32(-INF)),
    )
    assert run("pad", x=np.float32(3), pad=integers()).item() == 3


@pytest.mark.parametrize(
    ("pad", "mode", "error", "text"),
    [
        ((1,), "constant", ShapeError, r"pad is \(1,\), expected two counts"),
        ((1, 1, 1, 1, 1, 1), "constant", ShapeError, "up to 2 axes"),
        ((0, -1), "constant", ShapeError, r"pad is \(0, -1\)"),
        ((0, 3), "reflect", ShapeError, "0 and 3 by reflect on axis 1 of size 3, expected up to 2"),
        ((1, 0, 0, 0), "replicate", ShapeError, "1 and 0 by replicate on axis 0 of size 0, expected up to 0"),
        ((1, 1), "edge", UsageError, "mode is 'edge', expected constant, reflect or replicate"),
    ],
)
def test_pad_that_does_not_fit(pad: tuple[int, ...], mode: str, error: type[LucidError], text: str) -> None:
    with pytest.raises(error, match=text):
        run("pad", x=np.zeros((0, 3), np.float32), pad=integers(*pad), mode=mode)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_tile(shape: tuple[int, ...], dtype: type) -> None:
    x = values(shape, dtype)
    reps = [1, 2, 3, 1, 2][: len(shape)]
    same(run("tile", x=x, reps=integers(*reps)), torch.tensor(x).repeat(*reps).numpy())
    with pytest.raises(ShapeError, match="tile: reps is"):
        run("tile", x=x, reps=integers(*reps, 1))
    with pytest.raises(ShapeError, match=f"expected {len(shape)} counts above 0"):
        run("tile", x=x, reps=integers(*reps[:-1], 0))


# -- joining and dividing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_concat_stack_split(dtype: type) -> None:
    for shape in SHAPES:
        for axis in range(-len(shape), len(shape)):
            parts = []
            for seed, size in enumerate((2, 0, 3)):
                sizes = list(shape)
                sizes[axis] = size
                parts.append(values(tuple(sizes), dtype, seed))
            joined = run("concat", values=parts, axis=axis)
            same(joined, torch.cat([torch.tensor(part) for part in parts], axis).numpy())
            outputs = every("split", x=joined, axis=axis, split_sizes=(2, 0, 3))
            assert len(outputs) == 3
            for output, part in zip(outputs, parts, strict=True):
                same(output, part)

            equal = [values(shape, dtype, seed) for seed in range(3)]
            twisted = np.stack(equal, len(shape) if axis == -1 else axis % len(shape) + 1)
            wide = [3 * size if place == axis % len(shape) else size for place, size in enumerate(shape)]
            same(run("concat", values=equal, axis=axis, interleave=True), twisted.reshape(wide))
            for output, part in zip(
                every("split", x=run("concat", values=equal, axis=axis), axis=axis, num_splits=3), equal, strict=True
            ):
                same(output, part)
        for axis in range(-len(shape) - 1, len(shape) + 1):
            same(
                run("stack", values=equal, axis=axis), torch.stack([torch.tensor(part) for part in equal], axis).numpy()
            )


def test_concat_of_rank_0() -> None:
    same(run("concat", values=[np.float32(1), np.float32(2)], axis=0), np.float32([1, 2]))
    same(run("stack", values=[np.float32(1), np.float32(2)], axis=-1), np.float32([1, 2]))


def test_split_by_both() -> None:
    x = values((2, 6))
    assert [part.shape for part in every("split", x=x, axis=1, num_splits=2, split_sizes=(5, 1))] == [(2, 5), (2, 1)]
    assert [part.shape for part in every("split", x=x, axis=1, num_splits=1)] == [(2, 6)]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "num_splits is None for axis 1 of size 6"),
        ({"num_splits": 4}, "num_splits is 4 for axis 1 of size 6. Pass a number that divides"),
        ({"num_splits": 0}, "num_splits is 0"),
        ({"split_sizes": (5, 2)}, r"split_sizes \(5, 2\) \(num_splits None\) do not divide axis 1 of size 6"),
        ({"split_sizes": (7, -1)}, r"split_sizes \(7, -1\)"),
        ({"split_sizes": (3, 3), "num_splits": 3}, r"\(num_splits 3\) do not divide"),
    ],
)
def test_split_that_does_not_fit(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        every("split", x=values((2, 6)), axis=1, **arguments)


def test_joining_what_does_not_fit() -> None:
    two, three = values((2, 2)), values((2, 3))
    with pytest.raises(ShapeError, match=r"shapes \(2, 2\), \(2, 3\), expected shapes that differ in axis 0 alone"):
        run("concat", values=[two, three], axis=0)
    with pytest.raises(ShapeError, match="expected all shapes equal, since interleave is set"):
        run("concat", values=[two, three], axis=1, interleave=True)
    with pytest.raises(ShapeError, match=r"shapes \(2, 2\), \(2,\)"):
        run("concat", values=[two, two[0]], axis=0)
    with pytest.raises(ShapeError, match=r"stack: values have shapes \(2, 2\), \(2, 3\), expected all equal"):
        run("stack", values=[two, three], axis=0)
    for name in ("concat", "stack"):
        with pytest.raises(ShapeError, match=f"{name}: axis is 4"):
            run(name, values=[two, two], axis=4)
        with pytest.raises(DTypeError, match=f"{name}: values have dtypes float32, int32"):
            run(name, values=[two, two.astype(np.int32)], axis=0)
        with pytest.raises(ShapeError, match=f"{name}: no values are given"):
            run(name, values=[], axis=0)
