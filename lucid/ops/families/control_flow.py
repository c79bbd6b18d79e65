"""Choosing between values and between blocks of operations, repeating a block, and lists of tensors.

A block is a function from its inputs to a tuple of outputs, which also sees what was computed before it. Core ML leaves
open what an element of a list holds that was never written, and what an index outside of a list does: in lucid it holds
zeros, or ShapeError where the shape is not known, and such an index raises IndexingError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lucid.dtypes import as_dtype
from lucid.errors import ShapeError
from lucid.ops.array import Array, Block, namespace
from lucid.ops.axes import integers
from lucid.ops.lists import TensorList
from lucid.ops.record import operation, sample

__all__ = [
    "cond",
    "list_gather",
    "list_length",
    "list_read",
    "list_scatter",
    "list_write",
    "make_list",
    "select",
    "while_loop",
]

_PAIR = TensorList(2, (2,), "float32", False, {0: np.array([1, 2], np.float32), 1: np.array([3, 4], np.float32)})
_CHANGED = TensorList(2, (2,), "float32", False, {0: np.array([1, 2], np.float32), 1: np.array([5, 6], np.float32)})
_GROWING = TensorList(1, (None,), "int32", True)


@operation(
    sample([1.0, 20.0], cond=[True, False], a=[1.0, 2.0], b=[10.0, 20.0]),
    sample([[1, 7], [7, 4]], cond=[[True, False], [False, True]], a=[[1, 2], [3, 4]], b=7),
    sample(5, cond=False, a=3, b=5),
    exact=True,
)
def select(cond: Array, a: Array, b: Array) -> Array:
    """Return `a` where `cond` is true, `b` elsewhere. ``cond`` is bool, `a` and `b` share a dtype; all three broadcast.

    What is not chosen has no influence, NaN and infinity included.
    """
    return namespace(cond, a, b).where(cond, a, b)


@operation(
    sample(1, pred=True, _true_fn=lambda: (np.int32(1),), _false_fn=lambda: (np.int32(2),)),
    sample([2.5], 3, pred=False, _true_fn=tuple, _false_fn=lambda: (np.array([2.5], np.float32), np.int32(3))),
    exact=True,
)
def cond(pred: Array, _true_fn: Block, _false_fn: Block) -> tuple[Array, ...]:
    """Return what the first block gives where ``pred``, () bool, is true, and what the second gives otherwise.

    The other block is not run. In lucid the two may give shapes of their own.
    """
    return tuple(_true_fn() if bool(pred) else _false_fn())


@operation(
    sample(
        [8.0], 3,
        _cond=lambda _, i: (i < 3,), _body=lambda x, i: (x + x, i + np.int32(1)),
        loop_vars=[[1.0], 0],
    ),
    sample([1.0], _cond=lambda x: (x[0] > 1,), _body=lambda x: (x,), loop_vars=[[1.0]]),
    exact=True,
)  # fmt: skip
def while_loop(_cond: Block, _body: Block, loop_vars: Sequence[Array]) -> tuple[Array, ...]:
    """Return the ``loop_vars`` after the second block replaced them for as long as the first, given them, says true.

    Blocks take one value for each of them; the second gives as many, the first gives one, () bool.
    """
    values = tuple(loop_vars)
    while bool(_cond(*values)[0]):
        values = tuple(_body(*values))
    return values


@operation(
    sample(TensorList(2, (2, None), "float16", False), elem_shape=[2, "length"], init_length=2, dynamic_length=False,
           dtype="fp16"),
    sample(TensorList(1, (3,), "float32"), elem_shape=[3]),
    exact=True,
    typed=True,
)  # fmt: skip
def make_list(
    elem_shape: Sequence[Array],
    init_length: Array = np.int32(1),  # noqa: B008  # a number, which nobody can change
    dynamic_length: bool = True,
    dtype: str = "fp32",
) -> TensorList:
    """Return a list of ``init_length`` elements of ``elem_shape`` (a string for a size that is not known) and dtype.

    A list of ``dynamic_length`` grows where an element is written beyond its end. Negative sizes raise ShapeError.
    """
    shape = tuple(None if isinstance(size, str) else int(size) for size in elem_shape)
    length = int(init_length)
    if length < 0 or any(size is not None and size < 0 for size in shape):
        raise ShapeError(f"make_list: {length} elements of shape {shape}, expected no size below 0.")
    return TensorList(length, shape, as_dtype(dtype).name, bool(dynamic_length))


@operation(sample(2, ls=_PAIR), sample(1, ls=_GROWING), exact=True, typed=True)
def list_length(ls: TensorList) -> Array:
    """Return the number of elements of a list, written or not, as int32 ()."""
    return np.asarray(ls.length, dtype="int32")


@operation(sample([3.0, 4.0], ls=_PAIR, index=1), typed=True)
def list_read(ls: TensorList, index: Array) -> Array:
    """Return the element ``index``, () int32, of a list."""
    return ls.read("list_read", int(index))


@operation(sample([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]], ls=_PAIR, indices=[1, 0, 1]), typed=True)
def list_gather(ls: TensorList, indices: Array) -> Array:
    """Return the elements ``indices``, (K,) int32, of a list, stacked along a first axis of size K, which is not 0."""
    places = integers(indices)
    if not places:
        raise ShapeError("list_gather: indices is empty, expected one or more.")
    elements = [ls.read("list_gather", place) for place in places]
    return namespace(elements[0]).stack(elements)


@operation(
    sample(_CHANGED, ls=_PAIR, index=1, value=[5.0, 6.0]),
    sample(TensorList(4, (2,), "int32", True, {3: np.array([7, 8], np.int32)}), ls=_GROWING, index=3, value=[7, 8]),
    exact=True,
    typed=True,
)
def list_write(ls: TensorList, index: Array, value: Array) -> TensorList:
    """Return the list with ``value`` as its element ``index``, () int32. Another shape than its own: ShapeError."""
    return ls.written("list_write", {int(index): value})


@operation(
    sample(TensorList(2, (2,), "float32", False, {1: np.array([1, 2], np.float32), 0: np.array([3, 4], np.float32)}),
           ls=_PAIR, indices=[1, 0], value=[[1.0, 2.0], [3.0, 4.0]]),
    sample(_CHANGED, ls=_PAIR, indices=[1, 1], value=[[7.0, 7.0], [5.0, 6.0]]),
    exact=True,
    typed=True,
)  # fmt: skip
def list_scatter(ls: TensorList, indices: Array, value: Array) -> TensorList:
    """Return the list with ``value[i]`` as its element ``indices[i]``, (K,) int32; the last of equal indices stays."""
    places = integers(indices)
    if value.ndim < 1 or len(value) != len(places):
        raise ShapeError(f"list_scatter: value has shape {value.shape}, expected ({len(places)}, ...) = one an index.")
    changes: dict[int, Any] = dict(zip(places, value, strict=True))
    return ls.written("list_scatter", changes)
