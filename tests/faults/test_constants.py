"""Constants: what becomes of numbers that float16 cannot hold, and of operations that a shortcut would take away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
from faults.project import PRECISIONS, array, built, packaged, spec_text
from lucid import Tensor, nn
from lucid.nn import functional as F

LOWEST = -3.4028234663852886e38
SCORES = array(1, 2, 3, 4, shape=(1, 4))
FILLS = {
    "added": lambda scores, mask, fill: scores + (1.0 - mask) * fill,
    "chosen": lambda scores, mask, fill: lucid.where(mask > 0.5, scores, lucid.tensor(fill)),
    "filled": lambda scores, mask, fill: scores.masked_fill(mask < 0.5, fill),
    "reshaped": lambda scores, mask, fill: ((1.0 - mask.reshape(2, 2)) * fill).reshape(1, 4) + scores,
    "at least": lambda scores, mask, fill: lucid.maximum(scores + (1.0 - mask) * fill, lucid.tensor(fill)),
}
MASKS = [
    ((1, 1, 0, 0), (0.26894142, 0.73105858, 0.0, 0.0)),
    ((0, 0, 0, 0), (0.25, 0.25, 0.25, 0.25)),
    ((1, 1, 1, 1), (0.0320586, 0.08714432, 0.23688284, 0.64391428)),
]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("fill", [LOWEST, -1e9, -1e5])
@pytest.mark.parametrize("how", FILLS)
def test_f01_a_mask_filled_beyond_float16_stays_finite(precision: str, fill: float, how: str) -> None:
    """A fill beyond float16's range became infinity, and a masked row NaN. The example shows no masked place at all."""

    def model(scores: Tensor, mask: Tensor) -> Tensor:
        return F.softmax(FILLS[how](scores, mask, fill), dim=-1)

    package = packaged(model, {"scores": lucid.tensor(SCORES), "mask": lucid.ones(1, 4)}, precision)
    for mask, expected in MASKS:
        if how in ("added", "reshaped", "at least") and mask == (0, 0, 0, 0) and fill == -1e5:
            expected = MASKS[2][1]  # float32 keeps the scores beside so small a fill
        given = package.predict(scores=SCORES, mask=array(*mask, shape=(1, 4))).numpy()[0]
        np.testing.assert_allclose(given, expected, atol=1e-3 if precision == "float16" else 1e-6)
        if fill == -1e5 and precision == "float32":
            continue


def test_f01_the_rest_of_the_model_stays_at_float16() -> None:
    """Only the operations between the fill and the softmax compute in float32."""
    linear = nn.Linear(4, 4)

    def model(x: Tensor, mask: Tensor) -> Tensor:
        return linear(F.softmax(linear(x) + (1.0 - mask) * -1e9, dim=-1))

    package = packaged(model, {"x": lucid.ones(1, 4), "mask": lucid.ones(1, 4)})
    made = {node.output.name: node.output.dtype.name for node in package.model.function.nodes if node.op == "linear"}
    assert len(made) == 2
    assert set(made.values()) == {"float16"}


@pytest.mark.parametrize("bound", [1e9, 3e38])
def test_f01_a_bound_beyond_float16_costs_nothing(bound: float) -> None:
    """A clamp to a range wider than float16's does not make its result large."""
    linear = nn.Linear(4, 4)

    def model(x: Tensor) -> Tensor:
        return linear(lucid.maximum(x.clamp(-bound, bound), lucid.tensor(-bound)))

    package = packaged(model, lucid.ones(1, 4))
    assert [node.output.dtype.name for node in package.model.function.nodes if node.op == "linear"] == ["float16"]


def test_f01_a_spec_at_float16_with_three_masks(tmp_path: Path) -> None:
    """A whole build: partly, fully and not masked rows agree with the model on every call."""
    model = f"""
class Model(nn.Module):
    def forward(self, scores, mask):
        return F.softmax(scores + (1.0 - mask) * {LOWEST!r}, dim=-1)
"""
    rows = "[[[1, 1, 0, 0]], [[0, 0, 0, 0]], [[1, 1, 1, 1]]]"
    scores = "[[[1, 2, 3, 4]], [[1, 2, 3, 4]], [[1, 2, 3, 4]]]"
    inputs = {
        "scores": f"shape = [1, 4]; values = {{list = {scores}}}",
        "mask": f"shape = [1, 4]; values = {{list = {rows}}}",
    }
    result = built(tmp_path, model, spec_text(inputs, precision="float16", calls=3))
    output = result.manifest.golden.outputs["output_0"]
    assert output.passed
    assert [call.nonfinite for call in output.calls] == [0, 0, 0]
    assert max(call.max_abs for call in output.calls) < 1e-3


PHASES = array(0.25, 1.25, 2.5, 7.3, 100.3, -0.25)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("divisor", "expected"),
    [
        (1, (0.25, 0.25, 0.5, 0.3, 0.3, 0.75)),
        (1.0, (0.25, 0.25, 0.5, 0.3, 0.3, 0.75)),
        (lucid.ones(6), (0.25, 0.25, 0.5, 0.3, 0.3, 0.75)),
        (0.5, (0.25, 0.25, 0.0, 0.3, 0.3, 0.25)),
        (2, (0.25, 1.25, 0.5, 1.3, 0.3, 1.75)),
        (-1, (-0.75, -0.75, -0.5, -0.7, -0.7, -0.25)),
    ],
)
def test_f18_the_remainder_by_one_is_the_fraction(precision: str, divisor: Any, expected: tuple[float, ...]) -> None:
    """Division by one was dropped and its floor with it, so x % 1 gave zeros. float16 has 100.3 as 100.3125."""
    package = packaged(lambda x: x % divisor, lucid.tensor(PHASES), precision)
    np.testing.assert_allclose(
        package.predict(PHASES).numpy(), expected, atol=0.015 if precision == "float16" else 1e-5
    )


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("write", [lambda x: lucid.floor(x / 1.0), lambda x: x // 1, lambda x: lucid.floor(x)])
def test_f18_the_floor_of_a_division_by_one_stays(precision: str, write: Callable[[Tensor], Tensor]) -> None:
    """Other ways to write the same floor."""
    package = packaged(write, lucid.tensor(PHASES), precision)
    np.testing.assert_array_equal(package.predict(PHASES).numpy(), [0, 1, 2, 7, 100, -1])


DIAGONAL = np.diag(array(3, 1.5, 1, 0.75))
LAYERS: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "conv": (lambda x: F.conv2d(x, lucid.tensor(DIAGONAL.reshape(4, 4, 1, 1))), (1, 4, 1, 1)),
    "linear": (lambda x: F.linear(x, lucid.tensor(DIAGONAL)), (1, 4)),
    "matmul": (lambda x: x @ lucid.tensor(DIAGONAL), (1, 4)),
    "batch norm": (
        lambda x: F.batch_norm(x, lucid.zeros(4), lucid.ones(4) - 1e-5, lucid.tensor(array(3, 1.5, 1, 0.75))),
        (1, 4),
    ),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (lambda y, n: n / y, (1 / 3, 2 / 3, 1, 4 / 3)),
        (lambda y, n: y / n, (3, 1.5, 1, 0.75)),
        (lambda y, n: n - y, (-2, -0.5, 0, 0.25)),
        (lambda y, n: y - n, (2, 0.5, 0, -0.25)),
        (lambda y, n: n * y, (3, 1.5, 1, 0.75)),
        (lambda y, n: y * n, (3, 1.5, 1, 0.75)),
        (lambda y, n: n + y, (4, 2.5, 2, 1.75)),
        (lambda y, n: y + n, (4, 2.5, 2, 1.75)),
    ],
)
def test_f19_a_constant_keeps_its_side(precision: str, layer: str, combine: Any, expected: tuple[float, ...]) -> None:
    """A constant divided by a convolution's result was folded into the weights as if it were the divisor."""
    apply, shape = LAYERS[layer]
    ones = lucid.ones(*shape)
    package = packaged(lambda x: combine(apply(x), ones), lucid.ones(*shape), precision)
    given = package.predict(np.ones(shape, np.float32)).numpy().reshape(-1)
    np.testing.assert_allclose(given, expected, atol=2e-3 if precision == "float16" else 1e-5)
