"""Indexing: positions that vary per call, writes to parts, negative positions, ties."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
from faults.project import PRECISIONS, array, built, integers, packaged, spec_text
from lucid import Tensor
from lucid.coreml import State
from lucid.errors import GoldenError, IndexingError, LucidError, MutationError, RefusedError
from lucid.nn import functional as F

CACHE = {"k": lucid.zeros(1, 2, 8, 4), "x": lucid.ones(1, 2, 1, 4), "pos": lucid.tensor([3])}


def slot(k: Tensor, x: Tensor, pos: Tensor) -> Tensor:
    k[:, :, pos] = x
    return k


def slot_scalar(k: Tensor, x: Tensor, pos: Tensor) -> Tensor:
    k[:, :, pos[0]] = x[:, :, 0]
    return k


def slot_by_selection(k: Tensor, x: Tensor, pos: Tensor) -> Tensor:
    return lucid.where((lucid.arange(8) == pos).reshape(1, 1, 8, 1), x, k)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("write", [slot, slot_scalar, slot_by_selection])
def test_f03_a_position_that_is_a_tensor_varies_per_call(write: Callable[..., Tensor], precision: str) -> None:
    """The cache's position was frozen to the example's 3. Here every call fills its own slot."""

    def model(k: Tensor, x: Tensor, pos: Tensor) -> tuple[Tensor, Tensor]:
        k = write(k.clone(), x, pos)
        return k.sum(dim=2), k

    package = packaged(model, CACHE, precision, state=[State("k", "output_1")])
    x = np.ones((1, 2, 1, 4), np.float32)
    for position, total in ((3, 1.0), (4, 2.0), (5, 3.0), (3, 3.0), (0, 4.0), (7, 5.0)):
        assert package.predict(x=x, pos=integers(position)).tolist() == np.full((1, 2, 4), total).tolist()


@pytest.mark.parametrize(
    "number",
    [lambda pos: int(pos[0]), lambda pos: pos.item(), lambda pos: pos.tolist()[0], lambda pos: int(pos.numpy()[0])],
)
def test_f03_a_position_that_becomes_a_number_is_refused_with_its_place(number: Any) -> None:
    """The input has no effect, and the place where Python read it is named."""

    def model(k: Tensor, x: Tensor, pos: Tensor) -> tuple[Tensor, Tensor]:
        k = k.clone()
        k[:, :, number(pos)] = x[:, :, 0]
        return k.sum(dim=2), k

    with pytest.raises(RefusedError, match=r"input pos is turned into Python numbers at .*test_indexing.py:\d+"):
        packaged(model, CACHE, state=[State("k", "output_1")])


def test_f03_a_spec_whose_input_has_no_effect_is_refused(tmp_path: Path) -> None:
    """Where the graph reads the input but nothing follows from it, the golden check says so."""
    model = """
class Model(nn.Module):
    def forward(self, x, y):
        return x + 0.0 * y
"""
    inputs = {"x": 'shape = [2]; values = "ones"', "y": "shape = [2]; values = {normal = {}}"}
    with pytest.raises(GoldenError, match="sees the inputs: input y has no effect on any output or state"):
        built(tmp_path, model, spec_text(inputs))


def test_f03_an_input_that_matters_on_later_calls_only_is_seen(tmp_path: Path) -> None:
    """On the first call x is zero, so that y cannot be seen there; softmax does not see a shift of all scores."""
    model = """
class Model(nn.Module):
    def forward(self, x, y, scores):
        return x * y, F.softmax(scores, dim=-1)
"""
    inputs = {
        "x": 'shape = [2]; values = "index"',
        "y": 'shape = [2]; values = "ones"',
        "scores": 'shape = [3]; values = "ones"',
    }
    assert built(tmp_path, model, spec_text(inputs)).manifest.golden.passed


def column(x: Tensor, position: Tensor, value: Tensor) -> Tensor:
    y = x.clone()
    y[:, position] = value
    return y


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f07_a_write_to_a_part_of_a_clone_arrives(precision: str) -> None:
    """The write was lost and the original values came back."""
    example = {"x": lucid.zeros(2, 2), "position": lucid.tensor([0]), "value": lucid.tensor([1.0])}
    package = packaged(column, example, precision)
    given = package.predict(np.zeros((2, 2), np.float32), integers(1), array(7))
    assert given.tolist() == [[0.0, 7.0], [0.0, 7.0]]


TWO = lucid.tensor([2.0, 2.0])


def times_operator(y: Tensor) -> None:
    y[0:1] *= 5


def times_set(y: Tensor) -> None:
    y[0:1] = y[0:1] * 5


def times_copy(y: Tensor) -> None:
    y.copy_(lucid.cat([y[:1] * 5, y[1:]]))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("write", [times_operator, times_set, times_copy])
def test_f07_a_part_that_is_multiplied_in_place(write: Callable[[Tensor], None], precision: str) -> None:
    """The multiplication was dropped."""

    def model(x: Tensor) -> Tensor:
        y = x.clone()
        write(y)
        return y + 0

    assert packaged(model, lucid.ones(3), precision).predict(np.ones(3, np.float32)).tolist() == [5.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y[0:1].mul_(5),
        lambda y: y[0].__setitem__(1, 5.0),
        lambda y: y.reshape(4)[0:1].add_(1),
        lambda y: y.transpose(0, 1).fill_(2),
        lambda y: y[0].copy_(y[1]),
        lambda y: y[0].copy_([7.0, 8.0]),
        lambda y: y[0].copy_(TWO),
        lambda y: y[0].zero_(),
    ],
    ids=["part", "part of a part", "reshaped", "transposed", "copied", "numbers", "a constant", "zeros"],
)
def test_f07_a_write_to_a_copy_is_refused_with_its_place(write: Any) -> None:
    """Parts are copies in lucid: a write that only such a copy would see is refused, never dropped."""

    def model(x: Tensor) -> Tensor:
        y = x.clone()
        write(y)
        return y + TWO

    with pytest.raises(
        MutationError, match=r"written in place at .*test_indexing.py:\d+ reaches no output.*x\[0\] \*= 2"
    ):
        packaged(model, lucid.ones(2, 2))


def test_f07_a_write_that_a_later_one_replaces_is_no_fault() -> None:
    """Only the last write to a tensor must reach an output."""

    def model(x: Tensor) -> Tensor:
        y = x.clone()
        y.fill_(3.0)
        y.copy_(x * 2.0)
        y[0] = 9.0
        return y

    assert packaged(model, lucid.ones(3)).predict(array(1, 2, 3)).tolist() == [9.0, 4.0, 6.0]


NUMBERS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
WINDOWS = [
    (axis, start, length)
    for axis, size in enumerate(NUMBERS.shape)
    for start in range(-size, size)
    for length in range(1, size - start % size + 1)
]


@pytest.mark.parametrize(("axis", "start", "length"), WINDOWS)
def test_f20_narrow_from_a_negative_start(axis: int, start: int, length: int) -> None:
    """The last element by a start of -1 came out empty. Every axis, start and length."""
    first = start % NUMBERS.shape[axis]
    expected = np.take(NUMBERS, range(first, first + length), axis)
    stop = start + length if start >= 0 else (start + length) or None
    index = (slice(None),) * axis + (slice(start, stop),)
    for model in (lambda x: x.narrow(axis, start, length), lambda x: x[index]):
        given = packaged(model, lucid.tensor(NUMBERS), "float32").predict(NUMBERS).numpy()
        assert given.shape == expected.shape
        np.testing.assert_array_equal(given, expected)


def test_f20_the_last_column() -> None:
    """The literal case, at both precisions."""
    for precision in PRECISIONS:
        given = packaged(lambda x: x.narrow(2, -1, 1), lucid.tensor(NUMBERS), precision).predict(NUMBERS)
        assert given.shape == (2, 3, 1)
        assert given.reshape(6).tolist() == [3.0, 7.0, 11.0, 15.0, 19.0, 23.0]


ROW = array(10, 20, 30)
READS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "index": lambda x, i: x[i],
    "second axis": lambda x, i: x.reshape(1, 3)[:, i].reshape(1),
    "two indices": lambda x, i: x.reshape(1, 3)[i * 0, i],
    "gather": lambda x, i: lucid.gather(x, 0, i),
    "index_select": lambda x, i: lucid.index_select(x, 0, i),
    "take_along_dim": lambda x, i: lucid.take_along_dim(x, i, 0),
}


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("read", READS)
def test_f45_negative_positions_count_from_the_back(read: str, precision: str) -> None:
    """A position of -1 read the first element. At run time and as a constant; beyond either end is an error."""
    package = packaged(READS[read], {"x": lucid.tensor(ROW), "i": lucid.tensor([0])}, precision)
    for position, expected in ((-1, 30.0), (-2, 20.0), (-3, 10.0), (0, 10.0), (2, 30.0)):
        assert package.predict(ROW, integers(position)).tolist() == [expected]
        fixed = packaged(lambda x, i=position: READS[read](x, lucid.tensor([i])), (lucid.tensor(ROW),), precision)
        assert fixed.predict(ROW).tolist() == [expected]
    for position in (3, 4, 100, -4, -5, -6, -7, -100):
        with pytest.raises(IndexingError, match="out of range, expected -3 to 2 for size 3"):
            package.predict(ROW, integers(position))


@pytest.mark.parametrize("position", [-1, -3, 2])
def test_f45_a_scalar_position(position: int) -> None:
    """A rank-0 index, as a number and as an input."""
    assert packaged(lambda x: x[position], lucid.tensor(ROW)).predict(ROW).item() == ROW[position]
    package = packaged(lambda x, i: x[i], {"x": lucid.tensor(ROW), "i": lucid.tensor(0)})
    assert package.predict(ROW, np.int32(position)).item() == ROW[position]
    with pytest.raises(IndexingError, match="out of range"):
        packaged(lambda x: x[3], lucid.tensor(ROW))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f45_writing_at_a_negative_position(precision: str) -> None:
    """The same for writes: one position, several, and a scatter; beyond either end is an error."""

    def one(x: Tensor, i: Tensor) -> Tensor:
        y = x.clone()
        y[i] = 7.0
        return y

    def scattered(x: Tensor, i: Tensor) -> Tensor:
        return x.scatter(0, i, lucid.tensor([7.0]))

    for model in (one, scattered):
        package = packaged(model, {"x": lucid.tensor(ROW), "i": lucid.tensor([0])}, precision)
        assert package.predict(ROW, integers(-1)).tolist() == [10.0, 20.0, 7.0]
        assert package.predict(ROW, integers(-3)).tolist() == [7.0, 20.0, 30.0]
        for position in (3, -4, -6, 50, -50):
            with pytest.raises(LucidError, match=r"scatter|slice_update"):
                package.predict(ROW, integers(position))


def test_f45_an_embedding_beyond_its_table_is_an_error() -> None:
    """A token id that the vocabulary does not have."""
    package = packaged(lambda i: F.embedding(i, lucid.tensor(np.eye(3, dtype=np.float32))), {"i": lucid.tensor([0])})
    assert package.predict(integers(2)).tolist() == [[0.0, 0.0, 1.0]]
    for token in (3, -4):
        with pytest.raises(IndexingError, match=f"gather: index {token} is out of range"):
            package.predict(integers(token))


TIES = array(1, 5, 3, 5, 5)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_f46_ties_come_in_the_order_of_their_places(precision: str, k: int) -> None:
    """Equal values came in an order that changed with k. The values are the contract; lucid's order is by place."""
    package = packaged(lambda x: lucid.topk(x, k), lucid.ones(5), precision)
    values, places = (value.numpy() for value in package.predict(TIES).values())
    np.testing.assert_array_equal(values, np.sort(TIES)[::-1][:k])
    np.testing.assert_array_equal(TIES[places], values)
    assert places.tolist() == [1, 3, 4, 2, 0][:k]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shift", range(5))
def test_f46_argmax_takes_the_first_of_equals(precision: str, shift: int) -> None:
    """Wherever the ties stand."""
    rolled = np.roll(TIES, shift)
    package = packaged(lambda x: (x.argmax(dim=0), (-x).argmin(dim=0)), lucid.ones(5), precision)
    assert [value.item() for value in package.predict(rolled).values()] == [int(np.argmax(rolled))] * 2


def test_f46_sorting_keeps_equals_in_order() -> None:
    """Ascending and descending; also where all values are equal."""
    for descending, numbers in product((False, True), (TIES, array(2, 2, 2, 2))):
        package = packaged(
            lambda x, d=descending: lucid.argsort(x, descending=d), (lucid.tensor(numbers[::-1].copy()),)
        )
        expected = np.argsort(-numbers if descending else numbers, kind="stable")
        assert package.predict(numbers).tolist() == expected.tolist()
