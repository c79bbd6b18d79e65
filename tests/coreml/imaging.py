"""Packages of image, recurrent, detection, quantization and random operations, made by coremltools' builder:
``python imaging.py FOLDER``.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.modules["torch"] = None  # type: ignore[assignment]  # coremltools would import it
logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

import coremltools as ct  # noqa: E402
import numpy as np  # noqa: E402
from coremltools.converters.mil import Builder as mb  # noqa: E402, N813
from coremltools.converters.mil.mil import types  # noqa: E402

_IOS15, _IOS16, _IOS17, _IOS18 = ct.target.iOS15, ct.target.iOS16, ct.target.iOS17, ct.target.iOS18
SAVED: list[tuple[str, Any, Any, Any]] = []  # name, program, target, precision


def saved(
    target: Any, *shapes: tuple[int, ...], precision: Any = ct.precision.FLOAT32, **dtypes: Any
) -> Callable[[Callable[..., Any]], None]:
    """Make a program of the decorated function; its inputs are float32 where no dtype is named."""

    def make(function: Callable[..., Any]) -> None:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        specs = [
            mb.TensorSpec(shape, dtype=dtypes.get(name, types.fp32)) for name, shape in zip(names, shapes, strict=True)
        ]
        SAVED.append((function.__name__, mb.program(specs, opset_version=target)(function), target, precision))

    return make


def weights(*shape: int) -> np.ndarray:
    """Return the numbers that the test knows too."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * np.float32(0.5)


# -- images -----------------------------------------------------------------------------------------------------------


@saved(_IOS15, (1, 2, 5, 4))
def resized15(x: Any) -> Any:
    return (
        mb.upsample_bilinear(x=x, scale_factor_height=2.0, scale_factor_width=1.5, align_corners=False, name="up"),
        mb.upsample_nearest_neighbor(x=x, scale_factor_height=3, scale_factor_width=2, name="up_nearest"),
        mb.resize_bilinear(
            x=x, target_size_height=7, target_size_width=3, sampling_mode="STRICT_ALIGN_CORNERS", name="to"
        ),
        mb.resize_nearest_neighbor(x=x, target_size_height=8, target_size_width=3, name="to_nearest"),
        mb.crop(x=x, crop_height=[1, 2], crop_width=[0, 3], name="cropped"),
    )


@saved(_IOS17, (1, 2, 5, 4), (3,), shape=types.int32)
def resized17(x: Any, shape: Any) -> Any:
    two = np.uint32(2)
    return (
        mb.resize(x=x, shape=shape, resized_dims=two, sampling_mode="UNALIGN_CORNERS", name="linear"),
        mb.resize(x=x, shape=shape, resized_dims=two, interpolation_mode="NEAREST_NEIGHBOR", name="nearest"),
    )


def _cut(**boxes: Any) -> Any:
    return mb.crop_resize(target_height=3, target_width=2, sampling_mode="ALIGN_CORNERS", **boxes)


@saved(_IOS16, (2, 3, 6, 5), (2, 1, 5, 1, 1))
def cut16(x: Any, roi: Any) -> Any:
    return _cut(x=x, roi=roi, pad_value=-1.0)


@saved(_IOS17, (2, 3, 6, 5), (2, 4))
def cut17(x: Any, boxes: Any) -> Any:
    return _cut(x=x, boxes=boxes, box_indices=np.array([1, 0], np.int32), pad_value=-1.0)


_MODES = {"padding_value": 0.0, "coordinates_mode": "normalized_minus_one_to_one"}


@saved(_IOS16, (2, 3, 5, 4), (2, 6, 7, 2), (1, 6))
def sampled(x: Any, grid: Any, matrix: Any) -> Any:
    aligned = {**_MODES, "align_corners": True, "padding_mode": "constant", "sampling_mode": "bilinear"}
    return (
        mb.resample(
            x=x, coordinates=grid, sampling_mode="bilinear", padding_mode="symmetric", align_corners=False, **_MODES,
            name="symmetric",
        ),
        mb.affine(x=x, transform_matrix=matrix, output_height=6, output_width=3, **aligned, name="affine"),
    )  # fmt: skip


@saved(_IOS17, (1, 2, 6, 8), precision=ct.precision.FLOAT16)
def halved(x: Any) -> Any:
    return mb.upsample_bilinear(x=x, scale_factor_height=2.5, scale_factor_width=2.5, align_corners=False, name="y")


# -- sequences --------------------------------------------------------------------------------------------------------

_S, _B, _F, _H = 5, 2, 3, 4


def _tagger(x: Any, h: Any, c: Any) -> Any:
    return mb.lstm(
        x=x,
        initial_h=h,
        initial_c=c,
        weight_ih=weights(4 * _H, _F),
        weight_hh=weights(4 * _H, _H),
        bias=weights(4 * _H),
        weight_ih_back=weights(4 * _H, _F) * 2,
        weight_hh_back=weights(4 * _H, _H) * 2,
        bias_back=weights(4 * _H) * 2,
        direction="bidirectional",
        output_sequence=True,
    )


@saved(_IOS15, (_S, _B, _F), (_B, 2 * _H), (_B, 2 * _H))
def tagger(x: Any, h: Any, c: Any) -> Any:
    return _tagger(x, h, c)


@saved(_IOS17, (_S, _B, _F), (_B, 2 * _H), (_B, 2 * _H), precision=ct.precision.FLOAT16)
def half_tagger(x: Any, h: Any, c: Any) -> Any:
    return _tagger(x, h, c)


@saved(_IOS18, (_S, _B, _F), (_B, _H))
def gated(x: Any, h: Any) -> Any:
    return mb.gru(
        x=x,
        initial_h=h,
        weight_ih=weights(3 * _H, _F),
        weight_hh=weights(3 * _H, _H),
        bias=weights(3 * _H),
        input_bias=weights(3 * _H) * 2,
        reset_after=True,
        output_sequence=True,
    )


@saved(_IOS15, (_S, _B, _F), (_B, _H))
def simple(x: Any, h: Any) -> Any:
    settings = {"direction": "reverse", "activation": "relu"}
    return mb.rnn(x=x, initial_h=h, weight_ih=weights(_H, _F), weight_hh=weights(_H, _H), **settings)


# -- boxes, integers, random numbers -----------------------------------------------------------------------------------


@saved(_IOS15, (1, 6, 4), (1, 6, 2))
def boxes15(boxes: Any, scores: Any) -> Any:
    return mb.non_maximum_suppression(
        boxes=boxes, scores=scores, iou_threshold=0.3, score_threshold=0.1, max_boxes=4, per_class_suppression=True
    )


@saved(_IOS17, (1, 4, 6), (1, 2, 6))
def boxes17(boxes: Any, scores: Any) -> Any:
    return mb.non_maximum_suppression(boxes=boxes, scores=scores, iou_threshold=0.3, max_boxes=4)


@saved(_IOS17, (2, 8))
def quantized(x: Any) -> Any:
    settings = {"scale": np.float32([0.0625, 0.125]), "zero_point": np.uint8([100, 3]), "axis": 0}
    return mb.dequantize(input=mb.quantize(input=x, output_dtype="uint8", **settings), **settings, name="y")


@saved(_IOS15, (2, 5))
def drawn(x: Any) -> Any:
    shape = np.array([3, 4], np.int32)
    return (
        mb.random_uniform(shape=shape, low=-1.0, high=3.0, seed=5, name="uniform"),
        mb.random_normal(shape=shape, mean=1.0, stddev=2.0, seed=5, name="normal"),
        mb.random_bernoulli(shape=shape, prob=0.25, seed=5, name="bernoulli"),
        mb.random_categorical(x=x, size=7, seed=5, name="categorical"),
        mb.random_uniform(shape=shape, name="fresh"),
    )


def main(folder: Path) -> None:
    for name, program, target, precision in SAVED:
        options = {} if precision == ct.precision.FLOAT16 else {"pass_pipeline": ct.PassPipeline.EMPTY}
        converted = ct.convert(
            program,
            convert_to="mlprogram",
            minimum_deployment_target=target,
            compute_precision=precision,
            skip_model_load=True,
            **options,
        )
        converted.save(str(folder / f"{name}.mlpackage"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
