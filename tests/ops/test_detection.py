"""Non-maximum suppression against MIL's text, followed pair by pair in plain Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from lucid import ops
from lucid.errors import ShapeError
from lucid.ops.execution import execute


def overlap(a: list[float], b: list[float]) -> float:
    """Return the intersection of two boxes (column, row, width, height) divided by their union."""
    sides = [
        max(0.0, min(a[i] + a[i + 2] / 2, b[i] + b[i + 2] / 2) - max(a[i] - a[i + 2] / 2, b[i] - b[i + 2] / 2))
        for i in (0, 1)
    ]
    common = sides[0] * sides[1]
    union = a[2] * a[3] + b[2] * b[3] - common
    return common / union if union > 0 else 0.0


def chosen(boxes: Any, scores: Any, most: float, count: int, per_class: bool, least: float | None) -> list[int]:
    best = [max(row) for row in scores]
    kinds = [row.index(max(row)) for row in scores]
    order = sorted(range(len(boxes)), key=lambda place: (-best[place], place))
    if least is not None:
        order = [place for place in order if best[place] >= least] or order[:1]
        if best[order[0]] < least:
            return order
    kept: list[int] = []
    for place in order:
        rivals = [other for other in kept if not per_class or kinds[other] == kinds[place]]
        if all(overlap(boxes[place], boxes[other]) <= most for other in rivals):
            kept.append(place)
    return kept[:count]


def scene(images: int, count: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    boxes = random.random((images, count, 4)).astype(np.float32) * [10, 10, 6, 6]
    return boxes.astype(np.float32), random.standard_normal((images, count, classes)).astype(np.float32)


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("form", ["iOS15", "iOS17"])
def test_boxes_are_chosen_as_the_text_says(form: str, per_class: bool) -> None:
    for seed, (count, most_boxes, classes) in enumerate(product((1, 12, 40), (1, 7, 50), (1, 3))):
        boxes, scores = scene(2, count, classes, seed)
        for most in (0.0, 0.2, 0.5):
            least = [None, -9.0, 0.3, 99.0][seed % 4] if form == "iOS15" else None
            least = -np.inf if form == "iOS15" and least is None else least
            settings = {"iou_threshold": most, "max_boxes": most_boxes, "per_class_suppression": per_class}
            if form == "iOS15":
                found = ops.non_maximum_suppression(boxes, scores, **settings, score_threshold=least)
                counts = found[3]
                assert counts.dtype == np.int32
            else:
                turned = (boxes.transpose(0, 2, 1), scores.transpose(0, 2, 1))
                found = ops.non_maximum_suppression(*turned, **settings)
                assert len(found) == 3
                found = (found[0].transpose(0, 2, 1), found[1].transpose(0, 2, 1), found[2])
                counts = (found[2] >= 0).sum(axis=1)
            assert found[0].shape == (2, most_boxes, 4)
            assert found[1].shape == (2, most_boxes, classes)
            assert found[2].dtype == np.int32
            for image in range(2):
                places = chosen(boxes[image].tolist(), scores[image].tolist(), most, most_boxes, per_class, least)
                rest = most_boxes - len(places)
                assert counts[image] == len(places)
                assert found[2][image].tolist() == places + [-1] * rest
                np.testing.assert_array_equal(found[0][image, : len(places)], boxes[image, places])
                np.testing.assert_array_equal(found[1][image, : len(places)], scores[image, places])
                assert not found[0][image, len(places) :].any()
                assert not found[1][image, len(places) :].any()


def places_of(boxes: list[list[float]], scores: list[list[float]], most: float = 0.5, **settings: Any) -> list[int]:
    arrays = (np.array([boxes], np.float32).transpose(0, 2, 1), np.array([scores], np.float32).transpose(0, 2, 1))
    return ops.non_maximum_suppression(*arrays, most, len(boxes), **settings)[2][0].tolist()


SQUARE = [0.0, 0.0, 2.0, 2.0]
FAR = [9.0, 9.0, 2.0, 2.0]


def test_equal_scores_go_in_order() -> None:
    assert places_of([SQUARE, FAR, SQUARE], [[1.0], [1.0], [1.0]]) == [0, 1, -1]


def test_only_what_exceeds_the_threshold_is_suppressed() -> None:
    half = [0.0, 0.0, 2.0, 1.0]
    assert places_of([SQUARE, half], [[1.0], [0.5]], most=0.5) == [0, 1]
    assert places_of([SQUARE, half], [[1.0], [0.5]], most=0.499) == [0, -1]


def test_classes_suppress_only_themselves() -> None:
    scores = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]]
    assert places_of([SQUARE] * 3, scores, per_class_suppression=True) == [0, 1, -1]
    assert places_of([SQUARE] * 3, scores) == [0, -1, -1]


def test_boxes_without_area_overlap_nothing() -> None:
    point = [0.0, 0.0, 0.0, 0.0]
    assert places_of([point, point, SQUARE], [[3.0], [2.0], [1.0]], most=0.0) == [0, 1, 2]


def test_scores_that_are_no_numbers_are_never_chosen() -> None:
    nan = float("nan")
    assert places_of([SQUARE, FAR, FAR], [[nan, nan], [nan, 0.5], [1.0, nan]]) == [2, -1, -1]


def test_the_best_box_stays_where_no_score_suffices() -> None:
    boxes, scores = np.array([[SQUARE, FAR]], np.float32), np.array([[[0.25], [0.5]]], np.float32)
    chosen_boxes, _, places, count = ops.non_maximum_suppression(boxes, scores, 0.5, 2, score_threshold=0.75)
    assert (places.tolist(), count.tolist()) == ([[1, -1]], [1])
    assert chosen_boxes[0].tolist() == [FAR, [0.0] * 4]


def test_no_boxes_and_no_images() -> None:
    empty = ops.non_maximum_suppression(
        np.zeros((1, 0, 4), np.float32), np.zeros((1, 0, 2), np.float32), 0.5, 3, score_threshold=0.0
    )
    assert [each.shape for each in empty] == [(1, 3, 4), (1, 3, 2), (1, 3), (1,)]
    assert empty[2].tolist() == [[-1, -1, -1]]
    assert empty[3].tolist() == [0]
    none = ops.non_maximum_suppression(np.zeros((0, 4, 5), np.float32), np.zeros((0, 1, 5), np.float32), 0.5, 3)
    assert [each.shape for each in none] == [(0, 4, 3), (0, 1, 3), (0, 3)]


def test_float16_overlaps_are_computed_in_float32() -> None:
    """The area of these boxes, 90000, is infinite in float16."""
    boxes = np.array([[[200.0, 300.0], [0.0, 0.0], [300.0, 300.0], [300.0, 300.0]]], np.float16)
    scores = np.array([[[1.0, 0.5]]], np.float16)
    found = execute(ops.non_maximum_suppression, ops.non_maximum_suppression.bind(boxes, scores, 0.25, 2))
    assert [each.dtype for each in found] == [np.float16, np.float16, np.int32]
    assert found[2].tolist() == [[0, -1]]
    assert found[0][0, :, 0].tolist() == [200.0, 0.0, 300.0, 300.0]


@pytest.mark.parametrize(
    ("boxes", "scores", "count", "settings", "message"),
    [
        ((1, 5, 4), (1, 5, 2), 3, {}, r"expected \(n, 4, B\) and \(n, K, B\)"),
        ((1, 4, 5), (1, 2, 5), 3, {"score_threshold": 0.5}, r"expected \(n, B, 4\) and \(n, B, K\)"),
        ((1, 4, 5), (1, 2, 6), 3, {}, r"boxes have shape \(1, 4, 5\) and scores \(1, 2, 6\)"),
        ((2, 4, 5), (1, 2, 5), 3, {}, r"boxes have shape \(2, 4, 5\)"),
        ((1, 4, 5), (1, 2, 5), -1, {}, "max_boxes is -1, expected 0 or more"),
    ],
)
def test_refusals(
    boxes: tuple[int, ...], scores: tuple[int, ...], count: int, settings: dict[str, Any], message: str
) -> None:
    arrays = (np.ones(boxes, np.float32), np.ones(scores, np.float32))
    with pytest.raises(ShapeError, match=message):
        ops.non_maximum_suppression(*arrays, 0.5, count, **settings)
