"""Comparing one array with its reference: what passes, at the border too, and how a failure reads."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lucid.coreml.golden import compare
from lucid.errors import UsageError
from lucid.tolerance import Tolerance, default_tolerance

INF, NAN = math.inf, math.nan
TENTH = Tolerance(atol=0.125, rtol=0.25)


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


@pytest.mark.parametrize(
    ("got", "want", "passes"),
    [
        (array(1, 2, 3), array(1, 2, 3), True),
        (array(1.375), array(1), True),  # exactly at the border: 0.125 + 0.25
        (array(1.3750001), array(1), False),
        (array(0.625), array(1), True),
        (array(-1.375), array(-1), True),
        (array(1), array(-1), False),
        (array(NAN, 2, 3), array(1, 2, 3), False),
        (array(1, 2, 3), array(NAN, 2, 3), False),
        (array(NAN, 2), array(NAN, 2), True),
        (array(INF), array(65504), False),
        (array(65504), array(INF), False),
        (array(INF), array(INF), True),
        (array(INF), array(-INF), False),
        (array(), array(), True),
        (array(), array(1, 2, 3), False),
        (np.zeros((3, 1), np.float32), array(0, 0, 0), False),
        (np.zeros((0,), np.float32), np.zeros((0, 3), np.float32), False),
        (np.int32([3, 4]), np.int32([3, 4]), True),
        (np.int32([3, 5]), np.int32([3, 4]), False),
        (np.int32([1, 0]), np.array([True, False]), True),
        (np.int32([2, 0]), np.array([True, False]), False),
        (array(3), np.int32([3]), False),
    ],
)
def test_what_passes(got: np.ndarray, want: np.ndarray, passes: bool) -> None:
    assert compare(got, want, TENTH).passed is passes


def test_the_figures() -> None:
    found = compare(array(1.5, -4, 10), array(1, -4, 8), Tolerance(10, 10))
    assert found.max_abs == 2.0
    assert found.max_rel == 0.5
    assert found.snr == pytest.approx(10 * math.log10(81 / 4.25))
    assert compare(array(1), array(1), TENTH).snr == INF


def test_the_fault_names_the_worst_place() -> None:
    fault = compare(array(1, 3, 9), array(1, 2, 3), TENTH).fault
    assert fault == "9.0 at (2,), the reference has 3.0: off by 6, allowed 0.875 (2 of 3 places are outside)"
    fault = compare(array(1, NAN), array(1, 2), TENTH).fault
    assert fault == "nan at (1,), the reference has 2.0 (1 such places)"
    fault = compare(array(1), array(1, 2), TENTH).fault
    assert fault == "the shape is (1,), the reference's (2,)"


def test_top_one_is_for_outputs_that_rank() -> None:
    want = np.zeros((2, 256), np.float32)
    want[:, 7] = 1
    got = want.copy()
    got[1, 9] = 2
    assert compare(got, want, Tolerance(10, 10)).top1 == 0.5
    assert compare(array(1, 2), array(1, 2), TENTH).top1 is None


@pytest.mark.parametrize("bad", [0.0, -1.0, NAN, INF])
def test_tolerances_are_finite_and_above_zero(bad: float) -> None:
    with pytest.raises(UsageError, match="must be finite and above zero"):
        Tolerance(bad, 1.0)
    with pytest.raises(UsageError, match="must be finite and above zero"):
        Tolerance(1.0, bad)


def test_defaults() -> None:
    assert default_tolerance("float16", stateful=True) == Tolerance(1e-2, 1e-2)
    assert default_tolerance("float32", stateful=False) == Tolerance(1e-4, 1e-4)
    assert default_tolerance("float32", stateful=True) == Tolerance(2e-3, 2e-3)
