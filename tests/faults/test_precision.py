"""Precision: what the author meant for float32 stays there, and what storage costs is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
from faults.project import PRECISIONS, array, built, packaged, spec_text
from lucid import Tensor
from lucid.coreml import State, load
from lucid.errors import GoldenError, LoadError, StateError
from lucid.nn import functional as F

LARGE = array(1000, 2000, 3000, 4000, shape=(1, 4))
NORMALIZED = [[0.36514837, 0.73029674, 1.09544512, 1.46059349]]


def normalized(x: Tensor) -> Tensor:
    """Return x over the root of the mean of its squares."""
    return x * lucid.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6)


LIFTS: dict[str, Callable[[Tensor], Tensor]] = {
    "to float32": lambda x: normalized(x.half().float()),
    "and back": lambda x: normalized(x.half().float()).half(),
    "in two steps": lambda x: normalized((x.half() * 1.0).float() * 1.0),
    "a part": lambda x: normalized(x.half().reshape(2, 2).float().reshape(1, 4)),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("lift", LIFTS)
def test_f05_a_lift_to_float32_stays(precision: str, lift: str) -> None:
    """The author's lift from float16 was optimised away, and the squares of 1000 overflowed. The example is small."""
    package = packaged(LIFTS[lift], lucid.tensor(array(1, 2, 3, 4, shape=(1, 4))), precision)
    np.testing.assert_allclose(package.predict(LARGE).numpy(), NORMALIZED, rtol=1e-2)
    assert package.predict(np.zeros((1, 4), np.float32)).tolist() == [[0.0] * 4]


def test_f05_a_lift_of_a_float16_input_stays() -> None:
    """The same with an interface of float16."""
    package = packaged(lambda x: normalized(x.float()).half(), lucid.tensor([[1.0, 2.0, 3.0, 4.0]], lucid.float16))
    given = package.predict(LARGE.astype(np.float16)).numpy()
    assert given.dtype == np.float16
    np.testing.assert_allclose(given, NORMALIZED, rtol=1e-2)


def test_f05_squares_that_overflow_on_the_golden_calls_stay_in_float32(tmp_path: Path) -> None:
    """A model in float32 throughout: what the calls show to be too large is kept wide, and the manifest lists it."""
    model = """
class Model(nn.Module):
    def forward(self, x):
        return x * lucid.rsqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6)
"""
    rows = "[[[1000, 2000, 3000, 4000]], [[0, 0, 0, 0]], [[1, 2, 3, 4]], [[-4000, 3000, 2, 1]]]"
    result = built(
        tmp_path, model, spec_text({"x": f"shape = [1, 4]; values = {{list = {rows}}}"}, precision="float16")
    )
    assert any(name.startswith("mul") for name in result.manifest.package.float32)
    with load(result.package) as package:
        np.testing.assert_allclose(package.predict(LARGE).numpy(), NORMALIZED, rtol=1e-2)
        assert package.predict(np.zeros((1, 4), np.float32)).tolist() == [[0.0] * 4]


@pytest.mark.parametrize("tiny", [1e-8, 1e-12, 1e-30])
def test_f05_a_tiny_epsilon_keeps_zero_from_dividing_zero(tiny: float) -> None:
    """An epsilon below float16's range, added before a division: a zero row gives zeros, not NaN."""
    models = [
        lambda x: x / (lucid.sqrt(x * x) + tiny),
        lambda x: x * lucid.rsqrt((x * x).mean(dim=-1, keepdim=True) + tiny),
        lambda x: x / lucid.maximum(x.abs(), lucid.tensor(tiny)),
        lambda x: x / (x.abs() + lucid.full((2,), tiny)),
    ]
    for model in models:
        package = packaged(model, lucid.tensor([[1.0, -1.0]]))
        np.testing.assert_allclose(package.predict(array(0.5, -0.5, shape=(1, 2))).numpy(), [[1, -1]], rtol=1e-2)
        assert package.predict(np.zeros((1, 2), np.float32)).tolist() == [[0.0, 0.0]]


TOTAL = """
class Model(nn.Module):
    def forward(self, x, s):
        s = s + x
        return s, s
"""
STEP = {"x": 'shape = [1, 4]; values = "ones"', "s": "shape = [1, 4]"}


def test_f06_storage_in_float16_is_recorded(tmp_path: Path) -> None:
    """The manifest of a float32 model says what its state is kept in."""
    result = built(tmp_path, TOTAL, spec_text(STEP, states={"s": "output_1"}))
    assert [(each.name, each.dtype) for each in result.manifest.package.states] == [("s", "float16")]
    assert [each.dtype for each in result.manifest.package.outputs] == ["float32"]


def test_f06_a_count_that_stalls_fails_with_its_cause(tmp_path: Path) -> None:
    """2060 calls of one more: float16 stops at 2048, and the message says that states are stored in it."""
    with pytest.raises(GoldenError) as caught:
        built(tmp_path, TOTAL, spec_text(STEP, states={"s": "output_1"}, calls=2060) + "atol = 0.5\nrtol = 1e-6\n")
    text = str(caught.value)
    assert "output output_0, call 2049: 2049.0 at (0, 0), the reference has 2050.0" in text
    assert "state s after the last call: 2048.0 at (0, 0), the reference has 2060.0" in text
    assert "states are stored in float16, whose steps are 2 there" in text
    assert "lowering.float32" not in text
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    ("values", "calls", "cause"),
    [
        ("{constant = 40000}", 4, "states are stored in float16, which ends at 65504; carry 160000 as an input"),
        ("{constant = 65536}", 3, "states are stored in float16, which ends at 65504; carry 196608 as an input"),
        ("{list = [1, " + "0.0004, " * 199 + "]}", 200, "states are stored in float16, whose steps are 0.000977 there"),
    ],
    ids=["sum overflows", "first value overflows", "small steps"],
)
def test_f06_other_costs_of_float16_storage_fail_with_their_cause(
    tmp_path: Path, values: str, calls: int, cause: str
) -> None:
    """Large values become infinite, and small steps vanish."""
    inputs = {"x": f"shape = [1, 4]; values = {values}", "s": "shape = [1, 4]"}
    with pytest.raises(GoldenError, match=cause):
        built(tmp_path, TOTAL, spec_text(inputs, states={"s": "output_1"}, calls=calls))


def test_f06_the_same_sum_without_a_state_is_exact() -> None:
    """What the message advises: carried as input and output, float32 counts on."""
    package = packaged(lambda s, x: s + x, {"s": lucid.zeros(1), "x": lucid.ones(1)}, "float32")
    total = array(0)
    for _ in range(2060):
        total = package.predict(total, array(1)).numpy()
    assert total.tolist() == [2060.0]


def test_f06_an_integer_state_is_refused() -> None:
    """Core ML keeps floating states only."""
    with pytest.raises(StateError, match="its dtype is int32, Core ML keeps states in float16"):
        packaged(
            lambda s, x: (s + x, s + x),
            {"s": lucid.zeros(1).int(), "x": lucid.ones(1).int()},
            state=[State("s", "output_1")],
        )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (5.0, (-5.0460971, -0.0460971)),
        (50.0, (-50.0, 0.0)),
        (200.0, (-200.0, 0.0)),
        (-200.0, (-1.9459101, -201.9459101)),
    ],
)
def test_f17_the_log_of_softmax_is_stable(precision: str, margin: float, expected: tuple[float, float]) -> None:
    """Taken as softmax and log with a tiny addend, small probabilities were lost: -16.6 in place of -50."""
    logits = array(0, 0, 0, margin, 0, 0, 0, 0, shape=(1, 8))
    given = packaged(lambda x: F.log_softmax(x, dim=-1), lucid.tensor(logits), precision).predict(logits).numpy()[0]
    wanted = np.full(8, expected[0])
    wanted[3] = expected[1]
    np.testing.assert_allclose(given, wanted, rtol=2e-3 if precision == "float16" else 1e-6, atol=1e-4)


@pytest.mark.parametrize("margin", [5.0, 50.0, 200.0])
def test_f17_cross_entropy_is_stable(margin: float) -> None:
    """The loss of a class with almost no probability is the margin."""
    logits = array(0, 0, 0, margin, 0, 0, 0, 0, shape=(1, 8))
    for precision in PRECISIONS:
        package = packaged(lambda x: F.cross_entropy(x, lucid.tensor([0])), lucid.tensor(logits), precision)
        exact = margin + np.log1p(7 * np.exp(-margin))
        np.testing.assert_allclose(
            package.predict(logits).numpy(), exact, rtol=2e-3 if precision == "float16" else 1e-6
        )


def test_f17_softmax_and_log_apart_fail_the_golden_check_at_float16(tmp_path: Path) -> None:
    """Written apart, float16 has no number for a probability of exp(-50): the check fails, naming output and call."""
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return F.softmax(x, dim=-1).log()\n"
    inputs: dict[str, Any] = {"x": "shape = [1, 2]; values = {list = [[[0, 1]], [[0, 50]]]}"}
    with pytest.raises(GoldenError, match=r"output output_0, call 1: -inf at \(0, 0\), the reference has -50.0"):
        built(tmp_path, model, spec_text(inputs, precision="float16", calls=2))
    with pytest.raises(LoadError, match="gives NaN in output_0 at call 0"):
        built(
            tmp_path,
            model.replace("log()", "log() * 0.0"),
            spec_text({"x": "shape = [1, 2]; values = {list = [[[0, 300]]]}"}, calls=1),
        )
