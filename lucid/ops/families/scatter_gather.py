"""Operations that read or write the elements that an integer tensor names.

**Indices.** A negative index counts from the back. MIL's opsets iOS15 and iOS16 say so; from iOS17 on a negative index
is out of bounds (the text of the parameter kept the old range by mistake), so a program for iOS17 has to make indices
non-negative first: ``select(index >= 0, index, index + size)``. lucid's runtime counts from the back in every opset,
so that programs of all opsets run.

**Out of range.** With ``validate_indices`` an index outside 0 to size - 1, a negative one too, raises IndexingError.
Without it Core ML does no check, and the result is undefined but memory safe; lucid raises IndexingError for an index
outside -size to size - 1 all the same, with the index and the size. (While JAX compiles, values are not known and not
checked.)
"""

from __future__ import annotations

from math import prod
from typing import Any

from lucid.errors import ShapeError
from lucid.ops.array import Array, namespace
from lucid.ops.axes import resolve_axis
from lucid.ops.indices import check_indices, grid, refuse_index, split_coordinates
from lucid.ops.record import operation, sample

__all__ = ["gather", "gather_along_axis", "gather_nd", "scatter", "scatter_along_axis", "scatter_nd"]


@operation(
    sample([[3.0, 4.0], [1.0, 2.0]], x=[[1.0, 2.0], [3.0, 4.0]], indices=[1, -2]),
    sample(30, x=[10, 20, 30], indices=-1),
    sample([[[2], [1]], [[4], [4]]], x=[[1, 2], [3, 4]], indices=[[[1], [0]], [[1], [1]]], axis=1, batch_dims=1),
    exact=True,
    later={
        "x:integers": "iOS17",
        "indices:integers": "iOS16",
        "indices:bytes": "iOS17",
        "batch_dims": "iOS16",
        "validate_indices": "iOS17",
    },
)
def gather(x: Array, indices: Array, axis: int = 0, batch_dims: int = 0, validate_indices: bool = False) -> Array:
    """Return the slices of `x` along ``axis`` that ``indices``, integers of any shape, name.

    The result has shape ``x.shape[:axis] + indices.shape[batch_dims:] + x.shape[axis + 1:]``. The first ``batch_dims``
    axes of `x` and of ``indices`` run together and have the same sizes; ``batch_dims <= axis`` (from opset iOS16 on).
    """
    place = resolve_axis("gather", axis, x.ndim)
    size = x.shape[place]
    check_indices("gather", indices, (size,), validate_indices)
    xp = namespace(x)
    try:
        if batch_dims:
            return _batched(xp, x, indices, place, batch_dims)
        return xp.take(x, indices, axis=place)[...]  # NumPy would give a scalar of its own where all axes go
    except IndexError:
        refuse_index("gather", indices, (size,))


def _batched(xp: Any, x: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    batch = x.shape[:batch_dims]
    if not (0 <= batch_dims <= axis and batch_dims <= indices.ndim and indices.shape[:batch_dims] == batch):
        raise ShapeError(
            f"gather: batch_dims {batch_dims} does not fit x of shape {x.shape}, indices of shape {indices.shape} and "
            f"axis {axis}. The batch axes come before axis and are equal in x and indices."
        )
    picked, middle, tail = indices.shape[batch_dims:], x.shape[batch_dims:axis], x.shape[axis + 1 :]
    count = prod(batch)
    rows = xp.reshape(xp.moveaxis(x, axis, batch_dims), (count, x.shape[axis], *middle, *tail))
    found = rows[xp.arange(count)[:, None], xp.reshape(indices, (count, prod(picked)))]
    found = xp.moveaxis(found, 1, 1 + len(middle))
    return xp.reshape(found, (*batch, *middle, *picked, *tail))


@operation(
    sample([[1.0, 4.0]], x=[[1.0, 2.0], [3.0, 4.0]], indices=[[0, 1]]),
    sample([[3, 1], [5, 5]], x=[[1, 2, 3], [4, 5, 6]], indices=[[-1, 0], [1, 1]], axis=1),
    exact=True,
    later={"x:integers": "iOS17", "indices:integers": "iOS16", "indices:bytes": "iOS17", "validate_indices": "iOS17"},
)
def gather_along_axis(x: Array, indices: Array, axis: int = 0, validate_indices: bool = False) -> Array:
    """Return ``out[..., i, ...] = x[..., indices[..., i, ...], ...]``, the index standing at ``axis``.

    ``indices`` has the rank of `x` and its sizes but at ``axis``, or ShapeError is raised; the result has its shape.
    """
    keys = _along("gather_along_axis", x, indices, axis, validate_indices)
    try:
        return x[keys]
    except IndexError:
        refuse_index("gather_along_axis", indices, (x.shape[axis],))


def _along(name: str, x: Any, indices: Any, axis: int, is_strict: bool) -> tuple[Any, ...]:
    rank = x.ndim
    place = resolve_axis(name, axis, rank)
    shape = indices.shape
    if len(shape) != rank or any(a != b for i, (a, b) in enumerate(zip(shape, x.shape, strict=True)) if i != place):
        raise ShapeError(
            f"{name}: indices have shape {shape}, the tensor has {x.shape}. They differ at axis {axis} at most: "
            "expand the indices."
        )
    check_indices(name, indices, (x.shape[place],), is_strict)
    xp = namespace(x)
    return tuple(indices if i == place else grid(xp, shape, i, rank) for i in range(rank))


@operation(
    sample([2.0, 3.0], x=[[1.0, 2.0], [3.0, 4.0]], indices=[[0, 1], [1, 0]]),
    sample([[3, 4]], x=[[1, 2], [3, 4]], indices=[[-1]]),
    sample([2, 3], x=[[1, 2], [3, 4]], indices=[[1], [0]], batch_dims=1),
    exact=True,
    later={
        "x:integers": "iOS17",
        "indices:integers": "iOS16",
        "indices:bytes": "iOS17",
        "batch_dims": "iOS16",
        "validate_indices": "iOS17",
    },
)
def gather_nd(x: Array, indices: Array, batch_dims: int = 0, validate_indices: bool = False) -> Array:
    """Return the slices of `x` at coordinates: the last axis of ``indices`` holds one per axis, from ``batch_dims`` on.

    With K coordinates the result has shape ``indices.shape[:-1] + x.shape[batch_dims + K:]``. The first ``batch_dims``
    axes of `x` and ``indices`` run together and are equal (from opset iOS16 on).
    """
    if not indices.ndim or not 0 <= batch_dims < indices.ndim or indices.shape[-1] + batch_dims > x.ndim:
        raise ShapeError(
            f"gather_nd: indices of shape {indices.shape} with batch_dims {batch_dims} name more axes than x of shape "
            f"{x.shape} has. Pass at most {x.ndim - batch_dims} coordinates."
        )
    places, count = indices.shape[:-1], indices.shape[-1]
    if places[:batch_dims] != x.shape[:batch_dims]:
        raise ShapeError(
            f"gather_nd: indices are {indices.shape}, x is {x.shape}. Make their first {batch_dims} axes equal."
        )
    sizes = x.shape[batch_dims : batch_dims + count]
    check_indices("gather_nd", indices, sizes, validate_indices)
    xp = namespace(x)
    keys = (*(grid(xp, places, i, len(places)) for i in range(batch_dims)), *split_coordinates(indices))
    if not count:
        return xp.broadcast_to(x[keys], places + x.shape[batch_dims:])
    try:
        return x[(*keys, ...)]
    except IndexError:
        refuse_index("gather_nd", indices, sizes)


_MODES = {
    "update": ("", "set"),
    "add": ("add", "add"),
    "sub": ("subtract", "subtract"),
    "mul": ("multiply", "multiply"),
    "div": ("divide", "divide"),
    "max": ("maximum", "max"),
    "min": ("minimum", "min"),
}


def _written(name: str, data: Any, keys: tuple[Any, ...], updates: Any, mode: str, shape: tuple[int, ...]) -> Any:
    """Return a copy of `data` with `updates` written to or combined with the elements that `keys` name."""
    if mode not in _MODES:
        raise ShapeError(f"{name}: mode is {mode!r}. Choose one of {', '.join(_MODES)}.")
    if updates.shape != shape:
        raise ShapeError(
            f"{name}: updates have shape {updates.shape}, expected {shape}. Pass one value per named element."
        )
    combine, method = _MODES[mode]
    place = getattr(data, "at", None)
    if place is not None:  # JAX's arrays cannot be written to
        return getattr(place[keys], method)(updates)
    xp = namespace(data)
    out = data.copy()
    if not combine:
        out[keys] = updates
    elif combine == "divide" and not xp.isdtype(data.dtype, "real floating"):
        xp.floor_divide.at(out, keys, updates)
    else:
        getattr(xp, combine).at(out, keys, updates)
    return out


@operation(
    sample([[9, 11, 13], [9, 11, 13]], data=[[1, 2, 3], [4, 5, 6]], indices=[1, 0], updates=[[5, 6, 7], [8, 9, 10]]),
    sample([6.0, 0.0, 0.0], data=[0.0, 0.0, 0.0], indices=[0, 0, 0], updates=[1.0, 2.0, 3.0]),
    sample([[1.0, 7.0]], data=[[1.0, 2.0]], indices=[-1], updates=[[7.0]], axis=1, mode="update"),
    later={"validate_indices": "iOS17"},
)
def scatter(
    data: Array,
    indices: Array,
    updates: Array,
    axis: int = 0,
    mode: str = "add",
    validate_indices: bool = False,
) -> Array:
    """Return `data` with the slices along ``axis`` that ``indices`` name combined with those of ``updates``.

    ``updates`` has shape ``data.shape[:axis] + indices.shape + data.shape[axis + 1:]``. ``mode`` is one of update, add,
    sub, mul, div, max, min: ``out = out <mode> update``, one update after the other in row-major order, so an index
    named twice takes part twice, and with update the last one stays (Core ML leaves that order open). int32 div rounds
    down. The default mode is add, as MIL's definition sets it (its text says update here and add in the two others).
    """
    place = resolve_axis("scatter", axis, data.ndim)
    size = data.shape[place]
    check_indices("scatter", indices, (size,), validate_indices)
    shape = data.shape[:place] + indices.shape + data.shape[place + 1 :]
    keys = (*(slice(None),) * place, indices)
    try:
        return _written("scatter", data, keys, updates, mode, shape)
    except IndexError:
        refuse_index("scatter", indices, (size,))


@operation(
    sample([[1.0, 6.0]], data=[[1.0, 2.0]], indices=[[1, 1]], updates=[[1.0, 3.0]], axis=1),
    sample([[7, 2], [3, 8]], data=[[1, 2], [3, 4]], indices=[[0, -1]], updates=[[7, 8]], mode="update"),
    later={"validate_indices": "iOS17"},
)
def scatter_along_axis(
    data: Array,
    indices: Array,
    updates: Array,
    axis: int = 0,
    mode: str = "add",
    validate_indices: bool = False,
) -> Array:
    """Return `data` with ``out[..., indices[..., i, ...], ...]`` combined with ``updates[..., i, ...]``, at ``axis``.

    ``indices`` and ``updates`` have one shape, the sizes of `data` but at ``axis``. Modes and order as in
    :data:`scatter` (MIL's value function always overwrites, whatever the mode; its text is right).
    """
    keys = _along("scatter_along_axis", data, indices, axis, validate_indices)
    try:
        return _written("scatter_along_axis", data, keys, updates, mode, indices.shape)
    except IndexError:
        refuse_index("scatter_along_axis", indices, (data.shape[axis],))


@operation(
    sample([[1.0, 7.0], [3.0, 4.0]], data=[[1.0, 2.0], [3.0, 4.0]], indices=[[0, 1]], updates=[5.0]),
    sample([[1, 2], [8, 9]], data=[[1, 2], [3, 4]], indices=[[-1]], updates=[[8, 9]], mode="update"),
    later={"validate_indices": "iOS17"},
)
def scatter_nd(data: Array, indices: Array, updates: Array, mode: str = "add", validate_indices: bool = False) -> Array:
    """Return `data` with the slices at the coordinates in the last axis of ``indices`` combined with ``updates``.

    With K coordinates ``updates`` has shape ``indices.shape[:-1] + data.shape[K:]``. Modes and order as in
    :data:`scatter`.
    """
    if not indices.ndim or indices.shape[-1] > data.ndim:
        raise ShapeError(
            f"scatter_nd: indices are {indices.shape}, data is {data.shape}. Pass {data.ndim} coordinates or fewer."
        )
    count = indices.shape[-1]
    sizes = data.shape[:count]
    check_indices("scatter_nd", indices, sizes, validate_indices)
    shape = indices.shape[:-1] + data.shape[count:]
    try:
        if count:
            return _written("scatter_nd", data, split_coordinates(indices), updates, mode, shape)
        whole = (namespace(data).zeros(indices.shape[:-1], dtype=indices.dtype),)
        return _written("scatter_nd", data[None, ...], whole, updates, mode, shape)[0, ...]
    except IndexError:
        refuse_index("scatter_nd", indices, sizes)
