"""Images, sequences, boxes and random numbers in packages: those of coremltools, run by lucid, and lucid's own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import lucid
import lucid.coreml as cml
from lucid import Tensor, nn, ops
from lucid.coreml.reading import read
from lucid.coreml.referee import referee
from lucid.coreml.writing import write
from lucid.graph import render, verify

STEPS, BATCH, FEATURES, SIZE = 5, 2, 3, 4
NAMES = (
    *("resized15", "resized17", "cut16", "cut17", "sampled", "halved", "tagger", "half_tagger", "gated", "simple"),
    *("boxes15", "boxes17", "quantized", "drawn"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imaging")
    script = Path(__file__).with_name("imaging.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype(np.float32)


def weights(*shape: int) -> np.ndarray:
    return normal(*shape) * np.float32(0.5)


def run(folder: Path, name: str, **inputs: Any) -> dict[str, Any]:
    with cml.load(folder / f"{name}.mlpackage") as package:
        return dict(package.run(inputs))


def close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    expected = expected.detach().numpy() if isinstance(expected, torch.Tensor) else expected
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_reading_and_writing_again_changes_nothing(made: Path, tmp_path: Path, name: str) -> None:
    package = read(made / f"{name}.mlpackage")
    write(package, tmp_path / "again.mlpackage")
    again = read(tmp_path / "again.mlpackage")
    for key, function in package.functions.items():
        assert render(verify(again.functions[key])) == render(verify(function))


# -- images -----------------------------------------------------------------------------------------------------------


def test_resized_images(made: Path) -> None:
    x = normal(1, 2, 5, 4)
    box = torch.tensor(x)
    found = run(made, "resized15", x=x)
    close(found["up"], F.interpolate(box, (10, 6), mode="bilinear", align_corners=False))
    close(found["up_nearest"], F.interpolate(box, (15, 8), mode="nearest"))
    close(found["to"], F.interpolate(box, (7, 3), mode="bilinear", align_corners=True))
    close(found["to_nearest"], F.interpolate(box, (8, 3), mode="nearest-exact"))
    np.testing.assert_array_equal(found["cropped"], x[:, :, 1:-2, :-3])


def test_sizes_computed_at_run_time(made: Path) -> None:
    x = normal(1, 2, 5, 4)
    for size in ((6, 8), (3, 2), (0, 9)):
        wanted = [size[0] or 5, size[1]]
        found = run(made, "resized17", x=x, shape=np.array([1, *size], np.int32))
        close(found["linear"], F.interpolate(torch.tensor(x), wanted, mode="bilinear", align_corners=False))
        close(found["nearest"], F.interpolate(torch.tensor(x), wanted, mode="nearest-exact"))


def test_half_precision_image(made: Path) -> None:
    x = normal(1, 2, 6, 8)
    expected = F.interpolate(torch.tensor(x), (15, 20), mode="bilinear", align_corners=False)
    close(run(made, "halved", x=x)["y"], expected, 2e-3)


def test_cut_images(made: Path) -> None:
    """Both forms cut the same; aligned corners are PyTorch's samples at evenly spaced rows and columns."""
    x = normal(2, 3, 6, 5)
    boxes = np.float32([[0.5, 0.25, 4.5, 3.75], [1, 0.5, 4, 3]])
    roi = np.concatenate([np.float32([[1], [0]]), boxes], axis=1).reshape(2, 1, 5, 1, 1)
    (old,) = run(made, "cut16", x=x, roi=roi).values()
    (new,) = run(made, "cut17", x=x, boxes=boxes).values()
    np.testing.assert_array_equal(old[:, 0], new)
    for box, image, found in zip(boxes, (1, 0), new, strict=True):
        rows, columns = np.linspace(box[0], box[2], 3) / 2.5 - 1, np.linspace(box[1], box[3], 2) / 2 - 1
        grid = np.stack(np.meshgrid(columns, rows), axis=-1).astype(np.float32)
        expected = F.grid_sample(torch.tensor(x[image])[None], torch.tensor(grid)[None], align_corners=True)
        close(found, expected[0])


def test_sampled_images(made: Path) -> None:
    x, grid, matrix = normal(2, 3, 5, 4), normal(2, 6, 7, 2) * 2, normal(1, 6)
    found = run(made, "sampled", x=x, grid=grid, matrix=matrix)
    image = torch.tensor(x)
    close(found["symmetric"], F.grid_sample(image, torch.tensor(grid), padding_mode="reflection", align_corners=False))
    theta = torch.tensor(matrix).reshape(1, 2, 3).repeat(2, 1, 1)
    close(found["affine"], F.grid_sample(image, F.affine_grid(theta, [2, 3, 6, 3], True), align_corners=True))


# -- sequences --------------------------------------------------------------------------------------------------------


def turned(array: np.ndarray, order: tuple[int, ...]) -> torch.nn.Parameter:
    parts = np.split(array, len(order))
    return torch.nn.Parameter(torch.tensor(np.concatenate([parts[i] for i in order])))


def filled(layer: Any, gates: int, order: tuple[int, ...], suffix: str = "", factor: int = 1) -> None:
    """Give a PyTorch layer the weights of the packages, whose gates MIL has in another order, and no second bias."""
    setattr(layer, f"weight_ih_l0{suffix}", turned(weights(gates * SIZE, FEATURES) * factor, order))
    setattr(layer, f"weight_hh_l0{suffix}", turned(weights(gates * SIZE, SIZE) * factor, order))
    setattr(layer, f"bias_ih_l0{suffix}", turned(weights(gates * SIZE) * factor, order))
    setattr(layer, f"bias_hh_l0{suffix}", torch.nn.Parameter(torch.zeros(gates * SIZE)))


@pytest.mark.parametrize(("name", "tolerance"), [("tagger", 2e-5), ("half_tagger", 5e-3)])
def test_bidirectional_lstm(made: Path, name: str, tolerance: float) -> None:
    layer = torch.nn.LSTM(FEATURES, SIZE, bidirectional=True)
    filled(layer, 4, (0, 1, 3, 2))
    filled(layer, 4, (0, 1, 3, 2), "_reverse", 2)
    x, h, c = normal(STEPS, BATCH, FEATURES), normal(BATCH, 2 * SIZE), normal(BATCH, 2 * SIZE, seed=1)
    starts = tuple(torch.tensor(np.stack(np.split(state, 2, axis=1))) for state in (h, c))
    expected, lasts = layer(torch.tensor(x), starts)
    every, last, cell = run(made, name, x=x, h=h, c=c).values()
    close(every, expected, tolerance)
    close(last, torch.cat(tuple(lasts[0]), dim=-1), tolerance)
    close(cell, torch.cat(tuple(lasts[1]), dim=-1), tolerance)


def test_gru_with_an_initial_state(made: Path) -> None:
    layer = torch.nn.GRU(FEATURES, SIZE)
    filled(layer, 3, (0, 2, 1))
    layer.bias_hh_l0 = layer.bias_ih_l0
    layer.bias_ih_l0 = turned(weights(3 * SIZE) * 2, (0, 2, 1))
    x, h = normal(STEPS, BATCH, FEATURES), normal(BATCH, SIZE)
    expected, _ = layer(torch.tensor(x), torch.tensor(h)[None])
    every, last = run(made, "gated", x=x, h=h).values()
    close(every, expected)
    close(last, expected[-1])


def test_rnn_that_reads_backwards(made: Path) -> None:
    layer = torch.nn.RNN(FEATURES, SIZE, nonlinearity="relu", bias=False)
    layer.weight_ih_l0, layer.weight_hh_l0 = (turned(weights(SIZE, size), (0,)) for size in (FEATURES, SIZE))
    x, h = normal(STEPS, BATCH, FEATURES), normal(BATCH, SIZE)
    expected, _ = layer(torch.tensor(x[::-1].copy()), torch.tensor(h)[None])
    every, last = run(made, "simple", x=x, h=h).values()
    close(every, expected[-1:])
    close(last, expected[-1])


# -- boxes, integers, random numbers ----------------------------------------------------------------------------------


def test_boxes_of_both_forms(made: Path) -> None:
    """Boxes 0 and 1 nearly coincide, as do 2 and 3; 4 is apart; 5 is apart and below the score that iOS15 asks for."""
    boxes = np.float32([[2, 2, 2, 2], [2, 2, 2, 1.75], [9, 2, 2, 2], [9, 2, 1.75, 2], [2, 9, 2, 2], [9, 9, 2, 2]])[None]
    scores = np.float32([[0.9, 0], [0.8, 0], [0.2, 0.7], [0.95, 0.1], [0.5, 0.4], [0.05, 0.06]])[None]
    chosen, kept, places, count = run(made, "boxes15", boxes=boxes, scores=scores).values()
    assert (places.tolist(), count.tolist()) == ([[3, 0, 2, 4]], [4])  # 2 and 3 are of different classes
    np.testing.assert_array_equal(chosen[0], boxes[0, [3, 0, 2, 4]])
    np.testing.assert_array_equal(kept[0], scores[0, [3, 0, 2, 4]])
    chosen, kept, places = run(
        made, "boxes17", boxes=boxes.transpose(0, 2, 1), scores=scores.transpose(0, 2, 1)
    ).values()
    assert places.tolist() == [[3, 0, 4, 5]]
    np.testing.assert_array_equal(chosen[0].T, boxes[0, [3, 0, 4, 5]])
    np.testing.assert_array_equal(kept[0].T, scores[0, [3, 0, 4, 5]])


def test_quantized_numbers(made: Path) -> None:
    x = normal(2, 8) * 4
    scale, zero = np.float32([[0.0625], [0.125]]), np.float32([[100], [3]])
    expected = (np.clip(np.round(x / scale) + zero, 0, 255) - zero) * scale
    np.testing.assert_array_equal(run(made, "quantized", x=x)["y"], expected)


def test_random_numbers(made: Path) -> None:
    x = normal(2, 5)
    shape = np.array([3, 4], np.int32)
    with cml.load(made / "drawn.mlpackage") as package:
        lucid.manual_seed(11)
        first, second = (package.run({"x": x}) for _ in range(2))
        lucid.manual_seed(11)
        again = package.run({"x": x})
    for name in ("uniform", "normal", "bernoulli", "categorical"):
        np.testing.assert_array_equal(first[name], second[name])
    assert (first["fresh"] != second["fresh"]).all()
    np.testing.assert_array_equal(again["fresh"], first["fresh"])
    np.testing.assert_array_equal(first["uniform"], ops.random_uniform(shape, np.float32(-1), np.float32(3), 5))
    np.testing.assert_array_equal(first["normal"], ops.random_normal(shape, np.float32(1), np.float32(2), 5))
    np.testing.assert_array_equal(first["bernoulli"], ops.random_bernoulli(shape, np.float32(0.25), 5))
    np.testing.assert_array_equal(first["categorical"], ops.random_categorical(x, size=7, seed=5))


# -- lucid's own packages ---------------------------------------------------------------------------------------------


def constant(*numbers: Any, dtype: Any = np.float32) -> Tensor:
    return lucid.tensor(np.array(numbers, dtype))


def sequence(x: Tensor) -> Tensor:
    return lucid.reshape(x, (10, 1, 4))


def layer(gates: int) -> tuple[Tensor, ...]:
    return tuple(lucid.tensor(weights(gates * size, 4)) for size in (4, 4))


START = lucid.tensor(np.zeros((1, 4), np.float32))
BOXES = constant([0, 0, 2, 2], [1, 1, 3, 3])
MODES = {"padding_mode": "constant", "padding_value": 0.0, "align_corners": True, "sampling_mode": "bilinear"}
NORMALIZED = {**MODES, "coordinates_mode": "normalized_minus_one_to_one"}

EXPORTED: dict[str, Callable[[Tensor], Tensor]] = {
    "resize": lambda x: ops.resize(x, constant(6, 8, dtype=np.int32), 2, sampling_mode="UNALIGN_CORNERS"),
    "resize_bilinear": lambda x: ops.resize_bilinear(x, 3, 7, "OFFSET_CORNERS"),
    "resize_nearest_neighbor": lambda x: ops.resize_nearest_neighbor(x, 3, 7),
    "upsample_bilinear": lambda x: ops.upsample_bilinear(x, scale_factor_width=1.5, half_pixel_centers=False),
    "upsample_nearest_neighbor": lambda x: ops.upsample_nearest_neighbor(x, 2.0, 3.0),
    "crop": lambda x: ops.crop(x, (1, 1), (0, 1)),
    "crop_resize": lambda x: ops.crop_resize(x, BOXES, constant(0, 0, dtype=np.int32), 2, 2, spatial_scale=0.3),
    "crop_resize of old": lambda x: ops.crop_resize(x, roi=lucid.reshape(BOXES, (2, 1, 4, 1, 1)), target_height=2),
    "resample": lambda x: ops.resample(x, lucid.reshape(x, (1, 5, 4, 2)), coordinates_mode="unnormalized", **MODES),
    "affine": lambda x: ops.affine(x, constant([1, 0.5, 0, 0, 1, 0]), 3, 3, **NORMALIZED),
    "lstm": lambda x: ops.lstm(sequence(x), START, START, *layer(4), output_sequence=True, clip=3.0)[0],
    "gru": lambda x: ops.gru(sequence(x), START, *layer(3), direction="reverse")[0],
    "gru of late": lambda x: ops.gru(sequence(x), START, *layer(3), reset_after=True)[1],
    "rnn": lambda x: ops.rnn(sequence(x), START, *layer(1), activation="linear")[0],
    "non_maximum_suppression": lambda x: ops.non_maximum_suppression(
        lucid.reshape(x, (1, 4, 10)), lucid.reshape(x, (1, 4, 10)), 0.3, 3
    )[0],
    "non_maximum_suppression of old": lambda x: ops.non_maximum_suppression(
        lucid.reshape(x, (1, 10, 4)), lucid.reshape(x, (1, 10, 4)), 0.3, 3, score_threshold=0.1
    )[0],
    "quantize": lambda x: ops.dequantize(ops.quantize(x, constant(0.125)[0], "int8"), constant(0.125)[0]),
    "random_normal": lambda x: x + ops.random_normal(constant(5, 4, dtype=np.int32), seed=3),
    "random_categorical": lambda x: ops.random_categorical(x, seed=3),
}


class Several(nn.Module):
    """Many operations on one input."""

    def __init__(self, functions: dict[str, Callable[[Tensor], Tensor]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {name.replace(" ", "_"): function(x) for name, function in self.functions.items()}


@pytest.mark.parametrize("age", ["new", "old"])
@pytest.mark.parametrize("precision", [cml.Precision.FLOAT32, cml.Precision.FLOAT16])
def test_exported_operations_are_accepted_and_give_the_same(tmp_path: Path, precision: cml.Precision, age: str) -> None:
    """The referee is coremltools' reader."""
    x = lucid.tensor(np.round(np.abs(normal(1, 2, 5, 4)) * 64) / 64)
    model = Several({name: function for name, function in EXPORTED.items() if ("of old" in name) is (age == "old")})
    with cml.export(model.eval(), (x,), tmp_path / "model.mlpackage", precision=precision) as package:
        found = package.predict(x)
    assert referee(tmp_path / "model.mlpackage").operations > len(model.functions)
    tolerance = 1e-6 if precision is cml.Precision.FLOAT32 else 5e-3
    expected = model(x)
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        np.testing.assert_allclose(found[name].numpy(), tensor.numpy(), rtol=tolerance, atol=tolerance, err_msg=name)
