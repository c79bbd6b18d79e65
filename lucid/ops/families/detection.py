"""Choosing boxes: non-maximum suppression (in MIL's documentation one of the tensor operations)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lucid.errors import ShapeError
from lucid.ops.array import Array
from lucid.ops.record import operation, sample

__all__ = ["non_maximum_suppression"]


@operation(
    sample(  # the second box overlaps the first by a third, the third is apart
        [[[2.0, 9.0, 0.0], [2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [2.0, 2.0, 0.0]]],
        [[[0.75, 0.5, 0.0]]],
        [[1, 2, -1]],
        boxes=[[[3.0, 2.0, 9.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]],
        scores=[[[0.25, 0.75, 0.5]]],
        iou_threshold=0.25,
        max_boxes=3,
    ),
    sample(
        [[[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]],
        [[[9.5], [2.25]]],
        [[1, 2]],
        [2],
        boxes=[[[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0], [3.0, 3.0, 3.0, 3.0]]],
        scores=[[[-3.5], [9.5], [2.25], [0.75]]],
        iou_threshold=0.25,
        max_boxes=2,
        per_class_suppression=True,
        score_threshold=0.5,
    ),
    until={"score_threshold": "iOS16"},
)
def non_maximum_suppression(
    boxes: Array,
    scores: Array,
    iou_threshold: float,
    max_boxes: int,
    per_class_suppression: bool = False,
    score_threshold: float | None = None,
) -> tuple[Array, ...]:
    """Return the boxes of highest score that overlap none chosen before by more than a threshold.

    Before opset iOS17, with ``score_threshold``, ``boxes``: (n, B, 4), the column and row of the centre, width and
    height, and ``scores``: (n, B, K) for K classes, give the chosen boxes (n, max_boxes, 4), their scores
    (n, max_boxes, K), their places (n, max_boxes) as int32, and how many they are, (n,) int32. From iOS17 on, without
    it, the boxes stand last: (n, 4, B) and (n, K, B) give (n, 4, max_boxes), (n, K, max_boxes) and (n, max_boxes).
    Where fewer are chosen, the rest is 0, and -1 for the places.

    A box has the score of its best class. With ``per_class_suppression`` only boxes of the same best class suppress
    each other. Overlap is the intersection divided by the union, 0 where the union is empty. Core ML leaves open, and
    lucid does: of equal scores the box, and the class, that comes first goes first; NaN is below every threshold. Where
    no score reaches ``score_threshold``, the best box is chosen all the same, as coremltools' tests of Core ML show.
    Shapes that do not fit, or a negative ``max_boxes``, raise ShapeError.
    """
    boxes, scores = np.asarray(boxes), np.asarray(scores)
    is_first_form = score_threshold is not None
    form = "(n, B, 4) and (n, B, K)" if is_first_form else "(n, 4, B) and (n, K, B)"
    axis = 1 if is_first_form else 2
    if boxes.ndim != 3 or scores.ndim != 3 or boxes.shape[3 - axis] != 4 or scores.shape[3 - axis] < 1:
        raise _misfit(boxes, scores, form)
    if boxes.shape[0] != scores.shape[0] or boxes.shape[axis] != scores.shape[axis]:
        raise _misfit(boxes, scores, form)
    if max_boxes < 0:
        raise ShapeError(f"non_maximum_suppression: max_boxes is {max_boxes}, expected 0 or more.")
    rows, marks = (array if is_first_form else np.swapaxes(array, 1, 2) for array in (boxes, scores))
    count = rows.shape[0]
    places = np.full((count, max_boxes), -1, np.int32)
    chosen = np.zeros((count, max_boxes, 4), boxes.dtype)
    kept = np.zeros((count, max_boxes, marks.shape[2]), scores.dtype)
    found = np.zeros(count, np.int32)
    for image in range(count):
        order = _chosen(rows[image], marks[image], iou_threshold, max_boxes, per_class_suppression, score_threshold)
        found[image] = len(order)
        places[image, : len(order)] = order
        chosen[image, : len(order)] = rows[image, order]
        kept[image, : len(order)] = marks[image, order]
    if is_first_form:
        return chosen, kept, places, found
    return np.swapaxes(chosen, 1, 2), np.swapaxes(kept, 1, 2), places


def _misfit(boxes: Any, scores: Any, form: str) -> ShapeError:
    return ShapeError(
        f"non_maximum_suppression: boxes have shape {boxes.shape} and scores {scores.shape}, expected {form}."
    )


def _chosen(
    boxes: Any, scores: Any, most: float, max_boxes: int, is_per_class: bool, score_threshold: float | None
) -> list[int]:
    """Return the places of the chosen boxes of one image, best first. boxes: (B, 4), scores: (B, K)."""
    if not len(boxes) or not max_boxes:
        return []
    is_open = ~np.isnan(scores).all(axis=1)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    best, kinds = scores.max(axis=1), scores.argmax(axis=1)
    if score_threshold is not None:
        is_open &= best >= np.float32(score_threshold)
        if not is_open.any():
            return [int(best.argmax())]
    half = boxes[:, 2:] / 2
    low, high = boxes[:, :2] - half, boxes[:, :2] + half
    area = boxes[:, 2] * boxes[:, 3]
    order: list[int] = []
    for place in np.argsort(-best, kind="stable"):
        if not is_open[place]:
            continue
        order.append(int(place))
        if len(order) == max_boxes:
            break
        sides = np.maximum(np.minimum(high, high[place]) - np.maximum(low, low[place]), 0)
        common = sides[:, 0] * sides[:, 1]
        union = area + area[place] - common
        share = np.divide(common, union, out=np.zeros_like(union), where=union > 0)
        is_close = share > np.float32(most)
        is_open &= ~(is_close & (kinds == kinds[place])) if is_per_class else ~is_close
    return order
