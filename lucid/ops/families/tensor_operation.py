"""Operations that make, join, divide, order and count tensors. But for ``cumsum`` and ``range_1d`` they are exact.

They take every dtype unless a docstring names some.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite, prod
from typing import Any

import numpy as np

from lucid.errors import DTypeError, ShapeError, UsageError
from lucid.ops.array import Array, Ints, namespace
from lucid.ops.axes import integers, resolve_axis
from lucid.ops.record import operation, sample

__all__ = [
    "argsort",
    "band_part",
    "concat",
    "cumsum",
    "fill",
    "fill_like",
    "flatten2d",
    "identity",
    "non_zero",
    "one_hot",
    "pad",
    "range_1d",
    "shape",
    "split",
    "stack",
    "tile",
    "topk",
]

_INF, _NAN = float("inf"), float("nan")
_ZERO = np.float32(0)


@operation(
    sample([1, 3, 0, 2], x=[2.0, 7.0, 1.0, 7.0]),
    sample([[2, 0, 1, 3]], x=[[2, 7, -2147483648, 7]], ascending=True),
    sample([3, 1, 0, 2], x=[1.0, _INF, -_INF, _NAN]),
    sample([2, 0, 1, 3], x=[1.0, _INF, -_INF, _NAN], ascending=True),
    exact=True,
)
def argsort(x: Array, axis: int = -1, ascending: bool = False) -> Array:
    """Return the places of the elements along ``axis`` in their order, the largest first, as int32.

    Core ML leaves ties and NaN open: in lucid equal elements keep their order in both directions, and NaN counts as the
    largest, as in PyTorch. (MIL's value function negates the elements, which misplaces -2147483648.)
    """
    return _order(x, resolve_axis("argsort", axis, x.ndim), ascending).astype("int32")


@operation(
    sample(
        [[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 8.0, 9.0]],
        x=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]],
        lower=1,
        upper=1,
    ),
    sample([[1, 2, 3], [0, 5, 6]], x=[[1, 2, 3], [4, 5, 6]], lower=0),
    sample([[1.0, 0.0]], x=[[1.0, _NAN]], upper=0),
    exact=True,
)
def band_part(x: Array, lower: int = -1, upper: int = -1) -> Array:
    """Return `x` (..., M, N) with zeros outside a band around the diagonal of the innermost matrices.

    Element (m, n) is kept where ``(lower < 0 or m - n <= lower) and (upper < 0 or n - m <= upper)``. NaN and infinities
    outside the band become 0 too, as the definition says (MIL's value function multiplies, and keeps NaN). A tensor of
    rank below 2 raises ShapeError.
    """
    if x.ndim < 2:
        raise ShapeError(f"band_part: x of shape {x.shape} has rank {x.ndim}, expected 2 or more.")
    xp = namespace(x)
    rows, columns = x.shape[-2:]
    row, column = xp.reshape(xp.arange(rows), (-1, 1)), xp.arange(columns)
    if lower >= 0:
        is_inside = column >= row - lower
        if upper >= 0:
            is_inside = is_inside & (column <= row + upper)
    elif upper >= 0:
        is_inside = column <= row + upper
    else:
        return x[...]
    return xp.where(is_inside, x, xp.zeros((), dtype=x.dtype))


@operation(
    sample([1.0, 2.0, 3.0, 4.0], values=[[1.0, 2.0], [3.0, 4.0]], axis=0),
    sample([[1, 2, 5], [3, 4, 6]], values=[[[1, 2], [3, 4]], [[5], [6]]], axis=-1),
    sample([[1, 2], [7, 8], [3, 4], [9, 0]], values=[[[1, 2], [3, 4]], [[7, 8], [9, 0]]], axis=0, interleave=True),
    sample([5, 6], values=[5, 6], axis=0),
    exact=True,
)
def concat(values: Sequence[Array], axis: int, interleave: bool = False) -> Array:
    """Join tensors of one dtype along ``axis``; their other sizes are equal. Tensors of rank 0 give one of rank 1.

    ``interleave`` takes the first slice of each along ``axis``, then the second of each, and so on: all shapes are
    equal then. Shapes that do not fit raise ShapeError, different dtypes DTypeError.
    """
    _check_joined("concat", values)
    xp = namespace(values[0])
    rank = values[0].ndim
    if not rank:
        return xp.stack(values)
    axis = resolve_axis("concat", axis, rank)
    shapes = [value.shape for value in values]
    rests = {shape if interleave else (*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rests) > 1 or any(len(shape) != rank for shape in shapes):
        wanted = (
            "all shapes equal, since interleave is set" if interleave else f"shapes that differ in axis {axis} alone"
        )
        raise ShapeError(f"concat: values have shapes {', '.join(map(str, shapes))}, expected {wanted}.")
    if not interleave:
        return xp.concat(values, axis=axis)
    first = shapes[0]
    return xp.reshape(xp.stack(values, axis=axis + 1), (*first[:axis], first[axis] * len(values), *first[axis + 1 :]))


@operation(
    sample([[1.0, 2.0], [4.0, 6.0]], x=[[1.0, 2.0], [3.0, 4.0]]),
    sample([0.0, 1.0, 3.0], x=[1.0, 2.0, 4.0], exclusive=True),
    sample([[7, 6, 4]], x=[[1, 2, 4]], axis=-1, reverse=True),
    sample([[6, 4, 0]], x=[[1, 2, 4]], axis=-1, exclusive=True, reverse=True),
    sample([2147483647, -2147483648], x=[2147483647, 1]),
)
def cumsum(x: Array, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Array:
    """Return the running sum along ``axis`` of float16, float32 or int32, which wraps.

    ``exclusive`` leaves each element out of its own sum, so the first result is 0; ``reverse`` runs from the end. MIL
    takes no axis below -1; lucid takes them all.
    """
    axis = resolve_axis("cumsum", axis, x.ndim)
    xp = namespace(x)
    if reverse:
        x = xp.flip(x, axis=axis)
    if exclusive:
        ahead = (slice(None),) * axis
        zeros = xp.zeros((*x.shape[:axis], min(1, x.shape[axis]), *x.shape[axis + 1 :]), dtype=x.dtype)
        x = xp.concat([zeros, x[(*ahead, slice(None, -1))]], axis=axis)
    result = xp.cumsum(x, axis=axis, dtype=x.dtype)
    return xp.flip(result, axis=axis) if reverse else result


@operation(
    sample([[0.0, 0.0]], shape=[1, 2]),
    sample([7, 7], shape=[2], value=7),
    sample([[True]], shape=[1, 1], value=True),
    exact=True,
    typed=True,
)
def fill(shape: Array, value: Array = _ZERO) -> Array:
    """Return a tensor of this shape that holds one number, in the dtype of ``value``.

    ``shape``: (K,) int32; ``value``: () float16, float32, int32 or bool. MIL asks for a constant ``value`` and sizes
    above 0; in lucid a size of 0 gives an empty tensor, and one below 0 raises ShapeError.
    """
    sizes = integers(shape)
    if any(size < 0 for size in sizes):
        raise ShapeError(f"fill: shape is {tuple(sizes)}, expected no size below 0.")
    return _filled(namespace(shape), tuple(sizes), value)


@operation(
    sample([[0.0, 0.0]], ref_tensor=[[1, 2]]),
    sample([7, 7], ref_tensor=[0.5, 1.5], value=7),
    since="iOS16",
    exact=True,
    typed=True,
)
def fill_like(ref_tensor: Array, value: Array = _ZERO) -> Array:
    """Return a tensor of the shape of ``ref_tensor`` that holds one number, in the dtype of ``value``.

    MIL's text promises the dtype of ``ref_tensor``; its type inference and its value function take that of ``value``,
    and so does lucid.
    """
    return _filled(namespace(ref_tensor), ref_tensor.shape, value)


@operation(
    sample([[1.0, 2.0], [3.0, 4.0]], x=[[[1.0], [2.0]], [[3.0], [4.0]]]),
    sample([[1, 2, 3]], x=[1, 2, 3], axis=-1),
    sample([[1], [2], [3]], x=[1, 2, 3], axis=1),
    sample([[5]], x=5, axis=0),
    exact=True,
)
def flatten2d(x: Array, axis: int = 1) -> Array:
    """Return `x` with the axes before ``axis`` made one and those from ``axis`` on made the other.

    ``axis`` is -rank to rank; with 0 or rank one of the two has size 1. Another raises ShapeError.
    """
    at = x.ndim if axis == x.ndim else resolve_axis("flatten2d", axis, x.ndim)
    return namespace(x).reshape(x, (prod(x.shape[:at]), prod(x.shape[at:])))


@operation(sample([1.0, _NAN], x=[1.0, _NAN]), sample(True, x=True), exact=True)
def identity(x: Array) -> Array:
    """Return `x`."""
    return x[...]


@operation(
    sample([[0, 1], [1, 0], [1, 1]], x=[[0.0, 0.5], [_NAN, -1.0]]),
    sample([[1]], x=[0, 3]),
    sample(np.zeros((1, 0), np.int32), x=True),
    exact=True,
)
def non_zero(x: Array) -> Array:
    """Return the places of the elements that are not 0, in row-major order, as int32 (N, rank). NaN is not 0.

    The number of rows depends on the values: no compiler can know it.
    """
    return namespace(x).argwhere(x).astype("int32")


@operation(
    sample([[0, 1, 0], [1, 0, 0]], indices=[1, 0], one_hot_vector_size=3),
    sample([[0.5, 2.0], [2.0, 0.5]], indices=[1, 0], one_hot_vector_size=2, axis=0, on_value=2.0, off_value=0.5),
    sample([[0, 0], [0, 0]], indices=[2, -1], one_hot_vector_size=2),
    sample([False, True], indices=1, one_hot_vector_size=2, on_value=True, off_value=False),
    exact=True,
    typed=True,
)
def one_hot(
    indices: Array,
    one_hot_vector_size: Array,
    axis: int = -1,
    on_value: Array = np.int32(1),  # noqa: B008  # a number, which nobody can change
    off_value: Array = np.int32(0),  # noqa: B008
) -> Array:
    """Return ``on_value`` where the place along a new axis is the index, ``off_value`` elsewhere, in their dtype.

    ``indices``: int32 of rank D, the result has rank D + 1; ``one_hot_vector_size``: () int32, the size of the axis
    that is inserted as ``axis`` (-D - 1 to D). Core ML leaves an index outside open (negative ones too): in lucid no
    place has it, so all are ``off_value``. MIL asks for constant values of one dtype: two dtypes raise DTypeError, a
    negative size or wrong axis ShapeError.
    """
    xp = namespace(indices)
    on, off = _number(xp, on_value), _number(xp, off_value)
    size = int(one_hot_vector_size)
    if on.dtype != off.dtype:
        raise DTypeError(f"one_hot: on_value is {on.dtype}, off_value is {off.dtype}. Give both one dtype.")
    if size < 0:
        raise ShapeError(f"one_hot: one_hot_vector_size is {size}, expected 0 or more.")
    rank = indices.ndim + 1
    at = resolve_axis("one_hot", axis, rank)
    places = xp.reshape(xp.arange(size), (-1,) + (1,) * (rank - 1 - at))
    return xp.where(xp.expand_dims(indices, axis=at) == places, on, off)


@operation(
    sample([0.0, 1.0, 2.0, 0.0, 0.0], x=[1.0, 2.0], pad=[1, 2]),
    sample([[9.0, 1.0], [9.0, 2.0]], x=[[1.0], [2.0]], pad=[1, 0], constant_val=9.0),
    sample([[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]], x=[[1.0, 2.0, 3.0]], pad=[0, 0, 2, 1], mode="reflect"),
    sample([[1.0, 1.0, 1.0, 2.0, 2.0]], x=[[1.0, 2.0]], pad=[2, 1], mode="replicate"),
    exact=True,
)
def pad(x: Array, pad: Array, mode: str = "constant", constant_val: float = 0.0) -> Array:
    """Return `x` with elements added before and after along its last axes.

    ``pad``: (2 N,) int32, two counts for each of the last N axes. ``mode`` is ``constant`` (``constant_val``),
    ``reflect`` (mirrored at the border element, which is not repeated; at most size - 1) or ``replicate`` (the border
    element; MIL allows at most size, lucid any number where there is one). Counts that do not fit raise ShapeError,
    another mode UsageError. MIL names float16 and float32; lucid pads all dtypes.
    """
    counts = integers(pad)
    first = x.ndim - len(counts) // 2
    if len(counts) % 2 or first < 0 or any(count < 0 for count in counts):
        raise ShapeError(
            f"pad: pad is {tuple(counts)}, expected two counts of 0 or more for each of up to {x.ndim} axes of x of "
            f"shape {x.shape}."
        )
    if mode not in ("constant", "reflect", "replicate"):
        raise UsageError(f"pad: mode is {mode!r}, expected constant, reflect or replicate.")
    xp = namespace(x)
    padded = x[...]
    for axis, before, after in zip(range(first, x.ndim), counts[::2], counts[1::2], strict=True):
        if not before and not after:
            continue
        size = x.shape[axis]
        if mode == "constant":
            start, end = padded.shape[:axis], padded.shape[axis + 1 :]
            sides = [xp.full((*start, count, *end), constant_val, dtype=x.dtype) for count in (before, after)]
            padded = xp.concat([sides[0], padded, sides[1]], axis=axis)
            continue
        most = size - 1 if mode == "reflect" else max(before, after) * bool(size)
        if max(before, after) > most:
            raise ShapeError(
                f"pad: {before} and {after} by {mode} on axis {axis} of size {size}, expected up to {most}."
            )
        places = xp.arange(-before, size + after)
        if mode == "reflect":
            places = size - 1 - xp.abs(size - 1 - xp.abs(places))
        padded = xp.take(padded, xp.clip(places, 0, size - 1), axis=axis)
    return padded


@operation(
    sample([1.0, 1.5, 2.0], start=1.0, end=2.5, step=0.5),
    sample([5, 3, 1], start=5, end=0, step=-2),
    sample(np.zeros(0, np.int32), start=3, end=3, step=1),
)
def range_1d(start: Array, end: Array, step: Array) -> Array:
    """Return ``start, start + step, ...`` as long as ``end`` is not reached, in the dtype of the three: (M,).

    ``M = ceil((end - start) / step)``, 0 where that is negative. Element i is ``start + i * step`` computed in float64
    or int64 and rounded once. MIL's input specification lists ``end`` first; its text, and lucid, begin with ``start``.
    A step of 0 or a number that is not finite raises ShapeError, different dtypes DTypeError.
    """
    xp = namespace(start)
    ends = [_number(xp, number) for number in (start, end, step)]
    if len({number.dtype for number in ends}) > 1:
        raise DTypeError(f"range_1d: dtypes are {', '.join(str(number.dtype) for number in ends)}. Give all three one.")
    first, last, by = (number.item() for number in ends)
    if by == 0 or not all(map(isfinite, (first, last, by))):
        raise ShapeError(
            f"range_1d: start {first}, end {last}, step {by}: expected finite numbers and a step that is not 0."
        )
    if ends[0].dtype.kind == "f":
        length = max(0, ceil((last - first) / by))
        return xp.asarray(first + np.arange(length, dtype=np.float64) * by, dtype=ends[0].dtype)
    length = max(0, -((first - last) // by))
    return xp.asarray(first + np.arange(length, dtype=np.int64) * by, dtype=ends[0].dtype)


@operation(
    sample([2, 1], x=[[1.0], [2.0]]),
    sample(np.zeros(0, np.int32), x=1.0),
    exact=True,
)
def shape(x: Array) -> Array:
    """Return the sizes of the axes of `x`, as int32 (rank,)."""
    return namespace(x).asarray(x.shape, dtype="int32")


@operation(
    sample([1.0, 2.0], [3.0, 4.0], x=[1.0, 2.0, 3.0, 4.0], axis=0, num_splits=2),
    sample([[1], [4]], [[2, 3], [5, 6]], x=[[1, 2, 3], [4, 5, 6]], axis=-1, split_sizes=(1, 2)),
    sample([[1]], np.zeros((1, 0), np.int32), x=[[1]], axis=1, num_splits=2, split_sizes=(1, 0)),
    exact=True,
)
def split(x: Array, axis: int, num_splits: int | None = None, split_sizes: Ints | None = None) -> tuple[Array, ...]:
    """Return the parts of `x` along ``axis``: ``num_splits`` equal ones, or those of ``split_sizes``.

    Sizes that do not add up, a number that does not divide the axis, both given with different counts or neither given
    raise ShapeError. MIL's input specification lists ``axis`` last; its text, and lucid, put it second.
    """
    axis = resolve_axis("split", axis, x.ndim)
    size = x.shape[axis]
    if split_sizes is None:
        if not num_splits or num_splits < 0 or size % num_splits:
            raise ShapeError(
                f"split: num_splits is {num_splits} for axis {axis} of size {size}. Pass a number that divides the "
                "axis, or split_sizes."
            )
        split_sizes = (size // num_splits,) * num_splits
    elif sum(split_sizes) != size or min(split_sizes, default=0) < 0 or num_splits not in (None, len(split_sizes)):
        raise ShapeError(
            f"split: split_sizes {split_sizes} (num_splits {num_splits}) do not divide axis {axis} of size {size}. "
            "Pass sizes that add up to it."
        )
    ahead = (slice(None),) * axis
    parts, start = [], 0
    for length in split_sizes:
        parts.append(x[(*ahead, slice(start, start + length))])
        start += length
    return tuple(parts)


@operation(
    sample([[1.0, 2.0], [3.0, 4.0]], values=[[1.0, 2.0], [3.0, 4.0]], axis=0),
    sample([[1, 3], [2, 4]], values=[[1, 2], [3, 4]], axis=-1),
    sample([5], values=[5], axis=0),
    exact=True,
)
def stack(values: Sequence[Array], axis: int) -> Array:
    """Join tensors of one shape and dtype along a new axis, -rank - 1 to rank.

    Different shapes or a wrong axis raise ShapeError, different dtypes DTypeError.
    """
    _check_joined("stack", values)
    shapes = [value.shape for value in values]
    if len(set(shapes)) > 1:
        raise ShapeError(f"stack: values have shapes {', '.join(map(str, shapes))}, expected all equal.")
    axis = resolve_axis("stack", axis, values[0].ndim + 1)
    return namespace(values[0]).stack(values, axis=axis)


@operation(
    sample([1.0, 2.0, 1.0, 2.0], x=[1.0, 2.0], reps=[2]),
    sample([[1, 2, 1, 2], [1, 2, 1, 2], [1, 2, 1, 2]], x=[[1, 2]], reps=[3, 2]),
    exact=True,
)
def tile(x: Array, reps: Array) -> Array:
    """Return `x` repeated ``reps[i]`` times along axis i. ``reps``: (rank,) int32, all above 0, else ShapeError."""
    counts = integers(reps)
    if len(counts) != x.ndim or any(count < 1 for count in counts):
        raise ShapeError(f"tile: reps is {tuple(counts)}, expected {x.ndim} counts above 0 for x of shape {x.shape}.")
    return namespace(x).tile(x, tuple(counts))


@operation(
    sample([7.0], [1], x=[2.0, 7.0, 1.0, 7.0]),
    sample([7, 7, 2], [1, 3, 0], x=[2, 7, 1, 7], k=3),
    sample([[1.0, 2.0]], [[2, 0]], x=[[2.0, 7.0, 1.0]], k=2, ascending=True),
    sample([_NAN, 2.0, 1.0], [1, 2, 0], x=[1.0, _NAN, 2.0], k=-1),
    sample([9], x=[1, 9], return_indices=False),
    exact=True,
    later={
        "x:integers": "iOS17",
        "k:integers": "iOS17",
        "sort": "iOS16",
        "return_indices": "iOS16",
        "output_indices_dtype": "iOS17",
    },
)
def topk(
    x: Array,
    k: int = 1,
    axis: int = -1,
    ascending: bool = False,
    sort: bool = True,  # noqa: ARG001  # sorted is one of the orders that False allows
    return_indices: bool = True,
    output_indices_dtype: str | None = None,
) -> Array | tuple[Array, Array]:
    """Return the ``k`` largest (or smallest) elements along ``axis``, and their places.

    ``k`` of -1 takes all. Places are int32, or what ``output_indices_dtype`` says: int32, uint16 (which wraps); MIL
    takes it only with ``return_indices``, so its default, int32, stands as None here. Core ML leaves ties, NaN and the
    order without ``sort`` open: in lucid elements are always sorted as by ``argsort``. ``sort`` and ``return_indices``
    are there from opset iOS16, ``output_indices_dtype`` from iOS17. A ``k`` that the axis does not have raises
    ShapeError, a dtype of places that MIL does not allow DTypeError.
    """
    axis = resolve_axis("topk", axis, x.ndim)
    size = x.shape[axis]
    count = size if k == -1 else k
    if not 0 <= count <= size:
        raise ShapeError(f"topk: k is {k}, expected -1 to {size} = the size of axis {axis} of x of shape {x.shape}.")
    if output_indices_dtype not in (None, "int32", "uint16") or (output_indices_dtype and not return_indices):
        raise DTypeError(
            f"topk: output_indices_dtype is {output_indices_dtype!r}, expected int32 or uint16, and only with "
            "return_indices."
        )
    xp = namespace(x)
    if count == 1 and not ascending:
        places = xp.argmax(x, axis=axis, keepdims=True)
    else:
        places = _order(x, axis, ascending)[((slice(None),) * axis + (slice(count),))]
    values = xp.take_along_axis(x, places, axis=axis)
    return (values, places.astype(output_indices_dtype or "int32")) if return_indices else values


def _order(x: Array, axis: int, ascending: bool) -> Array:
    """Return the places in sorted order; equal elements keep theirs, and NaN is the largest."""
    xp = namespace(x)
    if ascending:
        return xp.argsort(x, axis=axis, stable=True)
    places = xp.argsort(xp.flip(x, axis=axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - xp.flip(places, axis=axis)


def _number(xp: Any, value: Any) -> Array:
    """Return one number as an array; a plain Python number is bool, int32 or float32."""
    if hasattr(value, "dtype"):
        return value
    dtype = {bool: "bool", int: "int32"}.get(type(value), "float32")
    return xp.asarray(value, dtype=dtype)


def _filled(xp: Any, sizes: tuple[int, ...], value: Any) -> Array:
    number = _number(xp, value)
    return xp.full(sizes, number, dtype=number.dtype)


def _check_joined(name: str, values: Sequence[Array]) -> None:
    if not values:
        raise ShapeError(f"{name}: no values are given. Pass one or more.")
    dtypes = {value.dtype for value in values}
    if len(dtypes) > 1:
        raise DTypeError(f"{name}: values have dtypes {', '.join(sorted(map(str, dtypes)))}. Cast them to one.")
