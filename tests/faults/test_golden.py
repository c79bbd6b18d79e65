"""The golden check: its verdict is used, sees what is not finite, and judges every sequence from a clean state."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.pipeline.build as building
from faults.project import array, built, packaged, spec_text
from lucid.coreml import Package, State, load
from lucid.coreml.golden import Reference, check, compare, refer
from lucid.coreml.writing import write
from lucid.errors import DiffersError, GoldenError, LoadError, UsageError
from lucid.graph import Constant
from lucid.pipeline.manifest import read_manifest, tree_digest
from lucid.pipeline.package import Packaged
from lucid.pipeline.verify import verify
from lucid.tolerance import Tolerance

TOLERANCE = Tolerance(atol=1e-4, rtol=1e-4)
LINEAR = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return {"first": x * 2.0, "second": self.layer(x)}
"""
INPUT = {"x": "shape = [1, 4]; values = {normal = {}}"}


def change_a_weight(path: Path, factor: float = 1.1) -> None:
    """Write a package anew with the largest number of its linear layer's weight multiplied."""
    with load(path) as package:
        model = package.model
    (node,) = [node for node in model.function.nodes if node.op == "linear"]
    weight = node.inputs["weight"]
    assert isinstance(weight, Constant)
    changed = np.array(weight.data)
    changed[np.unravel_index(np.argmax(np.abs(changed)), changed.shape)] *= factor
    nodes = [
        replace(each, inputs={**each.inputs, "weight": replace(weight, data=changed)}) if each is node else each
        for each in model.function.nodes
    ]
    functions = {**model.functions, model.main: replace(model.function, nodes=tuple(nodes))}
    write(replace(model, functions=functions), path)


def test_f33_a_changed_weight_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exported weights were others than the model's, and the command still ended well. One weight is off by 10%."""
    real = building.package

    def tampered(*arguments: Any) -> Packaged:
        packaged = real(*arguments)
        change_a_weight(packaged.path)
        return packaged

    monkeypatch.setattr(building, "package", tampered)
    with pytest.raises(GoldenError, match=r"output second, call 0: .*, the reference has .*: off by .*, allowed"):
        built(tmp_path, LINEAR, spec_text(INPUT))
    assert not (tmp_path / "result").exists()


def test_f33_a_hand_edited_package_fails_verification(tmp_path: Path) -> None:
    """By the digests; and where the manifest is made to agree, by the numbers, naming output and call."""
    result = built(tmp_path, LINEAR, spec_text(INPUT))
    assert "4 calls agree" in verify(result.directory).checks["golden"]
    change_a_weight(result.package)
    with pytest.raises(DiffersError, match=r"weight.bin: the file has digest [0-9a-f]{64}, the manifest says"):
        verify(result.directory)
    manifest = result.directory / "manifest.json"
    content = json.loads(manifest.read_text())
    files = {name: building.digest(result.package / name) for name in content["package"]["files"]}
    content["package"] |= {"files": files, "tree": tree_digest(files)}
    manifest.write_text(json.dumps(content))
    assert read_manifest(manifest).package.files == files
    with pytest.raises(GoldenError, match=r"output second, call 0: .*, the reference has .*: off by"):
        verify(result.directory)


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_f33_only_the_output_that_is_off_is_named(precision: str) -> None:
    """Every call of that output is judged, and no other output is blamed."""
    linear = lucid.nn.Linear(4, 4)
    package = packaged(lambda x: {"first": x * 2.0, "second": linear(x)}, lucid.ones(1, 4), precision)
    calls = [{"x": array(*numbers, shape=(1, 4))} for numbers in ((1, 2, 3, 4), (-4, 3, 0.5, 1), (0, 0, 0, 0))]
    reference = refer(lambda x: {"first": x * 2.0, "second": linear(x)}, calls, [], {})
    assert check(package, reference).passed
    path = package.path
    assert path is not None
    change_a_weight(path, factor=1.5)
    verdict = check(load(path), reference, tolerances={"second": Tolerance(1e-3, 1e-3)})
    assert not verdict.passed
    assert {series.name: [call.passed for call in series.calls] for series in verdict.outputs} == {
        "first": [True, True, True],
        "second": [False, False, True],
    }
    assert [fault.partition(":")[0] for fault in verdict.faults()] == ["output second, call 0", "output second, call 1"]


def test_f33_the_boundary_of_a_tolerance() -> None:
    """A difference equal to the tolerance passes, the next larger number fails. Tolerances are finite and positive."""
    exact = Tolerance(atol=0.5, rtol=1e-30)
    assert compare(array(1.5), array(1), exact).passed
    assert not compare(np.nextafter(array(1.5), np.float32(2)), array(1), exact).passed
    assert compare(array(0.5), array(1), exact).passed
    relative = Tolerance(atol=1e-30, rtol=0.25)
    assert compare(array(5), array(4), relative).passed
    assert not compare(array(5.0001), array(4), relative).passed
    for number in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(UsageError, match="it must be finite and above zero"):
            Tolerance(atol=number, rtol=1e-3)


NAN, INFINITE = math.nan, math.inf


@pytest.mark.parametrize(
    ("got", "want", "fault"),
    [
        ((NAN, 2, 3), (1, 2, 3), "nan at (0,), the reference has 1.0"),
        ((1, 2, NAN), (1, 2, 3), "nan at (2,), the reference has 3.0"),
        ((1, 2, 3), (1, NAN, 3), "2.0 at (1,), the reference has nan"),
        ((INFINITE, 2), (65504, 2), "inf at (0,), the reference has 65504.0"),
        ((65504, 2), (INFINITE, 2), "65504.0 at (0,), the reference has inf"),
        ((INFINITE,), (-INFINITE,), "inf at (0,), the reference has -inf"),
        ((NAN,), (INFINITE,), "nan at (0,), the reference has inf"),
        ((), (1, 2, 3), "the shape is (0,), the reference's (3,)"),
        ((1, 2, 3), (), "the shape is (3,), the reference's (0,)"),
    ],
)
def test_f34_what_is_not_finite_is_seen(got: tuple[float, ...], want: tuple[float, ...], fault: str) -> None:
    """NaN on either side passed for close."""
    result = compare(array(*got), array(*want), Tolerance(atol=1e30, rtol=1.0))
    assert not result.passed
    assert fault in result.fault


@pytest.mark.parametrize(
    ("got", "want", "nonfinite"),
    [((), (), 0), ((NAN, 2), (NAN, 2), 1), ((INFINITE, -INFINITE), (INFINITE, -INFINITE), 2)],
)
def test_f34_the_same_on_both_sides_passes_and_is_counted(got: Any, want: Any, nonfinite: int) -> None:
    """Empty against empty passes; NaN or infinity at the same place passes and is reported."""
    result = compare(array(*got), array(*want), TOLERANCE)
    assert (result.passed, result.nonfinite) == (True, nonfinite)


@pytest.mark.parametrize("dtype", [np.int32, np.bool_])
def test_f34_integers_and_booleans_must_be_equal(dtype: type) -> None:
    """No tolerance excuses another integer, and no shape another one."""
    wide = Tolerance(atol=1e30, rtol=1.0)
    assert compare(np.array([1, 0], dtype), np.array([1, 0], dtype), wide).passed
    assert not compare(np.array([1, 1], dtype), np.array([1, 0], dtype), wide).passed
    assert not compare(np.array([[1, 0]], dtype), np.array([1, 0], dtype), wide).passed
    assert not compare(array(1, 0), np.array([1, 0], dtype), wide).passed


def test_f34_a_model_that_gives_nan_itself_is_refused(tmp_path: Path) -> None:
    """Nothing can be checked against NaN; the call is named."""
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return lucid.sqrt(x)\n"
    spec = spec_text({"x": "shape = [2]; values = {list = [1, 4, -1, 9]}"})
    with pytest.raises(LoadError, match="the original model itself gives NaN in output_0 at call 2"):
        built(tmp_path, model, spec)


def test_f34_infinity_in_the_package_alone_fails_the_check(tmp_path: Path) -> None:
    """A float16 package at numbers that its build never saw: it overflows where the model does not."""
    model = "class Model(nn.Module):\n    def forward(self, x):\n        return x * 300.0 - x * 290.0\n"
    spec = spec_text({"x": "shape = [2]; values = {list = [0.1, 0.5]}"}, precision="float16", calls=2)
    result = built(tmp_path, model, spec)
    calls = [{"x": array(0.1, 0.1)}, {"x": array(1000, 1)}]
    reference = refer(lambda x: x * 300.0 - x * 290.0, calls, [], {})
    with load(result.package) as package:
        verdict = check(package, reference)
    assert not verdict.passed
    assert verdict.outputs[0].calls[0].passed
    assert "nan at (0,), the reference has 10000.0" in verdict.outputs[0].calls[1].fault


def shift(s: lucid.Tensor, x: lucid.Tensor) -> tuple[lucid.Tensor, lucid.Tensor]:
    new = lucid.cat([s, x], dim=-1)[..., -3:]
    return new.sum(dim=-1), new


STATES = [State("s", "output_1")]


def sequence(*numbers: float) -> Reference:
    calls = [{"x": array(number, shape=(1, 1, 1))} for number in numbers]
    return refer(shift, calls, STATES, {"s": np.zeros((1, 1, 3), np.float32)})


def test_f35_every_sequence_is_judged_from_a_clean_state() -> None:
    """Every prompt after the first was judged on what the one before had left. Both orders, the same verdicts."""
    package = packaged(shift, {"s": lucid.zeros(1, 1, 3), "x": lucid.ones(1, 1, 1)}, "float32", state=STATES)
    first, second = sequence(1, 2, 3, 4), sequence(7, -5, 0.5)
    assert [float(out["output_0"][0, 0]) for out in first.outputs] == [1.0, 3.0, 6.0, 9.0]
    package.predict(array(9, shape=(1, 1, 1)))  # dirt in the package's own state
    one = [check(package, reference).to_json() for reference in (first, second)]
    other = [check(package, reference).to_json() for reference in (second, first)]
    assert one == other[::-1]
    assert all(verdict["passed"] for verdict in one)


def test_f35_a_frozen_state_is_seen() -> None:
    """A package that forgets its state fails, and one whose state cannot be seen is called blind."""
    forgetting = packaged(lambda s, x: (s * 0.0 + x, s + x), {"s": lucid.zeros(1), "x": lucid.ones(1)}, state=STATES)
    calls = [{"x": array(number)} for number in (1, 2, 3)]
    zero = {"s": np.zeros(1, np.float32)}
    wanted = refer(lambda s, x: (s + x, s + x), calls, STATES, zero)
    verdict = check(forgetting, wanted)
    assert [call.passed for call in verdict.outputs[0].calls] == [True, False, False]
    blind = check(forgetting, refer(lambda s, x: (s * 0.0 + x, s + x), calls, STATES, zero))
    assert [each.name for each in blind.checks if not each.passed] == ["sees the state"]


def test_f39_the_shape_of_every_output_is_compared() -> None:
    """A batch of eight came back as a batch of one."""
    package = packaged(lambda x: 2.0 * x, lucid.ones(8, 256))
    x = np.arange(8 * 256, dtype=np.float32).reshape(8, 256) % 7
    assert package.predict(x).shape == (8, 256)
    assert check(package, Reference([{"x": x}], [{"output_0": 2 * x}], {})).passed
    verdict = check(package, Reference([{"x": x}], [{"output_0": 2 * x[:1]}], {}))
    assert "output output_0, call 0: the shape is (8, 256), the reference's (1, 256)" in verdict.faults()


def test_f46_other_places_of_equal_values_fail_as_integers_do() -> None:
    """lucid's own order is fixed, so model and package agree on the places of ties; others are told apart."""
    package: Package = packaged(lambda x: lucid.topk(x, 3), lucid.ones(5))
    call = {"x": array(1, 5, 3, 5, 5)}
    reference = refer(lambda x: lucid.topk(x, 3), [call], [], {})
    assert check(package, reference).passed
    swapped = {**reference.outputs[0], "indices": np.array([1, 4, 3], np.int32)}
    assert not check(package, Reference([call], [swapped], {})).passed
