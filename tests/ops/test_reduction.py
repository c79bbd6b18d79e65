"""Reductions against PyTorch in float64 and Python's own integers, over every set of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

from lucid.errors import DTypeError, ShapeError
from lucid.ops import registry
from lucid.ops.execution import execute

INF, NAN = float("inf"), float("nan")
SHAPES = [(), (5,), (2, 3), (2, 3, 4), (2, 1, 3, 2), (2, 3, 1, 2, 2)]
Oracle = Callable[..., torch.Tensor]
FLOATS: dict[str, Oracle] = {
    "reduce_l1_norm": lambda x, axes, keep: x.abs().sum(axes, keep),
    "reduce_l2_norm": lambda x, axes, keep: x.square().sum(axes, keep).sqrt(),
    "reduce_log_sum": lambda x, axes, keep: x.sum(axes, keep).log(),
    "reduce_log_sum_exp": lambda x, axes, keep: torch.logsumexp(x, axes, keep),
    "reduce_max": lambda x, axes, keep: x.amax(axes, keep),
    "reduce_mean": lambda x, axes, keep: x.mean(axes, keep),
    "reduce_min": lambda x, axes, keep: x.amin(axes, keep),
    "reduce_prod": lambda x, axes, keep: x.log().sum(axes, keep).exp(),
    "reduce_sum": lambda x, axes, keep: x.sum(axes, keep),
    "reduce_sum_square": lambda x, axes, keep: x.square().sum(axes, keep),
}


def wrapped(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def truncated(top: int, bottom: int) -> int:
    return int(math.copysign(1, top)) * (abs(top) // bottom)


INTEGERS: dict[str, Callable[[list[int]], int]] = {
    "reduce_l1_norm": lambda row: wrapped(sum(map(abs, row))),
    "reduce_l2_norm": lambda row: min(math.isqrt(sum(n * n for n in row)), 2**31 - 1),
    "reduce_max": max,
    "reduce_mean": lambda row: truncated(sum(row), len(row)),
    "reduce_min": min,
    "reduce_prod": lambda row: wrapped(math.prod(row)),
    "reduce_sum": lambda row: wrapped(sum(row)),
    "reduce_sum_square": lambda row: wrapped(sum(n * n for n in row)),
}


def run(name: str, x: Any, **attributes: Any) -> np.ndarray:
    record = registry[name]
    (output,) = execute(record, record.bind(x=x, **attributes))
    assert isinstance(output, np.ndarray)
    return output


def sets_of_axes(rank: int) -> Iterator[tuple[int, ...]]:
    for count in range(1, rank + 1):
        yield from combinations(range(rank), count)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floats(name: str, dtype: type) -> None:
    for shape in SHAPES:
        x = np.asarray(np.random.default_rng(1).uniform(0.25, 2, shape)).astype(dtype)
        for axes in [None, *sets_of_axes(len(shape))]:
            for keep in (False, True):
                wide, every = torch.tensor(x).double(), tuple(range(len(shape)))
                expected = FLOATS[name](wide, every if axes is None else axes, keep).numpy()
                if axes is None and not shape:
                    expected = expected.reshape(())
                for given in (axes, axes and tuple(axis - len(shape) for axis in reversed(axes))):
                    output = run(name, x, axes=given, keep_dims=keep)
                    assert (output.dtype, output.shape) == (dtype, expected.shape)
                    np.testing.assert_allclose(output, expected, rtol=2e-6 if dtype == np.float32 else 1e-3, atol=1e-6)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    rng = np.random.default_rng(2)
    for scale in (4, 50_000, 2**31):
        x = rng.integers(-scale, scale, (7, 3, 5)).astype(np.int32)
        x[0, 0, :2] = -(2**31), 2**31 - 1
        for axes in sets_of_axes(3):
            output = run(name, x, axes=axes)
            assert output.dtype == np.int32
            rest = [axis for axis in range(3) if axis not in axes]
            rows = x.transpose(*rest, *axes).reshape(-1, math.prod(x.shape[axis] for axis in axes)).tolist()
            if name == "reduce_l1_norm":  # the absolute value of -2**31 wraps; the sum does anyhow
                rows = [[n if n != -(2**31) else 2**31 for n in row] for row in rows]
            assert output.reshape(-1).tolist() == [INTEGERS[name](row) for row in rows]


def test_integers_at_the_edge_of_a_square() -> None:
    """2**31 - 1 and its neighbours are not floats; nor do sums of their squares fit int32."""
    for number in (46340, 46341, 2**31 - 1):
        x = np.array([number, 0], np.int32)
        assert run("reduce_l2_norm", x).item() == number
    assert run("reduce_l2_norm", np.array([2, 2], np.int32)).item() == 2


def test_logarithms_of_integers() -> None:
    x = np.array([[1, 2, 5], [-5, 2, 3], [2**31 - 1, 2**31 - 1, 0]], np.int32)
    assert run("reduce_log_sum", x, axes=(1,)).tolist() == [2, -(2**31), 22]
    assert run("reduce_log_sum_exp", x, axes=(1,)).tolist() == [5, 3, 2**31 - 1]
    assert run("reduce_log_sum", x).dtype == run("reduce_log_sum_exp", x).dtype == np.int32


@pytest.mark.parametrize("name", FLOATS)
def test_no_axes_reduce_nothing(name: str) -> None:
    x = np.float32([[0.5, 2.0], [1.0, 4.0]])
    expected = {"reduce_log_sum": np.log(x), "reduce_sum_square": x * x}.get(name, x)
    for keep in (False, True):
        np.testing.assert_allclose(run(name, x, axes=(), keep_dims=keep), expected, rtol=1e-6)
    assert x.tolist() == [[0.5, 2.0], [1.0, 4.0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_neutral_elements(dtype: type) -> None:
    limits = (-(2**31), 2**31 - 1) if dtype == np.int32 else (-INF, INF)
    neutral = {
        "reduce_l1_norm": 0,
        "reduce_l2_norm": 0,
        "reduce_log_sum": limits[0],
        "reduce_log_sum_exp": limits[0],
        "reduce_max": limits[0],
        "reduce_mean": 0 if dtype == np.int32 else NAN,
        "reduce_min": limits[1],
        "reduce_prod": 1,
        "reduce_sum": 0,
        "reduce_sum_square": 0,
    }
    x = np.zeros((2, 0, 3), dtype)
    for name, value in neutral.items():
        output = run(name, x, axes=(1,), keep_dims=True)
        assert (output.dtype, output.shape) == (dtype, (2, 1, 3))
        np.testing.assert_array_equal(output, np.full((2, 1, 3), value))
        assert run(name, x, axes=(0,)).shape == (0, 3)
        np.testing.assert_array_equal(run(name, x), value)


@pytest.mark.parametrize("name", FLOATS)
def test_special_values(name: str) -> None:
    rows = np.float32(
        [[INF, 1], [-INF, 1], [INF, -INF], [NAN, INF], [-INF, -INF], [INF, INF], [0.0, -0.0], [3e38, 3e38]]
    )
    oracle = FLOATS[name] if name != "reduce_prod" else lambda x, axes, keep: x.prod(axes[0], keep)
    with np.errstate(over="ignore"):
        expected = oracle(torch.tensor(rows).double(), (1,), False).numpy().astype(np.float32)
    if name in ("reduce_l2_norm", "reduce_log_sum", "reduce_mean"):
        expected[-1] = INF  # the sum is float32's, as PyTorch's is
    np.testing.assert_allclose(run(name, rows, axes=(1,)), expected, rtol=1e-6)


def test_float16_sums_are_float32s() -> None:
    """4096 ones, then one more: float16 has no 4097, and no 2049 on the way."""
    ones = np.ones(4096, np.float16)
    assert run("reduce_sum", ones).item() == 4096.0
    assert run("reduce_mean", np.full(4096, 60000, np.float16)).item() == 60000.0
    assert run("reduce_sum", np.full(2, 60000, np.float16)).item() == INF
    assert run("reduce_l2_norm", np.full(4, 1000, np.float16)).item() == 2000.0


@pytest.mark.parametrize("name", ["reduce_argmax", "reduce_argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_places(name: str, dtype: type) -> None:
    oracle = torch.argmax if name == "reduce_argmax" else torch.argmin
    for shape in SHAPES[1:]:
        x = np.random.default_rng(3).permutation(math.prod(shape)).reshape(shape).astype(dtype)
        for axis in range(-len(shape), len(shape)):
            for keep in (False, True):
                output = run(name, x, axis=axis, keep_dims=keep)
                assert output.dtype == np.int32
                np.testing.assert_array_equal(output, oracle(torch.tensor(x), axis, keep).numpy())
                small = run(name, x, axis=axis, keep_dims=keep, output_dtype="uint16")
                assert small.dtype == np.uint16
                np.testing.assert_array_equal(small, output)
        np.testing.assert_array_equal(run(name, x), run(name, x, axis=-1))


def test_places_of_ties_and_nans() -> None:
    x = np.float32([[1, 3, 3, 1], [0, NAN, 9, NAN], [INF, INF, -INF, -INF], [0.0, -0.0, 0.0, -0.0]])
    assert run("reduce_argmax", x).tolist() == [1, 1, 0, 0]
    assert run("reduce_argmin", x).tolist() == [0, 1, 2, 0]


def test_errors() -> None:
    x = np.zeros((2, 0), np.float32)
    for name in FLOATS:
        with pytest.raises(ShapeError, match=f"{name}: axes is 2, expected -2 to 1 in a tensor of rank 2"):
            run(name, x, axes=(2,))
        with pytest.raises(ShapeError, match=rf"{name}: axes \(1, -1\) names one axis twice"):
            run(name, x, axes=(1, -1))
    with pytest.raises(ShapeError, match=r"reduce_argmax: axis 1 of x of shape \(2, 0\) is empty"):
        run("reduce_argmax", x)
    with pytest.raises(ShapeError, match="reduce_argmin: axis is -1, but the tensor has rank 0"):
        run("reduce_argmin", np.float32(1))
    with pytest.raises(DTypeError, match="output_dtype is 'int64', expected int32 or uint16"):
        run("reduce_argmax", x, axis=0, output_dtype="int64")
