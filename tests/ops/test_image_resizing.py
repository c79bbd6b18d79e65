"""Resizing, cropping and resampling against PyTorch, loops written from MIL's text, and values measured on Core ML."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lucid import ops
from lucid.errors import IndexingError, ShapeError, UsageError
from lucid.ops.execution import execute
from lucid.ops.sampling import SAMPLING_MODES

SIXTEEN = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
SIZES = [(5, 7), (3, 2), (1, 1), (8, 6), (13, 1)]


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    assert found.dtype == np.float32
    assert found.shape == tuple(expected.shape)
    np.testing.assert_allclose(found, np.asarray(expected), rtol=tolerance, atol=tolerance)


def grid_points(mode: str, size: int, count: int) -> list[float]:
    """Return where the samples lie, one by one, as MIL's resize_bilinear has it."""
    found = []
    for i in range(count):
        if mode == "UNALIGN_CORNERS":
            spacing = size / count
            point = i * spacing + 0.5 * spacing - 0.5
        elif mode == "OFFSET_CORNERS":
            delta = max(1, size - 1) / count
            point = 0.5 * delta + i * delta
        elif count == 1:
            point = (size - 1) / 2 if mode == "ALIGN_CORNERS" else 0
        elif mode == "DEFAULT":
            point = i * (size - size / count) / (count - 1)
        else:
            point = i * (size - 1) / (count - 1)
        found.append(min(size - 1, max(0, point)))
    return found


def interpolated(x: np.ndarray, mode: str, height: int, width: int) -> np.ndarray:
    """Return `x` (..., H, W) resized by NumPy's own interpolation along one axis after the other."""

    def along(line: np.ndarray, count: int) -> np.ndarray:
        return np.interp(grid_points(mode, line.size, count), np.arange(line.size), line)

    tall = np.apply_along_axis(along, -2, x.astype(np.float64), height)
    return np.apply_along_axis(along, -1, tall, width)


@pytest.mark.parametrize("mode", SAMPLING_MODES)
@pytest.mark.parametrize("rank", [3, 4, 5])
def test_linear_resizing_is_the_texts(mode: str, rank: int) -> None:
    x = normal(*(2, 1, 3, 5, 4)[-rank:])
    for height, width in SIZES:
        expected = interpolated(x, mode, height, width)
        found = ops.resize_bilinear(x, height, width, mode)
        close(found, expected)
        np.testing.assert_array_equal(ops.resize(x, np.array([height, width], np.int32), 2, sampling_mode=mode), found)


@pytest.mark.parametrize("mode", SAMPLING_MODES)
def test_grid_points_of_mils_examples(mode: str) -> None:
    """The lists of MIL's text, for two elements and five or six samples."""
    expected = {
        "UNALIGN_CORNERS": ([0.0, 0.1, 0.5, 0.9, 1.0], [0.0, 0.0, 0.33, 0.67, 1.0, 1.0]),
        "STRICT_ALIGN_CORNERS": ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        "ALIGN_CORNERS": ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        "DEFAULT": ([0.0, 0.4, 0.8, 1.0, 1.0], [0.0, 0.33, 0.67, 1.0, 1.0, 1.0]),
        "OFFSET_CORNERS": ([0.1, 0.3, 0.5, 0.7, 0.9], [0.08, 0.25, 0.42, 0.58, 0.75, 0.92]),
    }[mode]
    x = np.array([[[0.0, 1.0]]], np.float32)
    for numbers in expected:
        found = ops.resize_bilinear(x, 1, len(numbers), mode)
        np.testing.assert_allclose(found[0, 0], numbers, atol=5.1e-3)


@pytest.mark.parametrize(("mode", "aligned"), [("UNALIGN_CORNERS", False), ("STRICT_ALIGN_CORNERS", True)])
def test_linear_resizing_is_pytorchs(mode: str, aligned: bool) -> None:
    x = normal(2, 3, 5, 4)
    for size in SIZES:
        expected = F.interpolate(torch.tensor(x), size, mode="bilinear", align_corners=aligned)
        close(ops.resize_bilinear(x, *size, mode), expected)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("factors", [(2, 3), (1.5, 2.5), (0.5, 0.75), (1, 2.6)])
def test_upsampling_is_pytorchs(factors: tuple[float, float], aligned: bool) -> None:
    x = normal(1, 2, 6, 8)
    expected = F.interpolate(
        torch.tensor(x), scale_factor=factors, mode="bilinear", align_corners=aligned, recompute_scale_factor=True
    )
    close(ops.upsample_bilinear(x, *factors, align_corners=aligned), expected)
    expected = F.interpolate(torch.tensor(x), scale_factor=factors, mode="nearest", recompute_scale_factor=True)
    close(ops.upsample_nearest_neighbor(x, *factors), expected)


def test_upsampling_without_half_pixels_is_the_default_mode() -> None:
    x = normal(1, 1, 3, 4)
    found = ops.upsample_bilinear(x, 2.0, 1.5, align_corners=False, half_pixel_centers=False)
    close(found, interpolated(x, "DEFAULT", 6, 6))


def test_nearest_resizing_is_pytorchs_exact_one() -> None:
    x = normal(2, 3, 5, 4)
    for size in SIZES:
        expected = F.interpolate(torch.tensor(x), size, mode="nearest-exact")
        close(ops.resize_nearest_neighbor(x, *size), expected)
        for mode in ("DEFAULT", "UNALIGN_CORNERS"):
            shape = np.array(size, np.int32)
            close(ops.resize(x, shape, 2, "NEAREST_NEIGHBOR", mode), expected)


@pytest.mark.parametrize("mode", ["STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS"])
def test_nearest_resizing_takes_the_nearest_point(mode: str) -> None:
    x = np.arange(7, dtype=np.float32)
    for count in (1, 2, 3, 4, 5, 7, 10, 20):
        expected = [np.floor(point + 0.5) for point in grid_points(mode, 7, count)]
        found = ops.resize(x, np.array([count], np.int32), 1, "NEAREST_NEIGHBOR", mode)
        np.testing.assert_array_equal(found, expected)


def test_resize_takes_sizes_from_the_end_and_keeps_those_of_zero() -> None:
    x = normal(1, 2, 3, 4)
    assert ops.resize(x, np.array([1, 6, 8], np.int32), 2).shape == (1, 2, 6, 8)
    np.testing.assert_array_equal(ops.resize(x, np.array([1, 0, 0], np.uint16), 2), x)
    assert ops.resize(x, np.array([9, 0, 7], np.int16), 2).shape == (1, 2, 3, 7)
    np.testing.assert_array_equal(ops.resize(x, np.array([9], np.int32), 0), x)


def test_resize_rounds_integers() -> None:
    x = np.array([0, 1, -5, 2147483647], np.int32)
    found = ops.resize(x, np.array([7], np.int32), 1, sampling_mode="STRICT_ALIGN_CORNERS")
    assert found.dtype == np.int32
    assert found.tolist() == [0, 0, 1, -2, -5, 1073741821, 2147483647]


def test_float16_rounds_once() -> None:
    x = normal(1, 2, 5, 5).astype(np.float16)
    arguments = ops.resize_bilinear.bind(x, 7, 9, "UNALIGN_CORNERS")
    (found,) = execute(ops.resize_bilinear, arguments)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(
        found, ops.resize_bilinear(x.astype(np.float32), 7, 9, "UNALIGN_CORNERS").astype(np.float16)
    )


def test_infinity_stays_where_it_is() -> None:
    x = np.array([[[1.0, np.inf, 2.0]]], np.float32)
    assert ops.upsample_bilinear(x, 1.0, 1.0)[0, 0].tolist() == [1.0, np.inf, 2.0]


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("sampling", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["constant", "border", "reflection"])
def test_resampling_is_pytorchs(padding: str, sampling: str, aligned: bool) -> None:
    """PyTorch's reflection is MIL's where corners are aligned, and its symmetric where they are not."""
    x = normal(2, 3, 5, 4)
    grid = (np.random.default_rng(0).random((2, 6, 7, 2)).astype(np.float32) - 0.5) * 6
    expected = F.grid_sample(
        torch.tensor(x),
        torch.tensor(grid),
        mode=sampling,
        padding_mode={"constant": "zeros"}.get(padding, padding),
        align_corners=aligned,
    )
    padding = "symmetric" if padding == "reflection" and not aligned else padding
    close(ops.resample(x, grid, sampling, padding, 0.0, "normalized_minus_one_to_one", aligned), expected, 2e-5)


@pytest.mark.parametrize("aligned", [False, True])
def test_resampling_coordinates_of_the_corners(aligned: bool) -> None:
    """The corners of each coordinates mode: centres of elements where aligned, outer edges where not."""
    x = normal(1, 1, 3, 5)
    corners = {"normalized_minus_one_to_one": (-1.0, 1.0), "normalized_zero_to_one": (0.0, 1.0)}
    for mode, (low, high) in corners.items():
        grid = np.array([[[[low, low], [high, low]], [[low, high], [high, high]]]], np.float32)
        found = ops.resample(x, grid, "bilinear", "constant", 0.0, mode, aligned)
        part = 1.0 if aligned else 0.25
        np.testing.assert_allclose(found[0, 0], x[0, 0][::2, ::4] * part, rtol=1e-6)
        middle = ops.resample(x, grid * 0 + (low + high) / 2, "bilinear", "constant", 0.0, mode, aligned)
        np.testing.assert_allclose(middle, x[0, 0, 1, 2], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32])
def test_resampling_takes_whole_coordinates(dtype: Any) -> None:
    x = normal(1, 2, 3, 3)
    places = np.array([[[[2, 0], [1, 2]]]], dtype)
    found = ops.resample(x, places, "bilinear", "border", 0.0, "unnormalized", False)
    np.testing.assert_array_equal(found[0, :, 0], x[0][:, [0, 2], [2, 1]])


@pytest.mark.parametrize(
    ("modes", "expected"),
    [
        (("bilinear", "constant", 6.17, "normalized_minus_one_to_one", True), [8.585, 6.17, 27.5, 6.17]),
        (("nearest", "border", -1.0, "unnormalized", False), [11.0, 11.0, 11.0, 44.0]),
        (("bilinear", "reflection", -1.0, "normalized_zero_to_one", True), [22.0, 36.3, 11.0, 34.1]),
        (("nearest", "symmetric", -1.0, "normalized_zero_to_one", False), [22.0, 33.0, 11.0, 33.0]),
    ],
)
def test_samples_measured_on_core_ml(modes: tuple[Any, ...], expected: list[float]) -> None:
    """The values that coremltools' own tests hold Core ML to."""
    x = np.float32([[[[11, 22], [33, 44]]]])
    places = np.float32([[[[-1, -2], [-3.7, -1]], [[0, 0], [3.5, 1.2]]]])
    np.testing.assert_allclose(ops.resample(x, places, *modes).reshape(-1), expected, rtol=1e-5)


def test_resampling_at_what_is_no_number() -> None:
    x = normal(1, 1, 3, 3)
    grid = np.array([[[[np.nan, 0], [0, np.inf], [-np.inf, 1e30], [3e38, 1]]]], np.float32)
    outside = ops.resample(x, grid, "bilinear", "constant", 7.0, "unnormalized", True)
    np.testing.assert_array_equal(outside, np.full((1, 1, 1, 4), 7.0))
    for padding in ("border", "reflection", "symmetric"):
        assert np.isin(ops.resample(x, grid, "nearest", padding, 0.0, "unnormalized", True), x).all()


@pytest.mark.filterwarnings("ignore:Since version 1.3.0, affine_grid behavior has changed")
@pytest.mark.parametrize("size", [(3, 3), (2, 5), (1, 4), (6, 1)])
def test_affine_is_pytorchs(size: tuple[int, int]) -> None:
    x = normal(2, 3, 5, 4)
    theta = np.random.default_rng(1).standard_normal((2, 6)).astype(np.float32)
    modes = ("bilinear", "constant", 0.0, "normalized_minus_one_to_one", True)
    grid = F.affine_grid(torch.tensor(theta).reshape(2, 2, 3), [2, 3, *size], align_corners=True)
    expected = F.grid_sample(torch.tensor(x), grid, align_corners=True)
    close(ops.affine(x, theta, *size, *modes), expected, 2e-5)
    shared = ops.affine(x, theta[:1], *size, *modes)
    close(shared[0], expected[0], 2e-5)
    grid = F.affine_grid(torch.tensor(theta).reshape(2, 2, 3), [2, 3, *size], align_corners=False)
    expected = F.grid_sample(torch.tensor(x), grid, padding_mode="border", align_corners=False)
    close(ops.affine(x, theta, *size, "bilinear", "border", 0.0, modes[3], False), expected, 2e-5)


@pytest.mark.parametrize("mode", ["unnormalized", "normalized_zero_to_one", "normalized_minus_one_to_one"])
@pytest.mark.parametrize("aligned", [False, True])
def test_affine_identity(mode: str, aligned: bool) -> None:
    x = normal(1, 2, 4, 5)
    identity = np.array([[1, 0, 0, 0, 1, 0]], np.float32)
    close(ops.affine(x, identity, 4, 5, "bilinear", "border", 0.0, mode, aligned), x)


def cropped(x: np.ndarray, box: list[float], mode: str, height: int, width: int, pad: float) -> np.ndarray:
    """Return one image's box (top, left, bottom, right) resized, sample by sample."""
    top, left, bottom, right = box
    out = np.empty((x.shape[0], height, width))
    rows = [top + p * np.sign(bottom - top) for p in grid_points(mode, abs(bottom - top) + 1, height)]
    columns = [left + p * np.sign(right - left) for p in grid_points(mode, abs(right - left) + 1, width)]
    for (i, y), (j, z) in product(enumerate(rows), enumerate(columns)):
        if not (0 <= y <= x.shape[1] - 1 and 0 <= z <= x.shape[2] - 1):
            out[:, i, j] = pad
            continue
        lines = [[np.interp(z, range(x.shape[2]), row) for row in channel] for channel in x]
        out[:, i, j] = [np.interp(y, range(x.shape[1]), line) for line in lines]
    return out


@pytest.mark.parametrize("mode", SAMPLING_MODES)
def test_crops_are_the_texts(mode: str) -> None:
    x = normal(2, 3, 6, 5)
    boxes = np.array([[0.5, 0.25, 4.5, 3.75], [4, 3.5, 1, 0.5], [-1, 2, 3, 8], [2, 2, 2.25, 2.5]], np.float32)
    which = np.array([1, 0, 1, 0], np.int32)
    for height, width in ((3, 4), (1, 1), (7, 2)):
        expected = np.stack(
            [cropped(x[i], box.tolist(), mode, height, width, -2.0) for i, box in zip(which, boxes, strict=True)]
        )
        shared = {"target_height": height, "target_width": width, "sampling_mode": mode, "pad_value": -2.0}
        close(ops.crop_resize(x, boxes, which, **shared), expected)
        roi = np.concatenate([which[:, None], boxes], axis=1).astype(np.float32).reshape(4, 1, 5, 1, 1)
        close(ops.crop_resize(x, roi=roi, **shared), expected[:, None])
        every = ops.crop_resize(x, roi=boxes.reshape(4, 1, 4, 1, 1), **shared)
        assert every.shape == (4, 2, 3, height, width)
        close(every[[0, 1, 2, 3], which], expected)


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("CORNERS_HEIGHT_FIRST", [0.25, 0.5, 2.25, 3.5]),
        ("CORNERS_WIDTH_FIRST", [0.5, 0.25, 3.5, 2.25]),
        ("CENTER_SIZE_HEIGHT_FIRST", [1.25, 2.0, 2.0, 3.0]),
        ("CENTER_SIZE_WIDTH_FIRST", [2.0, 1.25, 3.0, 2.0]),
    ],
)
def test_box_formats(form: str, numbers: list[float]) -> None:
    x = normal(1, 2, 4, 5)
    expected = cropped(x[0], [0.25, 0.5, 2.25, 3.5], "ALIGN_CORNERS", 3, 3, 0.0)[None]
    shared = {"target_height": 3, "target_width": 3, "box_coordinate_mode": form, "sampling_mode": "ALIGN_CORNERS"}
    boxes = np.array([numbers], np.float32)
    close(ops.crop_resize(x, boxes, **shared), expected)
    close(ops.crop_resize(x, boxes * 2, spatial_scale=0.5, **shared), expected)
    shares = [4, 3, 4, 3] if "WIDTH" in form else [3, 4, 3, 4]
    close(ops.crop_resize(x, boxes / np.float32(shares), normalized_coordinates=True, **shared), expected)


def test_crops_measured_on_core_ml() -> None:
    """The values that coremltools' own tests hold Core ML to."""
    boxes = np.array([[0.1, 0.3, 1.3, 1.0], [0.5, 1.8, 1.0, 0.3], [0.0, 0.4, 0.6, 0.7]], np.float32)
    found = ops.crop_resize(
        SIXTEEN,
        boxes,
        np.zeros(3, np.int32),
        2,
        2,
        normalized_coordinates=True,
        sampling_mode="ALIGN_CORNERS",
        pad_value=10.0,
    )
    expected = [3.1, 5.2, 10.0, 10.0, 10.0, 7.9, 10.0, 13.9, 2.2, 3.1, 9.4, 10.3]
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-4)
    inside = np.array([[1, 1, 2, 2]], np.uint16)
    found = ops.crop_resize(SIXTEEN, inside, None, 4, 4, sampling_mode="ALIGN_CORNERS")
    thirds = 6 + np.arange(4)[:, None] * 4 / 3 + np.arange(4) / 3
    np.testing.assert_allclose(found[0, 0], thirds, rtol=1e-6)
    assert ops.crop_resize(SIXTEEN, inside, sampling_mode="ALIGN_CORNERS").item() == 8.5


def test_no_boxes_give_no_crops() -> None:
    assert ops.crop_resize(SIXTEEN, np.zeros((0, 4), np.float32), None, 2, 3).shape == (0, 1, 2, 3)


X3 = np.ones((1, 2, 3), np.float32)
X4 = np.ones((1, 1, 2, 3), np.float32)
MODES = ("bilinear", "constant", 0.0, "unnormalized", True)


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("resize_bilinear", (X3, 2, 2, "CORNERS"), UsageError, "sampling_mode is 'CORNERS'. Choose one of DEFAULT"),
        ("resize_bilinear", (X3, 0, 2), ShapeError, "target_size_height is 0, expected 1 or more"),
        ("resize_bilinear", (X3[0], 2, 2), ShapeError, r"x has shape \(2, 3\), expected rank 3 or more"),
        ("resize_nearest_neighbor", (X3[:, :0], 2, 2), ShapeError, "no elements to take samples of"),
        ("upsample_bilinear", (X3, 1, 1, True, True), UsageError, "are both true. Set one of them"),
        ("upsample_nearest_neighbor", (X3, 0.25, 1), ShapeError, "leave nothing of x of shape"),
        ("resize", (X3, np.array([2, 2], np.int32), 3), ShapeError, "resized_dims is 3, shape"),
        ("resize", (X3, np.array([2, 2], np.int32), 2, "CUBIC"), UsageError, "interpolation_mode is 'CUBIC'"),
        ("resize", (X3, np.array([-2, 2], np.int32), 2), ShapeError, "axis 1 of size 2 cannot become -2 long"),
        ("crop", (X3, (1, 2), (0, 0)), ShapeError, r"crop_height is \(1, 2\), expected two numbers"),
        ("crop", (X3, (0, 0), (-1, 0)), ShapeError, r"crop_width is \(-1, 0\)"),
        ("crop_resize", (X4,), ShapeError, "pass boxes, or for opsets before iOS17 roi"),
        ("crop_resize", (X4, np.ones((2, 4), np.float32)), IndexingError, "index 1 is out of range"),
        ("crop_resize", (X4, np.ones((1, 5), np.float32)), ShapeError, r"boxes have shape \(1, 5\)"),
        ("resample", (X4, np.ones((1, 2, 2, 3), np.float32), *MODES), ShapeError, r"expected \(1, h, w, 2\)"),
        ("resample", (X4, np.ones((1, 2, 2, 2), np.float32), "cubic", *MODES[1:]), UsageError, "'cubic'"),
        ("affine", (X4, np.ones((3, 6), np.float32), 2, 2, *MODES), ShapeError, r"expected \(1, 6\) or \(1, 6\)"),
    ],
)
def test_refusals(name: str, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(ops, name)(*arguments)
