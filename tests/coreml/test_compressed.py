"""Packages with compressed weights, against what coremltools decompresses them to."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lucid.coreml as cml
from lucid.coreml.opset import choose_target, fit_opset
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.reading import read
from lucid.dtypes import as_dtype
from lucid.engines.decompression import decompress, is_compressed
from lucid.errors import PackageError, ShapeError, UnsupportedError
from lucid.graph import Constant, Function
from lucid.passes import fold

LOOKED_UP = (
    *(f"palettized_{bits}" for bits in (1, 2, 4, 6, 8)),
    *(f"palettized_{bits}_new" for bits in (1, 2, 3, 4, 6, 8)),
    *("palettized_2_grouped", "palettized_4_grouped", "pruned", "pruned_new", "pruned_palettized"),
    *("vectors_0", "vectors_1", "vectors_-2", "sparse_vectors"),
    *("half_palettized_6", "half_palettized_4_grouped", "half_pruned_new"),
)
SCALED = (
    *(f"{dtype}_{mode}" for dtype in ("int8", "uint8") for mode in ("linear", "linear_symmetric")),
    *(f"{dtype}_{grain}" for dtype in ("int4", "uint4", "int8") for grain in ("channel", "tensor")),
    *("int4_block", "pruned_int8", "palettized_int8", "sparse_scaled"),
    *("half_int8_linear", "half_int4_block", "half_pruned_int8"),
)


@pytest.fixture(scope="session")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compressed")
    script = Path(__file__).with_name("compressed.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def weights(function: Function) -> list[Constant]:
    found = [node.inputs["weight"] for node in function.nodes if "weight" in node.inputs]
    assert all(isinstance(value, Constant) for value in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("name", LOOKED_UP + SCALED)
def test_weights_are_those_of_coremltools(compressed: Path, name: str) -> None:
    function = read(compressed / f"{name}.mlpackage").function
    assert any(is_compressed(node) for node in function.nodes)
    got = weights(decompress(function))
    wanted = weights(read(compressed / f"{name}_dense.mlpackage").function)
    assert len(got) == len(wanted) > 0
    for value, expected in zip(got, wanted, strict=True):
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
        assert isinstance(value.data, np.ndarray)
        assert value.data.dtype == value.dtype.numpy
        steps = 0 if name in LOOKED_UP else 1  # a product may round on either side
        np.testing.assert_array_max_ulp(value.data, np.asarray(expected.data), steps)


@pytest.mark.parametrize("name", LOOKED_UP + SCALED)
def test_packages_run_as_their_decompressed_ones(compressed: Path, name: str) -> None:
    with (
        cml.load(compressed / f"{name}.mlpackage") as package,
        cml.load(compressed / f"{name}_dense.mlpackage") as dense,
    ):
        (feature,) = package.model.inputs
        x = np.random.default_rng(1).normal(size=feature.shape).astype(feature.dtype.numpy)
        (got,) = package.run({"x": x}).values()
        (wanted,) = dense.run({"x": x}).values()
        assert np.abs(wanted).max() > 0.1
        tolerance = 2e-3 if name.startswith("half") else 1e-5
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def test_folding_keeps_weights_compressed(compressed: Path) -> None:
    function = read(compressed / "palettized_4.mlpackage").function
    assert [node.op for node in fold(function).nodes] == [node.op for node in function.nodes]


def test_a_compressed_weight_of_the_wrong_shape_is_named(compressed: Path) -> None:
    function = read(compressed / "palettized_4_new.mlpackage").function
    position = next(index for index, node in enumerate(function.nodes) if is_compressed(node))
    node = function.nodes[position]
    lut = node.inputs["lut"]
    assert isinstance(lut, Constant)
    assert isinstance(lut.data, np.ndarray)
    short = replace(lut, shape=(*lut.shape[:-2], 5, 1), data=lut.data[..., :5, :])
    nodes = list(function.nodes)
    nodes[position] = replace(node, inputs={**node.inputs, "lut": short})
    place = rf"function main, operation {position} \(constexpr_lut_to_dense -> {node.output.name}\): .* 5 entries"
    with pytest.raises(ShapeError, match=place):
        decompress(replace(function, nodes=tuple(nodes)))


def test_a_compressed_weight_that_is_computed_is_refused(compressed: Path) -> None:
    function = read(compressed / "int8_linear.mlpackage").function
    position = next(index for index, node in enumerate(function.nodes) if is_compressed(node))
    nodes = list(function.nodes)
    nodes[position] = replace(nodes[position], inputs={**nodes[position].inputs, "scale": function.inputs[0]})
    with pytest.raises(UnsupportedError, match="%x is computed at run time"):
        decompress(replace(function, nodes=tuple(nodes)))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"lut": np.zeros((1, 1, 16, 1), np.float64)}, PackageError, "is float64 (16, 32), the program says float32"),
        (
            {"vector_axis": np.array([0, 1], np.float32)},
            PackageError,
            "the compressed weight is damaged: ValueError: can only",
        ),
        (
            {"indices": np.zeros((3, 5), np.uint8)},
            PackageError,
            "is float32 (3, 5), the program says float32 (16",
        ),
        ({"wrong": np.zeros(1, np.uint8)}, UnsupportedError, "lucid does not know its input wrong"),
        ({"indices": np.full((16, 32), 16, np.uint8)}, ShapeError, "an index is 16, the palettes have 16 entries"),
    ],
)
def test_damaged_weights_are_told(
    compressed: Path, change: dict[str, np.ndarray], error: type[Exception], text: str
) -> None:
    function = read(compressed / "palettized_4_new.mlpackage").function
    position = [index for index, node in enumerate(function.nodes) if is_compressed(node)][-1]
    nodes = list(function.nodes)
    node = nodes[position]
    given = {name: Constant(name, as_dtype(data.dtype), data.shape, data) for name, data in change.items()}
    nodes[position] = replace(node, inputs={**node.inputs, **given})
    with pytest.raises(error, match=re.escape(text)):
        decompress(replace(function, nodes=tuple(nodes)))


def test_forms_of_compressed_weights_and_their_targets(compressed: Path) -> None:
    target = DeploymentTarget
    old = read(compressed / "palettized_4.mlpackage").function
    assert choose_target(old) == target.iOS16
    assert [node.op for node in fit_opset(old, target.iOS17).nodes] == [node.op for node in old.nodes]
    with pytest.raises(UnsupportedError, match="shape exists until iOS17, the deployment target is iOS18"):
        fit_opset(old, target.iOS18)
    new = read(compressed / "pruned_new.mlpackage").function
    assert choose_target(new) == target.iOS18
    with pytest.raises(UnsupportedError, match="the form without shape exists since iOS18"):
        fit_opset(new, target.iOS17)
