"""A package at work: how it is called, what it refuses, and that its states are each their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.coreml as cml
from lucid import nn
from lucid.errors import (
    DTypeError,
    GoldenError,
    PackageError,
    RefusedError,
    ShapeError,
    StateError,
    UnsupportedError,
    UsageError,
)


class Accumulator(nn.Module):
    def forward(self, x: Any, scale: Any, total: Any) -> Any:
        total = total + x * scale
        return {"doubled": total * 2.0, "count": (total > 1.0).sum(), "new_total": total}


EXAMPLE = {"x": lucid.ones(1, 4), "scale": lucid.ones(1), "total": lucid.zeros(1, 4)}
STATE = [cml.State("total", "new_total")]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> cml.Package:
    path = tmp_path_factory.mktemp("package") / "a.mlpackage"
    return cml.export(Accumulator().eval(), EXAMPLE, path, state=STATE)


def run(package: cml.Package, x: float, state: Any) -> list[float]:
    inputs = {"x": np.full((1, 4), x, np.float32), "scale": np.ones(1, np.float32)}
    return package.run(inputs, state)["doubled"][0].tolist()


def test_names(package: cml.Package) -> None:
    assert package.input_names == ["x", "scale"]
    assert package.output_names == ["doubled", "count"]
    assert package.state_names == ["total"]
    assert repr(package) == f"<Package {package.path}: x, scale -> doubled, count; states total>"


@pytest.mark.parametrize(
    "call",
    [
        lambda predict, x, s: predict(x, s),
        lambda predict, x, s: predict((x, s)),
        lambda predict, x, s: predict([x, s]),
        lambda predict, x, s: predict(x=x, scale=s),
        lambda predict, x, s: predict(x, scale=s),
        lambda predict, x, s: predict({"scale": s, "x": x}),
        lambda predict, x, s: predict({"x": x}, scale=s),
        lambda predict, x, s: predict(x.numpy(), s.numpy()),
        lambda predict, x, s: predict(x.tolist(), [1.0]),
    ],
)
def test_every_way_to_call(package: cml.Package, call: Any) -> None:
    package.reset_state()
    outputs = call(package.predict, lucid.ones(1, 4) * 3.0, lucid.ones(1))
    assert {name: box.tolist() for name, box in outputs.items()} == {"doubled": [[6.0] * 4], "count": 4}


@pytest.mark.parametrize(
    ("inputs", "error", "text"),
    [
        ({}, UsageError, "missing x, scale. The package takes x: float32 (1, 4), scale: float32 (1,)."),
        ({"x": np.ones((1, 4), np.float32)}, UsageError, "missing scale"),
        ({"x": 1, "scale": 1, "y": 1}, UsageError, "unknown y"),
        ({"x": 1, "scale": 1, "total": 1}, UsageError, "unknown total"),
        (
            {"x": np.ones((4,), np.float32), "scale": [1.0]},
            ShapeError,
            "input x: the shape is (4,), the package declares (1, 4)",
        ),
        ({"x": np.ones((2, 4), np.float32), "scale": [1.0]}, ShapeError, "input x: the shape is (2, 4)"),
        (
            {"x": np.array([["a"] * 4]), "scale": [1.0]},
            DTypeError,
            "input x: the dtype is <U1, the package declares float32",
        ),
        ({"x": np.ones((1, 4), complex), "scale": [1.0]}, DTypeError, "the dtype is complex128"),
    ],
)
def test_inputs_that_do_not_fit(
    package: cml.Package, inputs: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        package.run(inputs)
    assert text in str(caught.value)


def test_too_many_inputs_and_one_given_twice(package: cml.Package) -> None:
    one = lucid.ones(1, 4)
    with pytest.raises(UsageError, match="3 are given"):
        package.predict(one, one, one)
    with pytest.raises(UsageError, match="x is given twice"):
        package.predict(one, x=one)


def test_handles_are_independent(package: cml.Package) -> None:
    first, second = package.make_state(), package.make_state()
    assert run(package, 1, first) == [2.0] * 4
    assert run(package, 10, second) == [20.0] * 4
    assert run(package, 1, first) == [4.0] * 4
    assert first.read("total").tolist() == [[2.0] * 4]
    assert first.read("total").dtype == np.float16
    first.write("total", np.full((1, 4), 7.0))
    assert run(package, 1, first) == [16.0] * 4
    assert run(package, 10, second) == [40.0] * 4
    first.reset("total")
    assert run(package, 1, first) == [2.0] * 4
    assert second.names == ["total"]


def test_what_is_read_or_written_is_a_copy(package: cml.Package) -> None:
    state = package.make_state()
    given = np.ones((1, 4), np.float16)
    state.write("total", given)
    given[:] = 9
    state.read("total")[:] = 9
    assert run(package, 0, state) == [2.0] * 4


def test_a_state_is_written_in_its_own_shape(package: cml.Package) -> None:
    state = package.make_state()
    with pytest.raises(ShapeError, match=r"state total: the value has shape \(3, 4\), the state \(1, 4\)"):
        state.write("total", np.ones((3, 4)))
    with pytest.raises(UsageError, match=r"state other: not a state of this package\. It has total"):
        state.read("other")


def test_without_a_handle_a_run_leaves_no_trace(package: cml.Package) -> None:
    assert run(package, 1, None) == run(package, 1, None) == [2.0] * 4


def test_verify(package: cml.Package) -> None:
    verdict = package.verify(Accumulator().eval(), EXAMPLE)
    assert verdict.passed
    assert verdict.calls == 3
    assert [series.worst.max_abs for series in verdict.outputs] == [0.0, 0.0]

    class Other(Accumulator):
        def forward(self, x: Any, scale: Any, total: Any) -> Any:
            return super().forward(x, scale, total * 1.5)

    with pytest.raises(GoldenError, match=r"output doubled, call 1: 4.0 at \(0, 0\), the reference has 5.0"):
        package.verify(Other().eval(), EXAMPLE)


def test_a_closed_package(tmp_path: Path) -> None:
    with cml.export(nn.Linear(4, 2).eval(), lucid.ones(1, 4), tmp_path / "a.mlpackage") as package:
        assert package.predict(lucid.ones(1, 4)).shape == (1, 2)
    for use in (
        lambda: package.predict(lucid.ones(1, 4)),
        lambda: package.input_names,
        package.make_state,
        package.reset_state,
    ):
        with pytest.raises(PackageError, match=r"the package is closed\. Load it again"):
            use()
    assert repr(package) == "<Package, closed>"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"state": [cml.State("totl", "new_total")]},
            StateError,
            "no input 'totl'; the model takes x, scale, total. Did you mean 'total'?",
        ),
        (
            {"state": [cml.State("total", "output_0")]},
            StateError,
            "no output 'output_0'; the model returns doubled, count, new_total",
        ),
        ({"state": [cml.State("total", "count")]}, StateError, "the input has shape (1, 4), the output ()"),
        ({"state": STATE * 2}, StateError, "is in two states"),
        ({"state": STATE, "minimum_deployment_target": cml.DeploymentTarget.iOS17}, StateError, "iOS18"),
        ({"outputs": ["a", "b"]}, Exception, "2 names are given (a, b), the model returns 3"),
        ({"outputs": ["a", "a", "b"]}, Exception, "Give one name, each its own"),
        ({"outputs": ["x", "b", "c"]}, UnsupportedError, "'x': there is an input of this name"),
        ({"float32": ["nowhere.*"]}, UsageError, "no value of the program has such a name"),
    ],
)
def test_exports_that_are_refused_leave_nothing(
    tmp_path: Path, options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        cml.export(Accumulator().eval(), EXAMPLE, tmp_path / "a.mlpackage", **options)
    assert text in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_every_input_a_state(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="every input is a state"):
        cml.export(
            lambda x: (x + 1.0, x * 2.0), lucid.ones(1, 4), tmp_path / "a.mlpackage", state=[cml.State("x", "output_0")]
        )


def test_a_model_in_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"the model is in training mode.*Call model.eval\(\) first"):
        cml.export(nn.Linear(4, 2), lucid.ones(1, 4), tmp_path / "a.mlpackage")


@pytest.mark.parametrize("interface", [None, cml.Precision.FLOAT16])
def test_the_interface_keeps_the_models_dtypes(tmp_path: Path, interface: Any) -> None:
    example = {"x": lucid.ones(2, 3), "index": lucid.tensor([1]), "flag": lucid.tensor([True, False, True])}

    def model(x: Any, index: Any, flag: Any) -> Any:
        return {"value": lucid.where(flag, x[index], 0.0), "place": x.argmax(dim=-1), "truth": x > 0.5}

    with cml.export(model, example, tmp_path / "a.mlpackage", interface=interface) as package:
        half = "float16" if interface else "float32"
        assert [(each.name, each.dtype.name) for each in package.model.inputs] == [
            ("x", half),
            ("index", "int32"),
            ("flag", "int32"),
        ]
        assert [(each.name, each.dtype.name) for each in package.model.outputs] == [
            ("value", half),
            ("place", "int32"),
            ("truth", "int32"),
        ]
        outputs = package.predict(example)
        assert outputs["value"].tolist() == [[1.0, 0.0, 1.0]]
        assert outputs["truth"].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_metadata_is_kept(tmp_path: Path) -> None:
    about = cml.Metadata("Doubles.", "Ada", "MIT", "1.2", {"colour": "blue"})
    cml.export(lambda x: x * 2.0, lucid.ones(2), tmp_path / "a.mlpackage", metadata=about).close()
    with cml.load(tmp_path / "a.mlpackage") as package:
        found = package.model.metadata
        assert (found.description, found.author, found.license, found.version) == ("Doubles.", "Ada", "MIT", "1.2")
        assert found.user_defined["colour"] == "blue"
