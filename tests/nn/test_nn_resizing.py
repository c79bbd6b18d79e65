"""Resizing against PyTorch: modes, factors, sizes, corners."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch_oracle import agree, numbers, ours

import lucid
from lucid.errors import LucidError, ShapeError, UnsupportedError
from lucid.nn import functional as F

FACTORS: list[Any] = [2, 1.5, 0.5, 0.7, 3, 1, 1.3]
SIZES: list[Any] = [1, 2, 4, 5, 9, 13]


@pytest.mark.parametrize("settings", [{"scale_factor": f} for f in FACTORS] + [{"size": s} for s in SIZES], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
@pytest.mark.parametrize("align_corners", [None, False, True])
def test_every_rank(settings: dict[str, Any], mode: str, align_corners: bool | None) -> None:
    for rank, name in ((1, "linear"), (2, "bilinear"), (3, "trilinear")):
        if mode != "linear" and align_corners is not None:
            continue
        x = numbers(2, 3, *(5, 4, 3)[:rank])
        options = {"mode": name if mode == "linear" else mode, "align_corners": align_corners, **settings}
        agree(F.interpolate(ours(x), **options), torch.nn.functional.interpolate(x, **options), rtol=1e-4, atol=1e-5)


def test_each_axis_by_itself() -> None:
    x = numbers(1, 2, 4, 6)
    for settings in ({"size": (7, 3)}, {"scale_factor": (2.0, 0.5)}):
        theirs = torch.nn.functional.interpolate(x, mode="bilinear", **settings)
        agree(F.interpolate(ours(x), mode="bilinear", **settings), theirs, atol=1e-5)


def test_sampling_points_literally() -> None:
    x = lucid.tensor([[[0.0, 3.0]]])
    assert F.interpolate(x, 4, mode="linear").tolist() == [[[0.0, 0.75, 2.25, 3.0]]]
    assert F.interpolate(x, 4, mode="linear", align_corners=True).tolist() == [[[0.0, 1.0, 2.0, 3.0]]]


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"size": 2, "scale_factor": 2}, ShapeError, "either size or scale_factor"),
        ({}, ShapeError, "either size or scale_factor"),
        ({"size": 2, "mode": "bicubic"}, UnsupportedError, "use one of nearest, nearest-exact, bilinear"),
        ({"size": 2, "mode": "linear"}, UnsupportedError, "mode is 'linear'"),
        ({"size": 2, "align_corners": True}, UnsupportedError, "no corners to align"),
        ({"size": (1, 2, 3)}, ShapeError, "it takes one number or 2"),
        ({"scale_factor": 0.1}, ShapeError, "axis 2, of size 4, would become 0 long"),
    ],
)
def test_errors(settings: dict[str, Any], kind: type[LucidError], text: str) -> None:
    with pytest.raises(kind) as caught:
        F.interpolate(lucid.ones(1, 1, 4, 4), **settings)
    assert text in str(caught.value)
