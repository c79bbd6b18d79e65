"""Element-wise operations of two tensors against PyTorch and Python's own integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from lucid.ops import registry
from lucid.ops.execution import execute

INF, NAN = float("inf"), float("nan")
SHAPES = [
    ((), ()),
    ((3,), ()),
    ((2, 1), (1, 3)),
    ((2, 3, 4), (4,)),
    ((1, 2, 1, 3), (2, 2, 1, 1)),
    ((2, 1, 2, 1, 2), (1, 3, 1, 2, 1)),
    ((0, 3), (1, 3)),
    ((2, 0), (2, 1)),
]
FLOATS = [NAN, INF, -INF, 0.0, -0.0, 1.0, -2.5, 3.0, 0.5, -7.0, 65504.0, 2.0**-24, 3.0e38, -1.0e-40]
INTEGERS = [-(2**31), -(2**31) + 1, -65536, -7, -2, -1, 0, 1, 2, 7, 31, 65536, 2**31 - 1]

Function = Callable[..., torch.Tensor]
ARITHMETIC: dict[str, Function] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "real_div": torch.div,
    "floor_div": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "mod": torch.remainder,
    "pow": torch.pow,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
}
COMPARISONS: dict[str, Function] = {
    "equal": torch.eq,
    "not_equal": torch.ne,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
}
LOGICAL: dict[str, Function] = {
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
BITS = 2**32


def wrapped(number: int) -> int:
    return (number + BITS // 2) % BITS - BITS // 2


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def integer_power(x: int, y: int) -> int:
    if y >= 0:
        return pow(x, y, BITS)
    return 0 if abs(x) != 1 else x ** (-y % 2) if x < 0 else 1


ON_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "real_div": lambda x, y: truncated(x, y) if y else 0,
    "floor_div": lambda x, y: x // y if y else 0,
    "mod": lambda x, y: x % y if y else 0,
    "pow": integer_power,
    "maximum": max,
    "minimum": min,
}


def run(name: str, x: Any, y: Any) -> np.ndarray:
    (output,) = execute(registry[name], {"x": x, "y": y})
    assert isinstance(output, np.ndarray)
    return output


def numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(np.float32)


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_shapes_broadcast(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    x, y = numbers(shapes[0], 0), numbers(shapes[1], 1)
    expected = (ARITHMETIC | COMPARISONS)[name](torch.tensor(x), torch.tensor(y)).numpy()
    for left, right in ((x, y), (x.astype(np.int32), y.astype(np.int32))):
        output = run(name, left, right)
        assert output.shape == expected.shape
        assert output.dtype == (np.bool_ if name in COMPARISONS else left.dtype)
        if left is x:
            np.testing.assert_allclose(output, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_special_floats(name: str, dtype: type) -> None:
    """All pairs; at float16 the float64 result is rounded once."""
    with np.errstate(over="ignore"):
        pairs = np.array(list(product(FLOATS, FLOATS)), np.float32).astype(dtype)
    x, y = pairs[:, 0], pairs[:, 1]
    wide = np.float64 if dtype == np.float16 else np.float32
    expected = ARITHMETIC[name](torch.tensor(x.astype(wide)), torch.tensor(y.astype(wide))).numpy()
    with np.errstate(over="ignore"):
        expected = expected.astype(np.float32).astype(dtype)
    if name in ("floor_div", "mod"):
        fits = usable(x, y)
        x, y, expected = x[fits], y[fits], expected[fits]
    output = run(name, x, y)
    assert output.dtype == dtype
    np.testing.assert_allclose(output, expected, rtol=1e-6 if dtype == np.float32 else 1e-3, atol=0)


def usable(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return where PyTorch's floored division does not lose the quotient in float32 (its own text warns of that)."""
    with np.errstate(all="ignore"):
        quotient = np.abs(x.astype(np.float64) / y.astype(np.float64))
    return (quotient < 2**20) & np.isfinite(x) & np.isfinite(y) & (y != 0)


@pytest.mark.parametrize("name", ["floor_div", "mod"])
def test_floored_division_of_floats_is_pythons(name: str) -> None:
    values = [value for value in (*FLOATS, 0.1, 0.3, -0.1) if math.isfinite(value)]
    pairs = [(np.float32(x), np.float32(y)) for x, y in product(values, values) if np.float32(y) != 0]
    expected = [float(x) // float(y) if name == "floor_div" else float(x) % float(y) for x, y in pairs]
    output = run(name, np.array([x for x, _ in pairs]), np.array([y for _, y in pairs]))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(output, np.array(expected).astype(np.float32), rtol=1e-6, atol=0)


def test_floored_division_at_the_edges() -> None:
    x, y = np.float32([1, -1, 0, INF, 1, -1, NAN]), np.float32([0, 0, 0, 2, INF, INF, 1])
    np.testing.assert_array_equal(run("floor_div", x, y), np.float32([INF, -INF, NAN, NAN, 0, -1, NAN]))
    np.testing.assert_array_equal(run("mod", x, y), np.float32([NAN, NAN, NAN, NAN, 1, INF, NAN]))


@pytest.mark.parametrize("name", ON_INTEGERS)
def test_integers_never_pass_through_floats(name: str) -> None:
    pairs = list(product(INTEGERS, INTEGERS))
    expected = [wrapped(ON_INTEGERS[name](x, y)) for x, y in pairs]
    array = np.array(pairs, np.int32)
    output = run(name, array[:, 0], array[:, 1])
    assert output.dtype == np.int32
    assert output.tolist() == expected
    for (x, y), value in zip(pairs, expected, strict=True):
        single = run(name, np.array(x, np.int32), np.array(y, np.int32))
        assert (single.dtype, single.shape, single.item()) == (np.int32, (), value)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_comparisons(name: str, dtype: type) -> None:
    values = INTEGERS if dtype == np.int32 else FLOATS
    with np.errstate(over="ignore"):
        pairs = np.array(list(product(values, values))).astype(dtype)
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    output = run(name, x, y)
    assert output.dtype == np.bool_
    np.testing.assert_array_equal(output, COMPARISONS[name](torch.tensor(x), torch.tensor(y)).numpy())


@pytest.mark.parametrize("name", LOGICAL)
def test_logical(name: str) -> None:
    x = np.array([[True], [False]])
    y = np.array([True, False])
    output = run(name, x, y)
    assert output.dtype == np.bool_
    np.testing.assert_array_equal(output, LOGICAL[name](torch.tensor(x), torch.tensor(y)).numpy())


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) \(3,\)"):
        run("add", np.zeros(2, np.float32), np.zeros(3, np.float32))


def test_a_plain_number_takes_the_other_dtype() -> None:
    assert run("real_div", 7, np.array([2, -2], np.int32)).tolist() == [3, -3]
    assert run("real_div", np.float32([7]), 2).tolist() == [3.5]
    assert run("pow", 2, np.array([3, -1], np.int32)).tolist() == [8, 0]
