"""Packages that coremltools made, run by lucid: control flow, and every way a package can be shaped."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import lucid.coreml as cml
from lucid.coreml.reading import read
from lucid.coreml.referee import referee
from lucid.coreml.writing import write
from lucid.errors import DTypeError, PackageError, ShapeError, UnsupportedError, UsageError
from lucid.graph import render, verify


@pytest.fixture(scope="session")
def runnable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runnable")
    script = Path(__file__).with_name("runnable.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


NAMES = (
    *("nested", "grown", "stated", "cast", "optional", "numbered", "ranged", "chosen", "unknown", "several"),
    *("rgb", "bgr", "grey", "grey16", "rgb_array", "bgr_array", "grey_array", "grey16_array"),
    *("picture_ranged", "picture_chosen"),
)


@pytest.mark.parametrize("name", NAMES)
def test_reading_and_writing_again_changes_nothing(runnable: Path, tmp_path: Path, name: str) -> None:
    package = read(runnable / f"{name}.mlpackage")
    write(package, tmp_path / "again.mlpackage")
    again = read(tmp_path / "again.mlpackage")
    assert again.interfaces == package.interfaces
    for key, function in package.functions.items():
        assert render(verify(again.functions[key])) == render(verify(function))
    if name != "unknown":
        assert referee(tmp_path / "again.mlpackage").operations > 0


# -- control flow ------------------------------------------------------------------------------------------------------


def collatz(value: int, steps: int) -> int:
    start = value
    for _ in range(steps):
        value = value // 2 if value % 2 == 0 else 3 * value + 1
    return value + 1000 * start


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 12])
def test_a_loop_of_nested_conditions(runnable: Path, steps: int) -> None:
    with cml.load(runnable / "nested.mlpackage") as package:
        for numbers in ([1, 2, 4], [3, 3, 3], [0, 0, 8]):
            outputs = package.run({"x": np.float32(numbers), "steps": np.float32([steps])})
            assert outputs["result"] == collatz(sum(numbers), steps)


def test_lists_grow_and_are_scattered_into(runnable: Path) -> None:
    """Elements 0 to 3 are i times the sum of the rows; 0 and 5 are then the rows; 4 was never written; length is 6."""
    x = np.float32([[1, 2, 3], [10, 20, 30]])
    with cml.load(runnable / "grown.mlpackage") as package:
        result = package.run({"x": x})["result"]
    first = np.float32([11, 22, 33])
    np.testing.assert_array_equal(result, np.stack([x[1], x[0], 3 * first, 0 * first]) + first + 6)


def test_a_block_that_reads_a_state_sees_it_before_the_write(runnable: Path) -> None:
    with cml.load(runnable / "stated.mlpackage") as package:
        state = package.make_state()
        results = [package.run({"x": np.float32([x])}, state)["result"].tolist() for x in ([1, 2], [3, 4], [-5, -6])]
        assert results == [[0, 3], [3, 7], [-7, -11]]
        assert state.read("held").tolist() == [[0, 0], [-5, -6], [0, 0], [0, 0]]


def test_a_weight_that_is_cast_is_ready_before_the_run(runnable: Path) -> None:
    x = np.float32([[1, -2, 3], [0.5, 0, -1]])
    weight = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float16).astype(np.float32)
    with cml.load(runnable / "cast.mlpackage") as package:
        np.testing.assert_allclose(package.run({"x": x})["result"], x @ weight.T, rtol=1e-6, atol=1e-6)


# -- what callers may pass ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 2, 1), (1, 4, 7), (1, 3, 5)])
def test_sizes_within_the_declared_ranges(runnable: Path, shape: tuple[int, ...]) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with cml.load(runnable / "ranged.mlpackage") as package:
        np.testing.assert_array_equal(package.run({"x": x})["result"], x.sum(1))


@pytest.mark.parametrize("shape", [(1, 1, 5), (1, 5, 5), (1, 2, 8), (1, 2, 0), (2, 2, 2), (2, 2), (1, 2, 2, 2)])
def test_sizes_outside_of_the_declared_ranges(runnable: Path, shape: tuple[int, ...]) -> None:
    text = f"input x: the shape is {shape}, the package declares (1, 2 to 4, 1 to 7)."
    with cml.load(runnable / "ranged.mlpackage") as package, pytest.raises(ShapeError, match=re.escape(text)):
        package.run({"x": np.zeros(shape, np.float32)})


def test_enumerated_shapes(runnable: Path) -> None:
    with cml.load(runnable / "chosen.mlpackage") as package:
        for shape in ((1, 2, 5), (1, 4, 6)):
            np.testing.assert_array_equal(
                package.run({"x": np.ones(shape, np.float32)})["result"], np.full((1, shape[2]), shape[1], np.float32)
            )
        text = "input x: the shape is (1, 2, 6), the package declares (1, 4, 6) or (1, 2, 5)."
        with pytest.raises(ShapeError, match=re.escape(text)):
            package.run({"x": np.ones((1, 2, 6), np.float32)})


def test_optional_inputs_have_their_default(runnable: Path) -> None:
    x = np.float32([[1, 2, 3, 4]])
    with cml.load(runnable / "optional.mlpackage") as package:
        assert package.predict(x).tolist() == [[-1.5, -0.5, 0.5, 1.5]]
        assert package.predict(x, x).tolist() == [[0, 0, 0, 0]]
        with pytest.raises(UsageError, match=re.escape("missing x. The package takes x: float32 (1, 4), y: float32")):
            package.run({"y": x})


def test_classifiers_give_a_label_and_probabilities(runnable: Path) -> None:
    with cml.load(runnable / "numbered.mlpackage") as package:
        outputs = package.predict(np.log(np.float32([[1, 5, 2]])))
    assert isinstance(outputs, dict)
    assert outputs["classLabel"] == 8
    assert type(outputs["classLabel"]) is int
    assert outputs["classLabel_probs"] == pytest.approx({7: 0.125, 8: 0.625, 9: 0.25}, rel=1e-6)


# -- pictures ----------------------------------------------------------------------------------------------------------

PIXELS = np.random.default_rng(5).integers(0, 256, (4, 5, 3), np.uint8)
GREY = np.ascontiguousarray(PIXELS[..., 0])


def drawn(pixels: np.ndarray, order: list[int]) -> np.ndarray:
    """What the packages do: 0.5 p + (1, 2, 3) on the way in, + (10, 20, 30), in the order of their channels."""
    added = np.float32([11, 22, 33])[order]
    return np.clip(np.rint(pixels * np.float32(0.5) + added), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(("name", "order"), [("rgb", [0, 1, 2]), ("bgr", [2, 1, 0])])
def test_coloured_pictures(runnable: Path, name: str, order: list[int]) -> None:
    wanted = drawn(PIXELS, order)
    tensor = np.moveaxis(PIXELS[..., order], 2, 0)[None]
    with cml.load(runnable / f"{name}.mlpackage") as package:
        for picture in (PIXELS, Image.fromarray(PIXELS), Image.fromarray(PIXELS).convert("RGBA"), tensor):
            result = package.run({"x": picture})["result"]
            assert result.dtype == np.uint8
            np.testing.assert_array_equal(result, wanted)


def test_coloured_pictures_as_arrays(runnable: Path) -> None:
    with cml.load(runnable / "bgr_array.mlpackage") as package:
        result = package.run({"x": PIXELS})["result"]
    wanted = np.moveaxis(PIXELS[..., ::-1] * np.float32(0.5) + np.float32([11, 22, 33]), 2, 0)[None]
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["grey", "grey16"])
def test_grey_pictures(runnable: Path, name: str) -> None:
    exact = GREY * np.float32(0.5) + np.float32(11)
    wanted: Any = exact.astype(np.float16) if name == "grey16" else np.rint(exact).astype(np.uint8)
    with cml.load(runnable / f"{name}.mlpackage") as package:
        for picture in (GREY, Image.fromarray(GREY), GREY[None, None]):
            result = package.run({"x": picture})["result"]
            assert result.dtype == wanted.dtype
            np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("picture", "error", "text"),
    [
        (PIXELS[:3], ShapeError, "input x: the shape is (3, 5), the package declares (4, 5)."),
        (GREY, ShapeError, "input x: the shape is (4, 5), a picture in rgb has (height, width, 3)."),
        (PIXELS > 7, DTypeError, "input x: the dtype is bool, a picture has numbers from 0 to 255."),
    ],
)
def test_pictures_that_do_not_fit(runnable: Path, picture: Any, error: type[Exception], text: str) -> None:
    with cml.load(runnable / "rgb.mlpackage") as package, pytest.raises(error, match=re.escape(text)):
        package.run({"x": picture})


@pytest.mark.parametrize(
    ("name", "fitting", "others", "text"),
    [
        ("ranged", [(2, 1), (4, 6), (3, 5)], [(1, 5), (5, 5), (3, 7)], "(2 to 4, 1 to 6)"),
        ("chosen", [(2, 5), (4, 6)], [(2, 6), (4, 5), (3, 5)], "(2, 5) or (4, 6)"),
    ],
)
def test_pictures_of_several_sizes(
    runnable: Path, name: str, fitting: list[tuple[int, int]], others: list[tuple[int, int]], text: str
) -> None:
    with cml.load(runnable / f"picture_{name}.mlpackage") as package:
        for height, width in fitting:
            result = package.run({"x": np.full((height, width, 3), 7, np.uint8)})["result"]
            assert result.shape == (1, 3, height, width)
            assert result[0, :, 0, 0].tolist() == [17, 27, 37]
        for size in others:
            message = f"input x: the shape is {size}, the package declares {text}."
            with pytest.raises(ShapeError, match=re.escape(message)):
                package.run({"x": np.zeros((*size, 3), np.uint8)})


# -- functions and operations ------------------------------------------------------------------------------------------


def test_functions_by_name(runnable: Path) -> None:
    path = runnable / "several.mlpackage"
    with cml.load(path) as package:
        assert package.function_names == ["doubled", "cached"]
        assert package.predict(np.float32([[1, 2, 3, 4]])).tolist() == [[2, 4, 6, 8]]
        cached = package.function("cached")
        assert (cached.state_names, cached.function_names) == (["held"], ["cached", "doubled"])
        assert cached.predict(np.float32([[1, 2]])).tolist() == [0, 3]
        assert cached.predict(np.float32([[1, 2]])).tolist() == [3, 3]
    with cml.load(path, function="cached") as package:
        assert package.predict(np.float32([[1, 2]])).tolist() == [0, 3]
    with pytest.raises(UsageError, match=r"function main: not one of this package\. It has doubled, cached\."):
        cml.load(path, function="main")
    with pytest.raises(PackageError, match="closed"):
        package.function("doubled")


def test_an_unknown_operation_loads_and_fails_when_it_runs(runnable: Path) -> None:
    package = cml.load(runnable / "unknown.mlpackage")
    assert package.input_names == ["x"]
    assert [node.op for node in package.model.function.nodes] == ["frobnicate"]
    text = "function main, operation 0 (-> result): operation frobnicate: lucid does not know it."
    with pytest.raises(UnsupportedError, match=re.escape(text)):
        package.run({"x": np.zeros((1, 4), np.float32)})
