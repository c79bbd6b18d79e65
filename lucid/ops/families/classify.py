"""What a classifier tells: a label, and how probable each one is."""

from __future__ import annotations

from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, Labels, namespace
from lucid.ops.record import operation, sample

__all__ = ["classify"]


@operation(
    sample("dog", {"cat": 0.25, "dog": 0.5, "eel": 0.25}, probabilities=[[0.25, 0.5, 0.25]],
           classes=("cat", "dog", "eel")),
    sample(7, {7: 0.5, 9: 0.5}, probabilities=[0.5, 0.5], classes=(7, 9)),
    exact=True,
    typed=True,
)  # fmt: skip
def classify(probabilities: Array, classes: Labels) -> tuple[str | int, dict[str | int, float]]:
    """Return the most probable of ``classes``, the first of equal ones, and the probability of each.

    ``probabilities``: as many numbers as there are classes, in any shape, else ShapeError. The classes are strings or
    whole numbers, and so is the label; the other output is a dictionary. Nothing can read them but the caller.
    """
    numbers = namespace(probabilities).reshape(probabilities, (-1,))
    if len(numbers) != len(classes) or not classes:
        raise ShapeError(f"classify: {len(numbers)} probabilities for {len(classes)} classes, expected one for each.")
    values: list[Any] = numbers.tolist()
    return classes[int(numbers.argmax())], dict(zip(classes, values, strict=True))
