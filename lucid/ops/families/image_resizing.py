"""Resizing, cropping and resampling of images: the last two axes are height and width.

Where samples lie is in :mod:`lucid.ops.sampling`. MIL's text leaves the rule of nearest neighbours open. In lucid
``resize_nearest_neighbor`` and ``resize`` take the element whose share of the axis the middle of the sample's share
falls into, ``floor((i + 0.5) * size / count)`` (TensorFlow's half-pixel centres, PyTorch's nearest-exact), and
``upsample_nearest_neighbor`` takes ``floor(i * size / count)`` (PyTorch's nearest). coremltools' converters use them
so.
"""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from lucid.errors import ShapeError, UsageError
from lucid.ops import sampling
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.axes import integers
from lucid.ops.indices import check_indices
from lucid.ops.record import operation, sample
from lucid.ops.sampling import choose, linear_along, nearest_along, points

__all__ = [
    "affine",
    "crop",
    "crop_resize",
    "resample",
    "resize",
    "resize_bilinear",
    "resize_nearest_neighbor",
    "upsample_bilinear",
    "upsample_nearest_neighbor",
]

_BOX_MODES = (
    "CORNERS_HEIGHT_FIRST",
    "CORNERS_WIDTH_FIRST",
    "CENTER_SIZE_HEIGHT_FIRST",
    "CENTER_SIZE_WIDTH_FIRST",
)


def _check_image(name: str, x: Any, ranks: str = "3 or more") -> None:
    if x.ndim < 3 or (ranks == "4" and x.ndim != 4):
        raise ShapeError(f"{name}: x has shape {x.shape}, expected rank {ranks}, height and width last. Reshape it.")
    if 0 in x.shape[-2:]:
        raise ShapeError(f"{name}: x has shape {x.shape}, which has no elements to take samples of.")


def _check_sizes(name: str, **sizes: int) -> None:
    for key, size in sizes.items():
        if size < 1:
            raise ShapeError(f"{name}: {key} is {size}, expected 1 or more.")


def _linear(name: str, x: Array, mode: str, height: int, width: int) -> Array:
    """Return `x` with its last two axes resized at the sampling mode's points."""
    for axis, count in ((x.ndim - 2, height), (x.ndim - 1, width)):
        x = linear_along(x, axis, points(name, mode, x.shape[axis], count))
    return x


@operation(
    sample(
        [[[0.0, 0.75, 2.25, 3.0]]],
        x=[[[0.0, 3.0]]],
        target_size_height=1,
        target_size_width=4,
        sampling_mode="UNALIGN_CORNERS",
    ),
    sample(
        [[[0.0, 1.0, 2.0, 3.0]]],
        x=[[[0.0, 3.0]]],
        target_size_height=1,
        target_size_width=4,
        sampling_mode="STRICT_ALIGN_CORNERS",
    ),
    sample([[[0.0, 0.4, 0.8, 1.0, 1.0]]], x=[[[0.0, 1.0]]], target_size_width=5),
    sample([[[0.1, 0.3, 0.5, 0.7, 0.9]]], x=[[[0.0, 1.0]]], target_size_width=5, sampling_mode="OFFSET_CORNERS"),
    sample([[[1.5]]], x=[[[1.0, 2.0]]], sampling_mode="ALIGN_CORNERS"),
    sample([[[1.0]]], x=[[[1.0, 2.0]]], sampling_mode="STRICT_ALIGN_CORNERS"),
)
def resize_bilinear(
    x: Array, target_size_height: int = 1, target_size_width: int = 1, sampling_mode: str = "DEFAULT"
) -> Array:
    """Return `x` (..., H, W) with height and width of the target size, by linear interpolation along both.

    The modes are those of :mod:`lucid.ops.sampling`. Another mode raises UsageError, a rank below 3, an empty image or
    a size below 1 ShapeError.
    """
    _check_image("resize_bilinear", x)
    _check_sizes("resize_bilinear", target_size_height=target_size_height, target_size_width=target_size_width)
    return _linear("resize_bilinear", x, sampling_mode, target_size_height, target_size_width)


@operation(
    sample(
        [[[0.5, 0.5, 0.5], [6.5, 6.5, 6.5]]],
        x=[[[0.5], [6.5]]],
        target_size_height=2,
        target_size_width=3,
    ),
    sample([[[1.0, 2.0, 2.0]]], x=[[[1.0, 2.0]]], target_size_height=1, target_size_width=3),
    sample([[[2.0, 4.0]]], x=[[[1.0, 2.0, 3.0, 4.0]]], target_size_height=1, target_size_width=2),
    exact=True,
)
def resize_nearest_neighbor(x: Array, target_size_height: int, target_size_width: int) -> Array:
    """Return `x` (..., H, W) with height and width of the target size, each element a copy of the nearest one.

    A rank below 3, an empty image or a size below 1 raises ShapeError.
    """
    _check_image("resize_nearest_neighbor", x)
    _check_sizes("resize_nearest_neighbor", target_size_height=target_size_height, target_size_width=target_size_width)
    for axis, count in ((x.ndim - 2, target_size_height), (x.ndim - 1, target_size_width)):
        x = _share_of(x, axis, count, 1)
    return x


def _share_of(x: Array, axis: int, count: int, half: int) -> Array:
    """Return the elements at ``floor((i + half / 2) * size / count)``, in whole numbers."""
    places = (2 * np.arange(count) + half) * x.shape[axis] // (2 * count)
    return namespace(x).take(x, places.astype(np.int32), axis=axis)


@operation(
    sample([[[0.0, 0.75, 2.25, 3.0]]], x=[[[0.0, 3.0]]], scale_factor_width=2.0, align_corners=False),
    sample([[[0.0, 1.0, 2.0, 3.0]]], x=[[[0.0, 3.0]]], scale_factor_width=2.0),
    sample([[[0.0, 0.1, 0.5, 0.9, 1.0]]], x=[[[0.0, 1.0]]], scale_factor_width=2.6, align_corners=False),
    sample(
        [[[1.0, 1.3333333, 1.6666667, 2.0, 2.0, 2.0], [1.0, 1.3333333, 1.6666667, 2.0, 2.0, 2.0]]],
        x=[[[1.0, 2.0]]],
        scale_factor_height=2.0,
        scale_factor_width=3.0,
        align_corners=False,
        half_pixel_centers=False,
    ),
    later={"half_pixel_centers": "iOS16"},
    float32=("scale_factor_height", "scale_factor_width"),
)
def upsample_bilinear(
    x: Array,
    scale_factor_height: float = 1.0,
    scale_factor_width: float = 1.0,
    align_corners: bool = True,
    half_pixel_centers: bool | None = None,
) -> Array:
    """Return `x` (..., H, W) with height and width times a factor (rounded down), by linear interpolation.

    The distance of the samples follows from the rounded size, as with PyTorch's ``recompute_scale_factor``.
    ``half_pixel_centers`` defaults to the opposite of ``align_corners``: UNALIGN_CORNERS or STRICT_ALIGN_CORNERS of
    :mod:`lucid.ops.sampling`; DEFAULT where both are false. Both true raise UsageError; a rank below 3, an empty image
    or a factor that leaves no element ShapeError.
    """
    _check_image("upsample_bilinear", x)
    if half_pixel_centers is None:
        half_pixel_centers = not align_corners
    if align_corners and half_pixel_centers:
        raise UsageError("upsample_bilinear: align_corners and half_pixel_centers are both true. Set one of them.")
    mode = "STRICT_ALIGN_CORNERS" if align_corners else "UNALIGN_CORNERS" if half_pixel_centers else "DEFAULT"
    return _linear(
        "upsample_bilinear", x, mode, *_scaled("upsample_bilinear", x, scale_factor_height, scale_factor_width)
    )


def _scaled(name: str, x: Any, *factors: float) -> tuple[int, ...]:
    """Return the last two sizes times the factors, rounded down, as float32 numbers give them."""
    counts = tuple(
        floor(np.float32(factor) * np.float32(size)) for factor, size in zip(factors, x.shape[-2:], strict=True)
    )
    if min(counts) < 1:
        raise ShapeError(f"{name}: scale factors {factors} leave nothing of x of shape {x.shape}. Use larger ones.")
    return counts


@operation(
    sample(
        [[[1.5, 1.5, 2.5, 2.5, 3.5, 3.5]]],
        x=[[[1.5, 2.5, 3.5]]],
        scale_factor_width=2.0,
    ),
    sample(
        [[[1.5, -2.5], [1.5, -2.5], [1.5, -2.5]]],
        x=[[[1.5, -2.5, 3.5]]],
        scale_factor_height=3.17,
        scale_factor_width=0.67,
    ),
    exact=True,
    float32=("scale_factor_height", "scale_factor_width"),
)
def upsample_nearest_neighbor(x: Array, scale_factor_height: float = 1.0, scale_factor_width: float = 1.0) -> Array:
    """Return `x` (..., H, W) with height and width times a factor (rounded down), each element a copy of one of `x`.

    A rank below 3, an empty image or a factor that leaves no element raises ShapeError.
    """
    _check_image("upsample_nearest_neighbor", x)
    counts = _scaled("upsample_nearest_neighbor", x, scale_factor_height, scale_factor_width)
    for axis, count in zip((x.ndim - 2, x.ndim - 1), counts, strict=True):
        x = _share_of(x, axis, count, 0)
    return x


@operation(
    sample([[[0.0, 0.4, 0.8, 1.0, 1.0]]], x=[[[0.0, 1.0]]], shape=[1, 1, 5], resized_dims=2),
    sample(
        [[[-6.0, -6.0], [9.5, 9.5], [9.5, 9.5]]],
        x=[[[-6.0], [9.5]]],
        shape=[3, 2],
        resized_dims=2,
        interpolation_mode="NEAREST_NEIGHBOR",
    ),
    sample([[0, 2, 3]], x=[[0, 3]], shape=[0, 3], resized_dims=2, sampling_mode="DEFAULT"),
    sample([[0.0, 1.0, 2.0, 3.0]], x=[[0.0, 3.0]], shape=[7, 4], resized_dims=1, sampling_mode="STRICT_ALIGN_CORNERS"),
    since="iOS17",
)
def resize(
    x: Array,
    shape: Array,
    resized_dims: int,
    interpolation_mode: str = "LINEAR",
    sampling_mode: str = "DEFAULT",
) -> Array:
    """Return `x` with its last ``resized_dims`` axes in the sizes that stand last in ``shape``; 0 keeps a size.

    `x`: float16, float32 or int32; ``shape``: (K,) integers, ``resized_dims <= K <= rank``. LINEAR interpolates along
    each axis at the points of the sampling mode; on int32 it rounds to the nearest, ties to even, which MIL leaves
    open. NEAREST_NEIGHBOR takes the element nearest to the point, halves up; in mode DEFAULT the one that
    :data:`resize_nearest_neighbor` takes. Another mode raises UsageError, sizes that do not fit ShapeError.
    """
    choose("resize", "interpolation_mode", interpolation_mode, ("LINEAR", "NEAREST_NEIGHBOR"))
    choose("resize", "sampling_mode", sampling_mode, sampling.SAMPLING_MODES)
    sizes = integers(shape)
    if not 0 <= resized_dims <= len(sizes) <= x.ndim:
        raise ShapeError(
            f"resize: resized_dims is {resized_dims}, shape {tuple(sizes)} and x has rank {x.ndim}, expected "
            "resized_dims <= length of shape <= rank."
        )
    is_integer = x.dtype.kind in "iu"
    out = x[...]
    for axis, wanted in zip(range(x.ndim - resized_dims, x.ndim), sizes[len(sizes) - resized_dims :], strict=True):
        count = wanted or x.shape[axis]
        if count < 0 or (count and not x.shape[axis]):
            raise ShapeError(f"resize: axis {axis} of size {x.shape[axis]} cannot become {count} long.")
        if interpolation_mode == "NEAREST_NEIGHBOR":
            if sampling_mode == "DEFAULT":
                out = _share_of(out, axis, count, 1) if count else out
            else:
                out = nearest_along(out, axis, points("resize", sampling_mode, x.shape[axis], count)) if count else out
        elif count:
            wide = out.astype(np.float64) if is_integer else out
            out = linear_along(wide, axis, points("resize", sampling_mode, x.shape[axis], count))
    return namespace(x).round(out).astype(x.dtype) if is_integer else out


@operation(
    sample(
        [[[2.0, 3.0], [6.0, 7.0]]],
        x=[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]],
        crop_height=(0, 1),
        crop_width=(1, 1),
    ),
    exact=True,
)
def crop(x: Array, crop_height: Ints, crop_width: Ints) -> Array:
    """Return `x` (..., H, W) without the first and last rows and columns: (top, bottom) and (left, right).

    A rank below 3, other than two numbers, negative ones or more than there are raise ShapeError.
    """
    _check_image("crop", x)
    keys = []
    for name, pair, size in (
        ("crop_height", crop_height, x.shape[-2]),
        ("crop_width", crop_width, x.shape[-1]),
    ):
        if len(pair) != 2 or min(pair) < 0 or sum(pair) > size:
            raise ShapeError(
                f"crop: {name} is {tuple(pair)}, expected two numbers of 0 or more that sum to {size} or less."
            )
        keys.append(slice(pair[0], size - pair[1]))
    return x[(..., *keys)]


_IMAGE = [[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]]]


@operation(
    sample(
        [[[[6.0, 7.0], [10.0, 11.0]]]],
        x=_IMAGE,
        boxes=[[1.0, 1.0, 2.0, 2.0]],
        target_height=2,
        target_width=2,
        sampling_mode="ALIGN_CORNERS",
    ),
    sample(
        [[[[[11.0, 10.0], [7.0, 6.0]]]]],
        x=_IMAGE,
        roi=[[[[[2.0]], [[2.0]], [[1.0]], [[1.0]]]]],
        target_height=2,
        target_width=2,
        sampling_mode="ALIGN_CORNERS",
    ),
    sample(
        [[[[4.0, -1.0]]]],
        x=_IMAGE,
        boxes=[[0.0, 0.5, 3.0, 1.5]],
        box_indices=[0],
        target_width=2,
        normalized_coordinates=True,
        box_coordinate_mode="CORNERS_WIDTH_FIRST",
        sampling_mode="STRICT_ALIGN_CORNERS",
        spatial_scale=0.5,
        pad_value=-1.0,
    ),
    sample(
        [[[[8.5]]]],
        x=_IMAGE,
        boxes=[[1.5, 1.5, 1.0, 1.0]],
        box_coordinate_mode="CENTER_SIZE_HEIGHT_FIRST",
        sampling_mode="OFFSET_CORNERS",
    ),
    later={"boxes": "iOS17", "box_indices": "iOS17", "pad_value": "iOS16"},
    until={"roi": "iOS16"},
    float32=("spatial_scale",),
)
def crop_resize(
    x: Array,
    boxes: Array | None = None,
    box_indices: Array | None = None,
    target_height: int = 1,
    target_width: int = 1,
    normalized_coordinates: bool = False,
    spatial_scale: float = 1.0,
    box_coordinate_mode: str = "CORNERS_HEIGHT_FIRST",
    sampling_mode: str = "DEFAULT",
    pad_value: float = 0.0,
    roi: Array | None = None,
) -> Array:
    """Return the parts of images that boxes cut out, each resized to (target_height, target_width).

    `x`: (B, C, H, W). From opset iOS17 on, ``boxes``: (N, 4) and ``box_indices``: (N,), the image of each box (0 to
    N - 1 by default), give (N, C, h, w). Before, ``roi`` holds the boxes: (N, 1, 4, 1, 1) cuts each box out of every
    image and gives (N, B, C, h, w); (N, 1, 5, 1, 1), with the image's index first, gives (N, 1, C, h, w).

    A box counts from the centre of the first element, in elements, or, normalized, in parts of size - 1; it is
    multiplied by ``spatial_scale``. From its first to its last edge it is an axis of ``last - first + 1`` elements,
    in which samples lie as :mod:`lucid.ops.sampling` says; one whose last edge comes first is read backwards. A sample
    outside the image is ``pad_value``, as in TensorFlow. An index outside raises IndexingError, another mode
    UsageError, shapes that do not fit ShapeError.
    """
    _check_image("crop_resize", x, "4")
    _check_sizes("crop_resize", target_height=target_height, target_width=target_width)
    choose("crop_resize", "box_coordinate_mode", box_coordinate_mode, _BOX_MODES)
    xp = namespace(x)
    boxes, batch, lead = _boxes(xp, x, boxes, box_indices, roi)
    first, second, third, fourth = (boxes[:, i].astype(np.float32) for i in range(4))
    if box_coordinate_mode.endswith("WIDTH_FIRST"):
        first, second, third, fourth = second, first, fourth, third
    if box_coordinate_mode.startswith("CENTER"):
        first, second, third, fourth = (
            first - third / 2,
            second - fourth / 2,
            first + third / 2,
            second + fourth / 2,
        )
    places, is_inside = [], []
    for start, end, size, count in (
        (first, third, x.shape[2], target_height),
        (second, fourth, x.shape[3], target_width),
    ):
        scale = np.float32(spatial_scale * (size - 1 if normalized_coordinates else 1))
        start, end = start * scale, end * scale
        local = points("crop_resize", sampling_mode, xp.abs(end - start) + 1, count)
        place = start[:, None] + xp.sign(end - start)[:, None] * local
        places.append(place)
        is_inside.append((place >= 0) & (place <= size - 1))
    batch, y, z = batch[:, None, None], places[0][:, :, None], places[1][:, None, :]
    out = sampling.bilinear("crop_resize", x, batch, y, z, "border", 0.0)
    seen = is_inside[0][:, None, :, None] & is_inside[1][:, None, None, :]
    out = xp.where(seen, out, np.float32(pad_value))
    return out if lead is None else xp.reshape(out, (*lead, *out.shape[1:]))


def _boxes(xp: Any, x: Any, boxes: Any, indices: Any, roi: Any) -> tuple[Any, Any, tuple[int, int] | None]:
    """Return the boxes (n, 4), the image of each, and the first two axes of the result of a ``roi``."""
    images = x.shape[0]
    if (boxes is None) is (roi is None):
        raise ShapeError("crop_resize: pass boxes, or for opsets before iOS17 roi, and not both.")
    if roi is not None:
        if roi.ndim != 5 or roi.shape[1] != 1 or roi.shape[2] not in (4, 5) or roi.shape[3:] != (1, 1):
            raise ShapeError(f"crop_resize: roi has shape {roi.shape}, expected (N, 1, 4, 1, 1) or (N, 1, 5, 1, 1).")
        rows = roi[:, 0, :, 0, 0]
        count = rows.shape[0]
        if rows.shape[1] == 4:
            return xp.repeat(rows, images, axis=0), xp.tile(xp.arange(images), (count,)), (count, images)
        indices = rows[:, 0].astype(np.int32)
        check_indices("crop_resize", indices, (images,), is_strict=True)
        return rows[:, 1:], indices, (count, 1)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ShapeError(f"crop_resize: boxes have shape {boxes.shape}, expected (N, 4). Pass four numbers per box.")
    if indices is None:
        indices = np.arange(boxes.shape[0], dtype=np.int32)
    if indices.shape != boxes.shape[:1]:
        raise ShapeError(f"crop_resize: box_indices have shape {indices.shape}, expected {boxes.shape[:1]}.")
    check_indices("crop_resize", indices, (images,), is_strict=True)
    return boxes, indices, None


@operation(
    sample(
        [[[[1.0, 1.5, 4.0]]]],
        x=[[[[1.0, 2.0], [3.0, 4.0]]]],
        coordinates=[[[[0.0, 0.0], [0.5, 0.0], [1.0, 1.0]]]],
        sampling_mode="bilinear",
        padding_mode="constant",
        padding_value=0.0,
        coordinates_mode="unnormalized",
        align_corners=True,
    ),
    sample(
        [[[[7.0, 5.5, 9.0]]]],
        x=[[[[1.0, 2.0], [3.0, 4.0]]]],
        coordinates=[[[[-0.5, -0.5], [1.5, 0.0], [-2.0, 0.0]]]],
        sampling_mode="bilinear",
        padding_mode="constant",
        padding_value=9.0,
        coordinates_mode="unnormalized",
        align_corners=True,
    ),
    *(
        sample(
            [[[expected]]],
            x=[[[[1.0, 2.0, 3.0]]]],
            coordinates=[[[[place, 0] for place in range(-3, 6)]]],
            sampling_mode="nearest",
            padding_mode=mode,
            padding_value=0.0,
            coordinates_mode="unnormalized",
            align_corners=False,
        )
        for mode, expected in (
            ("constant", [0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0]),
            ("border", [1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0]),
            ("reflection", [2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0]),
            ("symmetric", [3.0, 2.0, 1.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0]),
        )
    ),
    later={"coordinates:half": "iOS16", "coordinates:integers": "iOS17"},
)
def resample(
    x: Array,
    coordinates: Array,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Array:
    """Return samples of images at any places. `x`: (B, C, H, W); ``coordinates``: (B, h, w, 2), column then row.

    The result is (B, C, h, w). ``coordinates_mode``: unnormalized counts from the centre of the first element;
    normalized_minus_one_to_one and normalized_zero_to_one span the centres of the corners where they are aligned, else
    their outer edges. ``sampling_mode``: bilinear, or nearest (halves go to the even element, as in PyTorch).
    ``padding_mode``: constant is ``padding_value`` outside; border repeats the edge; reflection mirrors at the centres
    of the edge, symmetric at their outer sides. A coordinate that is NaN is outside, or with another padding at 0.
    Another mode raises UsageError, shapes that do not fit ShapeError.
    """
    _check_image("resample", x, "4")
    if coordinates.ndim != 4 or coordinates.shape[0] != x.shape[0] or coordinates.shape[3] != 2:
        raise ShapeError(
            f"resample: coordinates have shape {coordinates.shape}, expected ({x.shape[0]}, h, w, 2). Pass one column "
            "and row per sample."
        )
    coordinates = coordinates if coordinates.dtype.kind == "f" else coordinates.astype(np.float32)
    columns, rows = coordinates[..., 0], coordinates[..., 1]
    modes = (sampling_mode, padding_mode, padding_value, coordinates_mode, align_corners)
    return _sampled("resample", x, columns, rows, *modes)


def _sampled(
    name: str,
    x: Any,
    columns: Any,
    rows: Any,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Any:
    take = getattr(sampling, choose(name, "sampling_mode", sampling_mode.lower(), ("bilinear", "nearest")))
    mode = coordinates_mode.lower()
    rows = sampling.unnormalized(name, rows, x.shape[2], mode, align_corners)
    columns = sampling.unnormalized(name, columns, x.shape[3], mode, align_corners)
    batch = namespace(x).arange(x.shape[0])[:, None, None]
    return take(name, x, batch, rows, columns, padding_mode.lower(), np.float32(padding_value))


@operation(
    sample(
        [[[[10.7525, 2.5025, 0.0], [1.98, 0.0, 0.0], [0.0, 0.0, 0.0]]]],
        x=[[[[11.0, 22.0], [33.0, 44.0]]]],
        transform_matrix=[[-1.0, -2.0, -3.7, -1.0, 3.5, 1.2]],
        output_height=3,
        output_width=3,
        sampling_mode="bilinear",
        padding_mode="constant",
        padding_value=0.0,
        coordinates_mode="normalized_minus_one_to_one",
        align_corners=True,
    ),
)
def affine(
    x: Array,
    transform_matrix: Array,
    output_height: int,
    output_width: int,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Array:
    """Return images turned, scaled, sheared and moved. `x`: (B, C, H, W); the result: (B, C, h, w).

    ``transform_matrix``: (B, 6), or (1, 6) for all images, ``[a0, a1, a2, b0, b1, b2]``: the element at column x and
    row y of the result is the sample of the image at column ``a0 x + a1 y + a2`` and row ``b0 x + b1 y + b2``. MIL has
    it for bilinear, constant 0, normalized_minus_one_to_one and aligned corners; lucid takes all that
    :data:`resample` does, with the coordinates of the result in the same mode. Another mode raises UsageError, shapes
    that do not fit ShapeError.
    """
    _check_image("affine", x, "4")
    _check_sizes("affine", output_height=output_height, output_width=output_width)
    if transform_matrix.ndim != 2 or transform_matrix.shape[0] not in (1, x.shape[0]) or transform_matrix.shape[1] != 6:
        raise ShapeError(
            f"affine: transform_matrix has shape {transform_matrix.shape}, expected ({x.shape[0]}, 6) or (1, 6)."
        )
    xp = namespace(x, transform_matrix)
    mode = choose("affine", "coordinates_mode", coordinates_mode.lower(), sampling.COORDINATES_MODES)
    z = _coordinates(output_width, mode, align_corners)[None, None, :]
    y = _coordinates(output_height, mode, align_corners)[None, :, None]
    a0, a1, a2, b0, b1, b2 = (transform_matrix[:, i][:, None, None] for i in range(6))
    shape = (x.shape[0], output_height, output_width)
    columns = xp.broadcast_to(a0 * z + a1 * y + a2, shape)
    rows = xp.broadcast_to(b0 * z + b1 * y + b2, shape)
    modes = (sampling_mode, padding_mode, padding_value, coordinates_mode, align_corners)
    return _sampled("affine", x, columns, rows, *modes)


def _coordinates(size: int, mode: str, align_corners: bool) -> Any:
    """Return the coordinates of the elements of an axis, the inverse of :func:`lucid.ops.sampling.unnormalized`."""
    place = np.arange(size, dtype=np.float64)
    if mode != "unnormalized":
        place = (place + 0.5) / size if not align_corners else place / (size - 1) if size > 1 else place + 0.5
        place = 2 * place - 1 if mode == "normalized_minus_one_to_one" else place
    return place.astype(np.float32)
