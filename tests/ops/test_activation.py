"""Activation functions against PyTorch in float64, on every float16 number and many others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch
import torch.nn.functional as F

from lucid.errors import ShapeError, UsageError
from lucid.ops import registry
from lucid.ops.execution import execute

INF, NAN = float("inf"), float("nan")
Oracle = Callable[[torch.Tensor], torch.Tensor]
FUNCTIONS: dict[str, tuple[str, dict[str, Any], Oracle]] = {
    "clamped_relu": ("clamped_relu", {"alpha": 0.3, "beta": 4.0}, lambda x: F.leaky_relu(x, 0.3).clamp(max=4.0)),
    "elu": ("elu", {"alpha": 1.5}, lambda x: F.elu(x, 1.5)),
    "gelu_exact": ("gelu", {}, F.gelu),
    "gelu_tanh": ("gelu", {"mode": "TANH_APPROXIMATION"}, lambda x: F.gelu(x, approximate="tanh")),
    "gelu_sigmoid": ("gelu", {"mode": "SIGMOID_APPROXIMATION"}, lambda x: x * torch.sigmoid(1.702 * x)),
    "leaky_relu": ("leaky_relu", {"alpha": 0.3}, lambda x: F.leaky_relu(x, 0.3)),
    "linear_activation": ("linear_activation", {"alpha": -0.3, "beta": 2.0}, lambda x: x * -0.3 + 2.0),
    "relu": ("relu", {}, F.relu),
    "relu6": ("relu6", {}, F.relu6),
    "scaled_tanh": ("scaled_tanh", {"alpha": 1.7159, "beta": 2 / 3}, lambda x: 1.7159 * torch.tanh(x * (2 / 3))),
    "sigmoid": ("sigmoid", {}, torch.sigmoid),
    "sigmoid_hard": ("sigmoid_hard", {"alpha": 1 / 6, "beta": 0.5}, F.hardsigmoid),
    "silu": ("silu", {}, F.silu),
    "softplus": ("softplus", {}, F.softplus),
    "softsign": ("softsign", {}, F.softsign),
    "thresholded_relu": ("thresholded_relu", {"alpha": 1.5}, lambda x: torch.where(x < 1.5, 0.0, x)),
}
HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
SINGLES = np.concatenate(
    [np.linspace(-30, 30, 40001), np.logspace(-44, 38, 2000), -np.logspace(-44, 38, 2000), [0.0, -0.0, INF, NAN]]
).astype(np.float32)


def run(name: str, x: Any, **attributes: Any) -> np.ndarray:
    record = registry[name]
    (output,) = execute(record, record.bind(x=x, **attributes))
    assert isinstance(output, np.ndarray)
    return output


def doubled(function: Oracle, x: np.ndarray, dtype: type) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return function(torch.tensor(x).double()).numpy().astype(dtype)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_float32(case: str) -> None:
    name, attributes, oracle = FUNCTIONS[case]
    output = run(name, SINGLES, **attributes)
    assert output.dtype == np.float32
    np.testing.assert_allclose(output, doubled(oracle, SINGLES, np.float32), rtol=1e-6, atol=5e-7)


@pytest.mark.parametrize("case", FUNCTIONS)
def test_every_float16(case: str) -> None:
    name, attributes, oracle = FUNCTIONS[case]
    x = HALVES[~np.isneginf(HALVES)]
    output = run(name, x, **attributes)
    assert output.dtype == np.float16
    np.testing.assert_allclose(output, doubled(oracle, x, np.float16), rtol=1e-3, atol=1e-6)


def test_gelu_is_exact_to_a_millionth() -> None:
    x = np.linspace(-12, 12, 500001, dtype=np.float32)
    expected = F.gelu(torch.tensor(x).double()).numpy()
    error = np.abs(run("gelu", x) - expected)
    assert error.max() < 5e-7
    assert error[np.abs(x) < 1].max() < 2e-7
    tail = (x > -12) & (x < -2)  # 2e-32, and all that stands in its digits
    true = x[tail].astype(np.float64) * scipy.special.ndtr(x[tail].astype(np.float64))
    np.testing.assert_allclose(run("gelu", x)[tail], true, rtol=5e-6)


def test_minus_infinity() -> None:
    limits = {
        "clamped_relu": -INF,
        "elu": -1.5,
        "gelu_exact": 0.0,
        "gelu_tanh": NAN,
        "gelu_sigmoid": NAN,
        "leaky_relu": -INF,
        "linear_activation": INF,
        "relu": 0.0,
        "relu6": 0.0,
        "scaled_tanh": -1.7159,
        "sigmoid": 0.0,
        "sigmoid_hard": 0.0,
        "silu": NAN,
        "softplus": 0.0,
        "softsign": NAN,
        "thresholded_relu": 0.0,
    }
    for case, (name, attributes, _) in FUNCTIONS.items():
        for dtype in (np.float32, np.float16):
            output = run(name, np.array([-INF], dtype), **attributes)
            np.testing.assert_allclose(output, dtype(limits[case]), rtol=1e-3, atol=4e-11, err_msg=case)


@pytest.mark.parametrize("case", FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 0, 3), (1, 2, 1, 2, 3)], ids=str)
def test_shapes(case: str, shape: tuple[int, ...]) -> None:
    name, attributes, _ = FUNCTIONS[case]
    x = np.full(shape, 0.75, np.float32)
    output = run(name, x, **attributes)
    assert (output.shape, output.dtype) == (shape, np.float32)
    if x.size:
        assert np.all(output == run(name, x.reshape(-1)[:1], **attributes))
    assert np.all(x == 0.75)


def test_clamped_relu_with_a_negative_ceiling() -> None:
    """MIL's definition: min(beta, x) and min(beta, alpha * x)."""
    x = np.float32([-10, -1, 0, 2])
    assert run("clamped_relu", x, alpha=0.5, beta=-2.0).tolist() == [-5.0, -2.0, -2.0, -2.0]


def test_gelu_of_another_mode() -> None:
    with pytest.raises(UsageError, match="mode is 'tanh', expected EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION"):
        run("gelu", np.zeros(1, np.float32), mode="tanh")


@pytest.mark.parametrize(
    "shape", [(4,), (3, 4), (2, 3, 4), (2, 3, 2, 5), (2, 1, 3, 2, 2), (0, 3), (2, 0), (3, 0, 2)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_softmax(shape: tuple[int, ...], dtype: type) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 20).astype(dtype)
    before = x.copy()
    for axis in range(-len(shape), len(shape)):
        output = run("softmax", x, axis=axis)
        assert output.dtype == dtype
        expected = torch.softmax(torch.tensor(x).double(), axis).numpy()
        np.testing.assert_allclose(output, expected, rtol=1e-6 if dtype == np.float32 else 1e-3, atol=6e-8)
        np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(run("softmax", x), run("softmax", x, axis=len(shape) - 1))


def test_softmax_of_masks() -> None:
    lowest = float(np.finfo(np.float32).min)
    rows = np.float32(
        [[1, 2, lowest, lowest], [lowest] * 4, [1, 2, 3, 4], [-INF, 0, -INF, 0], [-INF] * 4, [INF, 0, 0, 0]]
    )
    output = run("softmax", rows)
    np.testing.assert_allclose(output[:4], torch.softmax(torch.tensor(rows[:4]).double(), -1).numpy(), rtol=1e-6)
    assert output[1].tolist() == [0.25] * 4
    assert np.all(np.isnan(output[4:]) == np.isnan(torch.softmax(torch.tensor(rows[4:]), -1).numpy()))


@pytest.mark.parametrize("axis", [2, -3])
def test_softmax_over_an_axis_that_is_not_there(axis: int) -> None:
    with pytest.raises(ShapeError, match=f"axis is {axis}, expected -2 to 1 in a tensor of rank 2"):
        run("softmax", np.zeros((2, 2), np.float32), axis=axis)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 2, 5), (1, 3, 2, 2, 2), (2, 3, 0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_per_channel(shape: tuple[int, ...], dtype: type) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) * 20).astype(dtype)
    alpha, beta = np.float32([0.25, 1.0, -2.0]), np.float32([0.5, 1.0, 4.0])
    tolerance = 1e-6 if dtype == np.float32 else 1e-3

    output = run("prelu", x, alpha=alpha.astype(dtype))
    assert output.dtype == dtype
    np.testing.assert_allclose(
        output, F.prelu(torch.tensor(x), torch.tensor(alpha.astype(dtype))).numpy(), rtol=tolerance
    )

    output = run("softplus_parametric", x, alpha=alpha, beta=beta)
    assert output.dtype == dtype
    wide = [torch.tensor(values).double().reshape(-1, *[1] * (len(shape) - 2)) for values in (alpha, beta)]
    expected = wide[0] * torch.log1p(torch.exp(wide[1] * torch.tensor(x).double()))
    np.testing.assert_allclose(output, expected.numpy(), rtol=tolerance, atol=1e-7)


def test_per_channel_without_overflow() -> None:
    x = np.full((1, 1, 1), 1000.0, np.float32)
    assert run("softplus_parametric", x, alpha=np.float32([2]), beta=np.float32([3])).item() == 6000.0


@pytest.mark.parametrize("name", ["prelu", "softplus_parametric"])
def test_per_channel_that_does_not_fit(name: str) -> None:
    extra = {"beta": np.ones(3, np.float32)} if name == "softplus_parametric" else {}
    with pytest.raises(ShapeError, match=r"alpha has shape \(2,\), expected \(3,\) = x.shape\[1\]"):
        run(name, np.zeros((1, 3, 2), np.float32), alpha=np.ones(2, np.float32), **extra)
    with pytest.raises(ShapeError, match="has rank 2, expected 3"):
        run(name, np.zeros((1, 3), np.float32), alpha=np.ones(3, np.float32), **extra)
