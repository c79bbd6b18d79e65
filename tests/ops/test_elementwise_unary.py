"""Element-wise operations of one tensor against NumPy and SciPy in float64, on every float16 number and many others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

from lucid.errors import DTypeError
from lucid.ops import registry
from lucid.ops.execution import execute

INF, NAN = float("inf"), float("nan")
Double = Callable[[np.ndarray], np.ndarray]
FUNCTIONS: dict[str, tuple[dict[str, float], Double]] = {
    "abs": ({}, np.abs),
    "acos": ({}, np.arccos),
    "asin": ({}, np.arcsin),
    "atan": ({}, np.arctan),
    "atanh": ({}, np.arctanh),
    "ceil": ({}, np.ceil),
    "clip": ({"alpha": -1.5, "beta": 2.25}, lambda x: np.clip(x, -1.5, 2.25)),
    "cos": ({}, np.cos),
    "cosh": ({}, np.cosh),
    "erf": ({}, scipy.special.erf),
    "exp": ({}, np.exp),
    "exp2": ({}, np.exp2),
    "floor": ({}, np.floor),
    "inverse": ({"epsilon": 0.25}, lambda x: 1 / (x + 0.25)),
    "log": ({"epsilon": 0.0}, np.log),
    "round": ({}, np.round),
    "rsqrt": ({"epsilon": 0.0}, lambda x: 1 / np.sqrt(x + 0.0)),
    "sign": ({}, np.sign),
    "sin": ({}, np.sin),
    "sinh": ({}, np.sinh),
    "sqrt": ({}, np.sqrt),
    "square": ({}, np.square),
    "tan": ({}, np.tan),
    "tanh": ({}, np.tanh),
    "threshold": ({"alpha": -1.5}, lambda x: np.maximum(x, -1.5)),
}
MOVE_ONLY = {"abs", "ceil", "floor", "round", "sign"}
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
SINGLES = np.concatenate(
    [
        np.linspace(-12, 12, 40001),
        np.logspace(-44, 38, 2000),
        -np.logspace(-44, 38, 2000),
        [0.0, -0.0, INF, -INF, NAN, 3.4028235e38, -3.4028235e38],
    ]
).astype(np.float32)


def run(name: str, x: Any, **attributes: Any) -> np.ndarray:
    record = registry[name]
    (output,) = execute(record, record.bind(x=x, **attributes))
    assert isinstance(output, np.ndarray)
    return output


def doubled(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return FUNCTIONS[name][1](x.astype(np.float64))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32(name: str) -> None:
    x = SINGLES if name not in ("sin", "cos", "tan", "inverse") else SINGLES[np.abs(SINGLES) < 1e4]
    output = run(name, x, **FUNCTIONS[name][0])
    assert output.dtype == np.float32
    with np.errstate(over="ignore", under="ignore"):
        expected = doubled(name, x).astype(np.float32)
    if name in ("tan", "inverse"):  # near the poles the argument's own rounding counts
        near = np.abs(expected) < 1e3
        output, expected = output[near], expected[near]
    np.testing.assert_allclose(output, expected, rtol=0 if name in MOVE_ONLY else 6e-7, atol=3e-45)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_float16(name: str) -> None:
    """The result is the true one rounded to float16; where float32 rounds across a tie, 1 in the last place off."""
    output = run(name, HALVES, **FUNCTIONS[name][0])
    assert output.dtype == np.float16
    with np.errstate(over="ignore", under="ignore"):
        expected = doubled(name, HALVES).astype(np.float16)
    np.testing.assert_array_equal(np.isnan(output), np.isnan(expected))
    valid = ~np.isnan(expected)
    steps = np.abs(ordered(output[valid]) - ordered(expected[valid]))
    assert steps.max() <= (0 if name in MOVE_ONLY else 1)
    assert np.mean(steps > 0) < 0.001


def ordered(x: np.ndarray) -> np.ndarray:
    """Return the numbers' places in the order of all float16 numbers."""
    bits = x.view(np.int16).astype(np.int32)
    return np.where(bits < 0, -(bits & 0x7FFF), bits)


def test_erf_is_within_an_ulp() -> None:
    exact = scipy.special.erf(SINGLES.astype(np.float64))
    fine = np.isfinite(exact)
    error = np.abs(run("erf", SINGLES).astype(np.float64) - exact)[fine]
    assert np.all(error <= np.spacing(np.abs(exact[fine]).astype(np.float32)))


@pytest.mark.parametrize("name", [*FUNCTIONS, "logical_not"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0, 3), (1, 2, 1, 2, 3)], ids=str)
def test_shapes(name: str, shape: tuple[int, ...]) -> None:
    attributes = FUNCTIONS.get(name, ({},))[0]
    x = np.full(shape, 0.5, bool if name == "logical_not" else np.float32)
    output = run(name, x, **attributes)
    assert (output.shape, output.dtype) == (shape, x.dtype)
    if x.size:
        assert np.all(output == run(name, x.reshape(-1)[:1], **attributes))


def test_erf_of_many_numbers_in_any_layout() -> None:
    x = np.linspace(-4, 4, 60000, dtype=np.float32).reshape(200, 300).T
    np.testing.assert_allclose(run("erf", x), scipy.special.erf(x), rtol=1e-6)


def test_integers() -> None:
    x = np.array([-(2**31), -7, -1, 0, 1, 7, 31, 32, 46341, 2**31 - 1], np.int32)
    wide = [int(number) for number in x]
    expected = {
        "abs": [-(2**31), 7, 1, 0, 1, 7, 31, 32, 46341, 2**31 - 1],
        "sign": [-1, -1, -1, 0, 1, 1, 1, 1, 1, 1],
        "square": [(n * n + 2**31) % 2**32 - 2**31 for n in wide],
        "exp2": [0, 0, 0, 1, 2, 128, -(2**31), 0, 0, 0],
    }
    for name, values in expected.items():
        output = run(name, x)
        assert output.dtype == np.int32
        assert output.tolist() == values
        assert [run(name, np.array(n, np.int32)).item() for n in wide] == values
    output = run("threshold", x, alpha=3)
    assert output.dtype == np.int32
    assert output.tolist() == [max(n, 3) for n in wide]


def test_default_epsilons() -> None:
    zero = np.zeros(1, np.float32)
    np.testing.assert_allclose(run("inverse", zero), [1e4], rtol=1e-6)
    np.testing.assert_allclose(run("rsqrt", zero), [1e6], rtol=1e-6)
    np.testing.assert_allclose(run("log", zero), [np.log(np.float64(np.float32(1e-45)))], rtol=1e-6)


TORCH = {
    "fp16": torch.float16,
    "fp32": torch.float32,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "uint8": torch.uint8,
    "bool": torch.bool,
}
NUMPY = {"fp16": "float16", "fp32": "float32"}


@pytest.mark.parametrize("target", TORCH)
@pytest.mark.parametrize("source", TORCH)
def test_cast_of_what_both_hold(source: str, target: str) -> None:
    values = [0.0, 1.0, 2.0, 100.0, 0.5, 1.75] + ([] if "u" in source + target else [-1.0, -100.0, -0.5, -1.75])
    x = np.array(values).astype(NUMPY.get(source, source))
    output = run("cast", x, dtype=target)
    assert output.dtype == np.dtype(NUMPY.get(target, target))
    np.testing.assert_array_equal(output, torch.tensor(x).to(TORCH[target]).numpy())


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        (
            "float32",
            "int32",
            [3e9, -3e9, INF, -INF, NAN, 2147483520.0],
            [2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0, 2147483520],
        ),
        ("float32", "int8", [127.9, 128.0, -128.9, -129.0], [127, 127, -128, -128]),
        ("float16", "uint8", [255.0, 256.0, -1.0, INF], [255, 255, 0, 255]),
        ("float16", "uint16", [65504.0, -0.9], [65504, 0]),
        ("float16", "int16", [65504.0, -65504.0], [32767, -32768]),
        ("float32", "fp16", [65519.0, 65520.0, -1e6, 2.0**-25, 2049.0], [65504.0, INF, -INF, 0.0, 2048.0]),
        ("int32", "fp16", [2049, 2051, 70000, -70000], [2048.0, 2052.0, INF, -INF]),
        ("int32", "fp32", [16777217, -(2**31)], [16777216.0, -2147483648.0]),
        ("int32", "int16", [32768, -32769, 70000], [-32768, 32767, 4464]),
        ("int32", "uint8", [256, -1], [0, 255]),
        ("int32", "bool", [0, 256, -(2**31)], [False, True, True]),
        ("float16", "bool", [0.0, -0.0, 2.0**-24, NAN], [False, False, True, True]),
    ],
)
def test_cast_at_the_limits(source: str, target: str, values: list[float], expected: list[float]) -> None:
    x = np.array(values, np.float64).astype(source)
    output = run("cast", x, dtype=target)
    assert output.dtype == np.dtype(NUMPY.get(target, target))
    assert output.tolist() == expected
    assert [run("cast", np.array(number), dtype=target).item() for number in x] == expected


def test_cast_to_another_dtype() -> None:
    with pytest.raises(DTypeError, match="dtype is 'int64', expected one of fp16, fp32, int8"):
        run("cast", np.zeros(1, np.float32), dtype="int64")
