"""Integers: exact whatever their size, at either precision, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
from faults.project import PRECISIONS, array, built, integers, packaged, spec_text
from lucid import Tensor
from lucid.coreml import DeploymentTarget
from lucid.errors import DTypeError, LucidError, TraceError

WIDE = [70000, 40000, -40000, 32768, 65536, 16777217, 2147483647, -2147483648]
TAKES = {
    "slice": lambda x: x[:, 0],
    "gather": lambda x: x[:, lucid.tensor([0])],
    "gather along axis": lambda x: lucid.gather(x, 1, lucid.tensor([[0]])),
    "index_select": lambda x: lucid.index_select(x, 1, lucid.tensor([0])),
    "reshape and slice": lambda x: x.reshape(2, 2)[0, 0:1],
    "concat": lambda x: lucid.cat([x, x], dim=1)[:, 4],
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("target", ["iOS17", "iOS18"])
@pytest.mark.parametrize("take", TAKES)
def test_f04_integers_are_not_narrowed_around_a_gather(precision: str, target: str, take: str) -> None:
    """Integers went through 16 bits at a gather: 70000 came back as 4464."""
    options = {"minimum_deployment_target": DeploymentTarget.parse(target)}
    package = packaged(TAKES[take], lucid.tensor([[1, 2, 3, 4]]), precision, **options)
    for number in WIDE:
        given = package.predict(integers(number, 1, 2, 3).reshape(1, 4)).numpy()
        assert given.dtype == np.int32
        assert given.reshape(-1).tolist() == [number]
    assert not any("16" in value.dtype.name for node in package.model.function.nodes for value in node.outputs)


A, B = integers(4099, -7, 16777217, -16777217), integers(2, 2, 1, 2)
QUOTIENTS: dict[str, tuple[Any, list[int]]] = {
    "floor": (lambda a, b: lucid.div(a, b, rounding_mode="floor"), [2049, -4, 16777217, -8388609]),
    "trunc": (lambda a, b: lucid.div(a, b, rounding_mode="trunc"), [2049, -3, 16777217, -8388608]),
    "//": (lambda a, b: a // b, [2049, -4, 16777217, -8388609]),
    "%": (lambda a, b: a % b, [1, 1, 0, 1]),
    "+": (lambda a, b: a + b, [4101, -5, 16777218, -16777215]),
    "*": (lambda a, b: a * b, [8198, -14, 16777217, -33554434]),
    "cumsum": (lambda a, b: lucid.cumsum(a, 0) + b, [4101, 4094, 16781310, 4094]),
    "maximum": (lambda a, b: lucid.maximum(a, b), [4099, 2, 16777217, 2]),
    "where": (lambda a, b: lucid.where(a > b, a, b), [4099, 2, 16777217, 2]),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_f23_integer_arithmetic_is_exact(precision: str, name: str) -> None:
    """Integers were divided as float16, and the quotient stayed one: 4099 // 2 gave 2050."""
    function, expected = QUOTIENTS[name]
    package = packaged(function, {"a": lucid.ones(4).int(), "b": lucid.ones(4).int()}, precision)
    given = package.predict(A, B).numpy()
    assert given.dtype == np.int32
    assert given.tolist() == expected


@pytest.mark.parametrize("name", ["floor", "trunc", "//", "%"])
def test_f23_eager_and_package_divide_alike(name: str) -> None:
    """The reference itself is exact."""
    function, expected = QUOTIENTS[name]
    assert function(lucid.tensor(A), lucid.tensor(B)).tolist() == expected


def test_f23_sums_of_integers_are_exact() -> None:
    """A sum over integers, and integers that pass through float32 on their way."""
    package = packaged(lambda a: (a.sum(), a.float() * 1.0, (a.float() / 2.0).int()), lucid.ones(3).int())
    total, floats, halves = package.predict(integers(16777216, 4099, 1)).values()
    assert (total.numpy().dtype, total.tolist()) == (np.int32, 16781316)
    assert floats.tolist() == [16777216.0, 4099.0, 1.0]
    assert halves.tolist() == [8388608, 2049, 0]


def test_f23_a_spec_at_float16_with_large_integers(tmp_path: Path) -> None:
    """A whole build: dtype and value of every call are exact."""
    model = """
class Model(nn.Module):
    def forward(self, a, b):
        return {"floor": lucid.div(a, b, rounding_mode="floor"), "sum": (a + b).sum(), "first": a[lucid.tensor([0])]}
"""
    inputs = {
        "a": 'shape = [2]; dtype = "int32"; values = {list = [[4099, -7], [16777217, 70000], [40000, 2147480000]]}',
        "b": 'shape = [2]; dtype = "int32"; values = {list = [[2, 2], [1, 3], [7, 5]]}',
    }
    result = built(tmp_path, model, spec_text(inputs, precision="float16", calls=3))
    assert [(each.name, each.dtype) for each in result.manifest.package.outputs] == [
        ("floor", "int32"),
        ("sum", "int32"),
        ("first", "int32"),
    ]
    assert all(call.max_abs == 0 for output in result.manifest.golden.outputs.values() for call in output.calls)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x + 2**33,
        lambda x: x + lucid.tensor(np.array([2**33])),
        lambda x: lucid.where(x > 3, x, 2**40),
        lambda x: x.clamp(max=2**40),
        lambda x: x.masked_fill(x > 3, -(2**31) - 1),
        lambda x: lucid.full_like(x, 2**31) + x,
        lambda x: x > 2**33,
    ],
)
def test_f24_a_wide_constant_is_refused(write: Any) -> None:
    """A 64-bit constant was clipped to 2147483647 without a word."""
    with pytest.raises(DTypeError, match=r"tensor: -?\d{10,} does not fit int32, Core ML's widest integer"):
        packaged(write, lucid.tensor([0]))


def test_f24_a_wide_example_and_a_wide_input_are_refused() -> None:
    """The example's integers, and those of later calls."""
    with pytest.raises(DTypeError, match="8589934592 does not fit int32"):
        packaged(lambda x: x + 1, np.array([2**33]))
    package = packaged(lambda x: x + 1, np.array([5]))
    assert package.predict(np.array([2**31 - 2])).tolist() == [2**31 - 1]
    with pytest.raises(DTypeError, match=r"input x: 8589934592 .*does not fit int32"):
        package.predict(np.array([2**33]))


def test_f24_int64_arrays_in_range_are_exact_and_declared_int32() -> None:
    """What fits is kept, and the interface says 32 bits."""
    package = packaged(lambda x: x + lucid.tensor(np.array([2**31 - 8])), np.array([5]))
    assert [feature.dtype.name for feature in (*package.model.inputs, *package.model.outputs)] == ["int32", "int32"]
    assert package.predict(np.array([7])).tolist() == [2**31 - 1]


@pytest.mark.parametrize(("listed", "key"), [("[8589934592]", "values.list"), ("[1.5]", "values.list")])
def test_f24_a_spec_with_values_outside_int32_is_refused(tmp_path: Path, listed: str, key: str) -> None:
    """Before anything is loaded, naming the input's values."""
    spec = spec_text({"x": f'shape = [1]; dtype = "int32"; values = {{list = {listed}}}'}, calls=1)
    with pytest.raises(LucidError, match=key):
        built(tmp_path, "Model = None\n", spec)


def test_f24_a_spec_with_a_wide_constant_names_the_call(tmp_path: Path) -> None:
    """The original model cannot be run on it either."""
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return x + 2**33\n"
    spec = spec_text({"x": 'shape = [1]; dtype = "int32"; values = "index"'})
    with pytest.raises((DTypeError, TraceError), match=r"call 0 of the original model.*8589934592 does not fit int32"):
        built(tmp_path, model, spec)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_seen_booleans_and_integers_come_back_as_integers(precision: str) -> None:
    """Boolean outputs came back as float32, and integers as float16."""
    package = packaged(lambda x: (x > 0, x.int(), (x > 0).sum(), x.argmax(dim=0)), lucid.tensor([1.0, -1.0]), precision)
    outputs = [value.numpy() for value in package.predict(array(3.7, -4.2)).values()]
    assert [value.dtype for value in outputs] == [np.int32] * 4
    assert [value.tolist() for value in outputs] == [[1, 0], [3, -4], 1, 0]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("count", [2047, 2049, 4097])
def test_seen_true_entries_are_counted_exactly(precision: str, count: int) -> None:
    """A count of true entries was made in float16, which stops at 2048. The example has none to count."""
    models = {
        "integer": lambda x: (x > 0).sum(),
        "float": lambda x: (x > 0).float().sum(),
        "running": lambda x: (x > 0).float().cumsum(0)[-1:],
        "chosen": lambda x: lucid.where(x > 0, 1, 0).sum(),
    }
    for model in models.values():
        package = packaged(model, -lucid.ones(count), precision)
        assert package.predict(np.ones(count, np.float32)).numpy().reshape(-1).tolist() == [count]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_seen_the_fraction_by_an_integer_cast(precision: str) -> None:
    """Rounding to an integer and back is no idle round trip: 2.6822 gives 0.6822."""
    package = packaged(lambda x: x - x.int().float(), lucid.tensor([0.5]), precision)
    given = package.predict(array(2.6822)).numpy()
    np.testing.assert_allclose(given, [0.6822], atol=1.5e-3 if precision == "float16" else 1e-6)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("position", [3, 2047, 2049, 4093])
def test_seen_positions_are_told_apart(precision: str, position: int) -> None:
    """A table of positions holds whole numbers that float16 cannot count: 2049 became 2048."""

    def model(x: Tensor, position: Tensor) -> tuple[Tensor, ...]:
        places = lucid.arange(4096).float()
        up_to = lucid.where(places <= position.float(), x, 0.0).sum()
        return (places == position.float()).sum(), up_to, places[position]

    package = packaged(model, {"x": lucid.zeros(4096), "position": lucid.tensor([1])}, precision)
    found, up_to, place = package.predict(np.full(4096, 2.0**-12, np.float32), integers(position)).values()
    assert (found.item(), place.item()) == (1, position)
    assert abs(up_to.item() - (position + 1) / 4096) < 1e-3
