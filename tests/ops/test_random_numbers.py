"""Random operations: their distributions, their seeds, and their numbers made again with SciPy from the bare bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import lucid
from lucid import ops
from lucid.errors import ShapeError, UsageError
from lucid.ops.execution import execute

SHAPE = np.array([30, 40, 50], np.int32)
COUNT = 60_000


def bits(seed: int, count: int, kept: int) -> np.ndarray:
    """Return the upper bits of NumPy's own Philox, as float64."""
    return (np.random.Philox(key=seed).random_raw(count) >> np.uint64(64 - kept)).astype(np.float64)


def test_uniform_numbers() -> None:
    found = ops.random_uniform(SHAPE, np.float32(-2), np.float32(6), 5)
    assert (found.shape, found.dtype) == ((30, 40, 50), np.float32)
    np.testing.assert_allclose(found.reshape(-1), -2 + 8 * bits(5, COUNT, 24) * 2.0**-24, rtol=1e-6, atol=1e-6)
    assert found.min() >= -2
    assert found.max() < 6
    assert stats.kstest(found.reshape(-1), stats.uniform(-2, 8).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (1e8, 1e8 + 16), (-2.0, -1.0), (0.0, 1e-45)])
def test_uniform_numbers_stay_below_the_upper_bound(low: float, high: float) -> None:
    low, high = np.float32(low), np.float32(high)
    found = ops.random_uniform(np.array([200_000], np.int32), low, high, 3)
    assert found.dtype == np.float32
    assert (found >= low).all()
    assert (found < high).all()


def test_normal_numbers() -> None:
    found = ops.random_normal(SHAPE, np.float32(3), np.float32(0.5), 5)
    assert (found.shape, found.dtype) == ((30, 40, 50), np.float32)
    expected = 3 + 0.5 * special.ndtri((bits(5, COUNT, 53) + 0.5) * 2.0**-53)
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-5, atol=1e-6)
    assert stats.kstest(found.reshape(-1), stats.norm(3, 0.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("chance", [0.0, 0.125, 0.5, 0.9, 1.0])
def test_bernoulli_numbers(chance: float) -> None:
    found = ops.random_bernoulli(SHAPE, np.float32(chance), 6)
    assert (found.shape, found.dtype) == ((30, 40, 50), np.float32)
    np.testing.assert_array_equal(found.reshape(-1), bits(6, COUNT, 24) * 2.0**-24 < np.float32(chance))
    assert stats.binomtest(int(found.sum()), COUNT, chance).pvalue > 1e-3


@pytest.mark.parametrize("mode", ["logits", "probs"])
def test_places_are_drawn_with_their_probabilities(mode: str) -> None:
    shares = np.array([[[0.5, 0.25, 0.125, 0.125], [0.01, 0.0, 0.98, 0.01]]])
    with np.errstate(divide="ignore"):
        x = (shares * 3 if mode == "probs" else np.log(shares) + 7).astype(np.float32)
    found = ops.random_categorical(x, mode, COUNT, 4)
    assert (found.shape, found.dtype) == ((1, 2, COUNT), np.float32)
    for row, share in zip(found[0].astype(int), shares[0], strict=True):
        drawn = np.bincount(row, minlength=4)
        assert drawn[share == 0].sum() == 0
        assert stats.chisquare(drawn[share > 0], share[share > 0] * COUNT).pvalue > 1e-3
    assert abs(np.corrcoef(found[0, 0, :-1], found[0, 0, 1:])[0, 1]) < 0.02
    assert abs(np.corrcoef(found[0])[0, 1]) < 0.02


def test_both_modes_draw_the_same() -> None:
    shares = np.random.default_rng(0).random((5, 300)).astype(np.float32)
    by_share = ops.random_categorical(shares, "probs", 900, 2)
    by_logit = ops.random_categorical(np.log(shares.astype(np.float64)).astype(np.float32), "logits", 900, 2)
    assert (by_share == by_logit).mean() > 0.999  # the logarithm is rounded to float32


def test_equal_probabilities_of_many_places() -> None:
    drawn = ops.random_categorical(np.zeros((1, 300), np.float32), size=30_000, seed=3)
    assert stats.chisquare(np.bincount(drawn[0].astype(int), minlength=300)).pvalue > 1e-3


def test_large_draws_are_made_in_blocks() -> None:
    """As many numbers as one block holds, and three times that, begin alike."""
    x = np.zeros((1, 1 << 17), np.float32)
    few, many = (ops.random_categorical(x, size=size, seed=8) for size in (2, 6))
    np.testing.assert_array_equal(few[0], many[0, :2])
    assert len(set(many[0].tolist())) == 6


CALLS = {
    "random_uniform": {"shape": np.array([64], np.int32)},
    "random_normal": {"shape": np.array([64], np.int32)},
    "random_bernoulli": {"shape": np.array([64], np.int32)},
    "random_categorical": {"x": np.zeros((4, 50), np.float32), "size": 16},
}


@pytest.mark.parametrize("name", CALLS)
def test_seeds(name: str) -> None:
    draw = getattr(ops, name)
    assert not draw.pure
    first = draw(**CALLS[name], seed=3)
    np.testing.assert_array_equal(draw(**CALLS[name], seed=3), first)
    assert (draw(**CALLS[name], seed=4) != first).any()
    assert (draw(**CALLS[name], seed=-2) != first).any()
    lucid.manual_seed(3)
    np.testing.assert_array_equal(draw(**CALLS[name]), first)
    second = draw(**CALLS[name])
    assert (second != first).any()
    lucid.manual_seed(3)
    draw(**CALLS[name])
    np.testing.assert_array_equal(draw(**CALLS[name]), second)


def test_a_seeded_operation_leaves_the_default_generator_alone() -> None:
    lucid.manual_seed(1)
    state = lucid.random.get_state()
    for name, call in CALLS.items():
        getattr(ops, name)(**call, seed=9)
    assert lucid.random.get_state() == state


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("random_uniform", ("low", "high")), ("random_normal", ("mean", "stddev")), ("random_bernoulli", ("prob",))],
)
def test_float16_parameters_give_float16(name: str, parameters: tuple[str, ...]) -> None:
    record, numbers = getattr(ops, name), dict(zip(parameters, (0.25, 0.75), strict=False))
    halves = {key: np.array(value, np.float16) for key, value in numbers.items()}
    singles = {key: np.array(value, np.float32) for key, value in numbers.items()}
    shape = np.array([3, 4], np.int32)
    (half,) = execute(record, record.bind(shape=shape, seed=2, **halves))
    (single,) = execute(record, record.bind(shape=shape, seed=2, **singles))
    assert (half.dtype, single.dtype) == (np.float16, np.float32)
    np.testing.assert_array_equal(half, single.astype(np.float16))


@pytest.mark.parametrize("name", ["random_uniform", "random_normal", "random_bernoulli"])
def test_empty_and_single_results(name: str) -> None:
    assert getattr(ops, name)(np.array([2, 0], np.int32)).shape == (2, 0)
    assert getattr(ops, name)(np.zeros(0, np.int32)).shape == ()


def test_places_without_a_probability() -> None:
    zeros = np.zeros((2, 3), np.float32)
    assert ops.random_categorical(zeros, "probs", 2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert ops.random_categorical(zeros, size=0).shape == (2, 0)
    assert ops.random_categorical(zeros[:0], size=5).shape == (0, 5)
    assert ops.random_categorical(np.ones(1, np.float32), size=3).tolist() == [0.0, 0.0, 0.0]


ONE, TWO = np.float32(1), np.array([2], np.int32)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("random_uniform", (TWO, ONE, ONE * 0), UsageError, r"high is 0.0, below low, 1.0. Exchange them"),
        ("random_uniform", (-TWO,), ShapeError, r"shape is \(-2,\), expected no size below 0"),
        ("random_normal", (TWO, ONE, -ONE), UsageError, "stddev is -1.0, expected 0 or more"),
        ("random_categorical", (np.ones((2, 0), np.float32),), ShapeError, r"x has shape \(2, 0\) and size is 1"),
        ("random_categorical", (np.ones(2, np.float32), "odds"), UsageError, "mode is 'odds'. Choose one of logits"),
        ("random_categorical", (np.ones(2, np.float32), "probs", -1), ShapeError, "size is -1"),
    ],
)
def test_refusals(name: str, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(ops, name)(*arguments)
