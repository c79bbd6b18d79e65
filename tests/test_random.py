"""Random numbers: literal values, the reference inversion, statistics, and the generator's state."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy import special, stats

import lucid
from lucid import random
from lucid.errors import DTypeError, ShapeError
from lucid.generator import inverse_normal, natural_log

UNIFORM = ["0x1.7a5d000000000p-7", "0x1.eeb1580000000p-3", "0x1.c866700000000p-4"]
NORMAL = ["0x1.4c209a0000000p-3", "0x1.86e90e0000000p-8", "-0x1.2e10780000000p-1", "0x1.9cbb400000000p+0"]
INTEGERS = [196, 405, 770, 482, 810]
PERMUTATION = [5, 1, 4, 0, 3, 2]


def philox(counter: int, key: int) -> list[int]:
    """Return the block of four numbers that Philox 4x64-10 gives (Salmon and others, 2011), in whole numbers."""
    mask = (1 << 64) - 1
    words, keys = [counter, 0, 0, 0], [key, 0]
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * words[0], 0xCA5A826395121157 * words[2]
        words = [(second >> 64) ^ words[1] ^ keys[0], second & mask, (first >> 64) ^ words[3] ^ keys[1], first & mask]
        keys = [(keys[0] + 0x9E3779B97F4A7C15) & mask, (keys[1] + 0xBB67AE8584CAA73B) & mask]
    return words


PUBLISHED = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]


def test_bits_are_philox() -> None:
    assert philox(0, 0) == PUBLISHED
    for seed in (0, 1, (1 << 64) - 1):
        generator = random.Generator(seed)
        expected = [*philox(1, seed), *philox(2, seed)]  # the counter is raised before each block
        assert generator.raw(3).tolist() + generator.raw(5).tolist() == expected


def test_literal_values() -> None:
    lucid.manual_seed(0)
    assert [float(number).hex() for number in lucid.rand(3).tolist()] == UNIFORM
    assert [float(number).hex() for number in lucid.randn(4).tolist()] == NORMAL
    assert lucid.randint(0, 1000, (5,)).tolist() == INTEGERS
    assert lucid.randperm(6).tolist() == PERMUTATION


def test_inverse_normal_is_the_reference() -> None:
    rng = np.random.default_rng(1)
    edges = np.array([2.0**-54, 1e-300, 1e-16, 1e-12, 0.0749, 0.075, 0.0751, 0.5, 0.925, 1 - 2.0**-53])
    probability = np.concatenate([rng.random(20000), 10.0 ** -rng.uniform(0, 300, 2000), edges])
    np.testing.assert_allclose(inverse_normal(probability), special.ndtri(probability), rtol=1e-14, atol=1e-15)
    for number in edges:
        assert inverse_normal(np.array([number]))[0] == pytest.approx(NormalDist().inv_cdf(number), rel=1e-15)


def test_logarithm_is_the_reference() -> None:
    rng = np.random.default_rng(2)
    numbers = np.concatenate([rng.random(20000), 10.0 ** rng.uniform(-300, 300, 2000), [1.0, 2.0, 0.5, 2.0**-1074]])
    np.testing.assert_allclose(natural_log(numbers), np.log(numbers), rtol=1e-15, atol=0)


def test_normal_numbers_do_not_depend_on_how_many_are_drawn_at_once() -> None:
    count = 600_001
    whole = random.Generator(7).normal(count)
    parts = random.Generator(7)
    np.testing.assert_array_equal(whole, np.concatenate([parts.normal(400_000), parts.normal(count - 400_000)]))


def test_statistics() -> None:
    lucid.manual_seed(3)
    uniform, normal = lucid.rand(200_000).numpy(), lucid.randn(200_000).numpy()
    assert uniform.min() >= 0.0
    assert uniform.max() < 1.0
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3
    assert stats.kstest(normal, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(normal[:-1], normal[1:])[0, 1]) < 0.01
    counts = np.bincount(lucid.randint(-3, 4, (70_000,)).numpy() + 3)
    assert stats.chisquare(counts).pvalue > 1e-3
    assert lucid.bernoulli(lucid.full((100_000,), 0.3)).mean().item() == pytest.approx(0.3, abs=0.01)
    shifted = lucid.normal(5.0, 2.0, (100_000,)).numpy()
    assert (shifted.mean(), shifted.std()) == pytest.approx((5.0, 2.0), abs=0.03)


def test_same_seed_same_numbers() -> None:
    lucid.manual_seed(11)
    first = lucid.randn(3, 3).tolist()
    assert lucid.randn(3, 3).tolist() != first
    lucid.manual_seed(11)
    assert lucid.randn(3, 3).tolist() == first
    assert lucid.randn(3, 3, generator=lucid.Generator(11)).tolist() == first
    assert lucid.randn(3, 3, generator=lucid.Generator(12)).tolist() != first


@pytest.mark.parametrize("taken", [0, 1, 3, 4, 5, 1001])
def test_state(taken: int) -> None:
    generator = lucid.Generator(5)
    generator.raw(taken)
    state = generator.get_state()
    after = generator.raw(9).tolist()
    generator.set_state(state)
    assert generator.raw(9).tolist() == after
    assert state == random.GeneratorState(5, taken)


def test_fork_leaves_the_outer_stream_alone() -> None:
    lucid.manual_seed(1)
    outer = random.get_state()
    with random.fork():
        inside = lucid.rand(2).tolist()
    assert random.get_state() == outer
    assert lucid.rand(2).tolist() == inside
    with random.fork(seed=9):
        assert lucid.rand(2).tolist() == lucid.rand(2, generator=lucid.Generator(9)).tolist()


def test_draws_are_counted() -> None:
    before = lucid.default_generator().draws
    lucid.rand(100)
    lucid.randn(3)
    assert lucid.default_generator().draws == before + 2
    lucid.manual_seed(4)
    assert lucid.default_generator().draws == before + 2


def test_dtypes_and_shapes() -> None:
    assert lucid.rand((2, 3), dtype=lucid.float16).dtype == lucid.float16
    assert lucid.rand().shape == ()
    assert lucid.randn(2, 0).shape == (2, 0)
    assert lucid.randint(5, (2, 3)).dtype == lucid.int32
    assert lucid.randn_like(lucid.zeros(2, 3).half()).dtype == lucid.float16
    assert lucid.randn(2, requires_grad=True).requires_grad
    assert sorted(lucid.randperm(50).tolist()) == list(range(50))


def test_half_precision_is_below_one() -> None:
    values = lucid.rand(100_000, dtype=lucid.float16).numpy().astype(np.float64)
    assert values.max() == 1.0 - 2.0**-11
    assert set(values * 2048 % 1) == {0.0}
    assert values.mean() == pytest.approx(0.5, abs=0.01)


def test_in_place() -> None:
    x = lucid.zeros(10_000)
    assert x.uniform_(-2.0, 3.0) is x
    assert -2.0 <= x.amin().item() < x.amax().item() < 3.0
    x.normal_(1.0, 0.5)
    assert x.mean().item() == pytest.approx(1.0, abs=0.05)


def test_errors() -> None:
    with pytest.raises(DTypeError, match="use randint for integers"):
        lucid.rand(2, dtype=lucid.int32)
    with pytest.raises(ShapeError, match="no integer from 3 up to 3"):
        lucid.randint(3, 3, (1,))
    with pytest.raises(DTypeError, match="does not fit int32"):
        lucid.randint(0, 1 << 33, (1,))
    with pytest.raises(DTypeError, match="the seed is -1"):
        lucid.manual_seed(-1)
    with pytest.raises(ShapeError, match="negative size"):
        lucid.rand(-1)
