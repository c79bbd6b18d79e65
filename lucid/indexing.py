"""Reading and writing parts of a tensor: what ``t[index]`` and ``t[index] = v`` mean in MIL's operations.

Integers, slices, ``None`` and ``...`` become ``slice_by_index`` and ``slice_update``. A tensor of integers becomes a
gather, or, where it holds one position, a ``slice_update`` that begins there: the form that Core ML runs in place.
Everything else is written through a table of flat positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lucid.dtypes import bool_, int32
from lucid.errors import IndexingError, ShapeError
from lucid.functional.comparison import where
from lucid.functional.operands import carried
from lucid.functional.vocabulary import mil
from lucid.ops.slices import resolve_slices
from lucid.tensor import Tensor, as_tensor
from lucid.tracing import current_trace

__all__ = ["replaced", "selected"]


@dataclass(frozen=True)
class _Range:
    """The positions begin, begin + stride, … that a slice takes from an axis of known size."""

    begin: int
    count: int
    stride: int
    keeps_axis: bool = True


_Item = _Range | Tensor | None


def selected(source: Tensor, index: object) -> Tensor:
    """Return ``source[index]``."""
    items = _items(source, index)
    result = _sliced(source, items)
    axes = [item for item in items if not (isinstance(item, _Range) and not item.keeps_axis)]
    for axis, item in enumerate(axes):
        if item is None:
            result = mil.expand_dims(result, axes=(axis,))
    for axis, item in reversed(list(enumerate(axes))):
        if isinstance(item, Tensor) and item.ndim == 0:  # one position, which takes its axis away as an integer does
            result = _taken(result, axis, item)
            del axes[axis]
    tensors = [(axis, item) for axis, item in enumerate(axes) if isinstance(item, Tensor)]
    if not tensors:
        return result
    if len(tensors) == 1:
        return _taken(result, *tensors[0])
    return _gathered_together(result, tensors)


def _taken(source: Tensor, axis: int, positions: Tensor) -> Tensor:
    places = _wrapped(positions, source.shape[axis])
    return carried(
        lambda wide: mil.gather(wide, indices=places, axis=axis, batch_dims=0, validate_indices=False), source
    )


def replaced(target: Tensor, index: object, value: Tensor, *, in_place: bool = False) -> Tensor:
    """Return `target` with ``target[index]`` replaced by `value`, cast and broadcast to the place's dtype and shape.

    With `in_place` the caller gives `target` up: its memory may be written to where nobody else can see it.
    """
    value = value.to(target.dtype)
    if isinstance(index, Tensor) and index.dtype == bool_ and value.ndim == 0 and index.shape == target.shape:
        return where(index, value, target)
    every = _items(target, index)
    items = [item for item in every if item is not None]
    if _is_region(items):
        return _updated(target, every, value, in_place)
    tensors = [(axis, item) for axis, item in enumerate(items) if isinstance(item, Tensor)]
    whole = [_Range(0, size, 1) for size in target.shape]
    if len(tensors) == 1 and len(every) == len(items) and tensors[0][1].numel():
        axis, positions = tensors[0]
        if all(item == whole[place] for place, item in enumerate(items) if place != axis):
            return _scattered(target, axis, positions, value)
    table = as_tensor(np.arange(target.numel(), dtype=np.int32).reshape(target.shape))
    places = selected(table, index)
    if not places.numel():
        return target
    flat = carried(
        lambda wide, updates: mil.scatter_along_axis(
            wide, indices=places.reshape(-1), updates=updates, axis=0, mode="update", validate_indices=False
        ),
        target.reshape(-1),
        _spread(value, places.shape).reshape(-1),
    )
    return flat.reshape(target.shape)


def _scattered(target: Tensor, axis: int, positions: Tensor, value: Tensor) -> Tensor:
    """Put slices at several positions of one axis, whole along the others."""
    shape = (*target.shape[:axis], *positions.shape, *target.shape[axis + 1 :])
    flat = (*target.shape[:axis], positions.numel(), *target.shape[axis + 1 :])
    places = _wrapped(positions, target.shape[axis]).reshape(-1)
    return carried(
        lambda wide, updates: mil.scatter(
            wide, indices=places, updates=updates, axis=axis, mode="update", validate_indices=False
        ),
        target,
        _spread(value, shape).reshape(flat),
    )


def _items(source: Tensor, index: object) -> list[_Item]:
    """Return one item an axis (and ``None`` for each new axis) for an index of any form."""
    parts = list(index) if isinstance(index, tuple) else [index]
    parts = [_integers(part) if isinstance(part, (list, np.ndarray, Tensor)) else part for part in parts]
    taken = sum(
        part.ndim if isinstance(part, Tensor) and part.dtype == bool_ else 1
        for part in parts
        if part is not None and part is not ...
    )
    if taken > source.ndim:
        raise IndexingError(f"index: {taken} indices for a tensor of {source.ndim} axes, shape {source.shape}.")
    dots = [position for position, part in enumerate(parts) if part is ...]
    if len(dots) > 1:
        raise IndexingError("index: more than one '...'. Write one and spell the other axes out with ':'.")
    rest = [slice(None)] * (source.ndim - taken)
    at = dots[0] if dots else len(parts)
    parts[at : at + len(dots)] = rest
    items: list[_Item] = []
    axis = 0
    for part in parts:
        if part is None:
            items.append(None)
        elif isinstance(part, Tensor) and part.dtype == bool_:
            items.extend(_mask_positions(part, source.shape[axis : axis + part.ndim]))
            axis += part.ndim
        else:
            items.append(_item(part, axis, source.shape))
            axis += 1
    return items


def _integers(part: Any) -> Tensor:
    found = as_tensor(part)
    if found.dtype.is_floating_point:
        raise IndexingError(f"index: a tensor of {found.dtype} cannot be an index. Use integers or booleans.")
    return found if found.dtype == bool_ else found.to(int32)


def _mask_positions(mask: Tensor, sizes: tuple[int, ...]) -> list[_Item]:
    if mask.shape != sizes:
        raise IndexingError(f"index: the mask has shape {mask.shape}, the axes it selects from {sizes}.")
    places = mil.non_zero(mask)
    return [
        mil.squeeze(mil.slice_by_size(places, begin=(0, axis), size=(-1, 1)), axes=(1,)) for axis in range(mask.ndim)
    ]


def _item(part: Any, axis: int, shape: tuple[int, ...]) -> _Item:
    size = shape[axis]
    if isinstance(part, Tensor):
        return part
    if isinstance(part, slice):
        try:
            begin, end, stride = part.indices(size)
        except (TypeError, ValueError) as error:
            raise IndexingError(f"index: {part} is not a slice of integers ({error}).") from None
        return _Range(begin, len(range(begin, end, stride)), stride)
    try:
        position = part.__index__()
    except AttributeError:
        raise IndexingError(f"index: {part!r} is not an integer, slice, None, '...' or tensor.") from None
    if not -size <= position < size:
        raise IndexingError(f"index: {position} is out of range for axis {axis} of size {size}, shape {shape}.")
    return _Range(position % size, 1, 1, keeps_axis=False)


def _sliced(source: Tensor, items: list[_Item]) -> Tensor:
    """Take the ranges; tensors take their whole axis for the moment."""
    ranges = [
        item if isinstance(item, _Range) else _Range(0, size, 1)
        for item, size in zip((item for item in items if item is not None), source.shape, strict=True)
    ]
    if all(part == _Range(0, size, 1) for part, size in zip(ranges, source.shape, strict=True)):
        return mil.identity(source) if not any(isinstance(item, Tensor) for item in items) else source
    begin, end, stride, end_mask = _bounds(ranges)
    squeeze = tuple(not part.keeps_axis for part in ranges)
    return mil.slice_by_index(source, begin=begin, end=end, stride=stride, end_mask=end_mask, squeeze_mask=squeeze)


def _bounds(ranges: list[_Range]) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[bool, ...]]:
    ends = [
        part.begin + max(part.count - 1, 0) * part.stride + (0 if part.count == 0 else 1 if part.stride > 0 else -1)
        for part in ranges
    ]
    return (
        tuple(part.begin for part in ranges),
        tuple(max(end, 0) for end in ends),
        tuple(part.stride for part in ranges),
        tuple(end < 0 for end in ends),
    )


def _gathered_together(source: Tensor, tensors: list[tuple[int, Tensor]]) -> Tensor:
    """Several tensor indices broadcast together; their axes stand where the first stood if they are neighbours."""
    axes = [axis for axis, _ in tensors]
    rest = [axis for axis in range(source.ndim) if axis not in axes]
    shape = np.broadcast_shapes(*(positions.shape for _, positions in tensors))
    columns = [
        mil.expand_dims(_spread(_wrapped(positions, source.shape[axis]), shape), axes=(-1,))
        for axis, positions in tensors
    ]
    places = mil.concat(columns, axis=-1, interleave=False)
    front = mil.transpose(source, perm=(*axes, *rest)) if [*axes, *rest] != list(range(source.ndim)) else source
    result = carried(lambda wide: mil.gather_nd(wide, indices=places, batch_dims=0, validate_indices=False), front)
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return result
    common, lead = len(shape), axes[0]
    order = (*range(common, common + lead), *range(common), *range(common + lead, result.ndim))
    return mil.transpose(result, perm=order)


def _is_region(items: list[Any]) -> bool:
    """Whether the items name one box of the tensor: ranges, and at most one tensor that holds a single position."""
    tensors = [item for item in items if isinstance(item, Tensor)]
    steady = all(isinstance(item, Tensor) or item.stride > 0 for item in items)
    return (
        bool(items)
        and steady
        and (not tensors or (len(tensors) == 1 and tensors[0].numel() == 1 and tensors[0].ndim <= 1))
    )


def _updated(target: Tensor, every: list[Any], value: Tensor, in_place: bool) -> Tensor:
    items = [item for item in every if item is not None]
    region = tuple(1 if isinstance(item, Tensor) else item.count for item in items)
    visible = tuple(
        1 if item is None or isinstance(item, Tensor) else item.count
        for item in every
        if item is None or (item.ndim == 1 if isinstance(item, Tensor) else item.keeps_axis)
    )
    if 0 in region:
        return target
    update = _spread(value, visible)
    if update.shape != region:
        update = mil.reshape(update, shape=region)
    begin, end, stride, _ = _bounds([_Range(0, 1, 1) if isinstance(item, Tensor) else item for item in items])
    moving = next((axis for axis, item in enumerate(items) if isinstance(item, Tensor)), None)
    if moving is None:
        return _slice_updated(target, update, begin, end, stride, in_place)
    position = _wrapped(mil.reshape(items[moving], shape=(1,)), target.shape[moving])
    begin_there, end_there = _with_position(begin, moving, position), _with_position(end, moving, position + 1)
    return _slice_updated(target, update, begin_there, end_there, stride, in_place)


def _slice_updated(
    target: Tensor, update: Tensor, begin: Any, end: Any, stride: tuple[int, ...], in_place: bool
) -> Tensor:
    """Return `target` with a slice replaced: in its own memory where that may be, as for a cache written row by row."""
    free = in_place and current_trace() is None and not (target.requires_grad or update.requires_grad)
    if free and target._is_held_alone():
        first, last = (each._value if isinstance(each, Tensor) else np.asarray(each, np.int32) for each in (begin, end))
        place = (*resolve_slices("slice_update", target.shape, first, last, stride, None, None, None), ...)
        if target._value[place].shape == update.shape:
            target._value[place] = update._value
            return target
    result: Tensor = mil.slice_update(target, update=update, begin=begin, end=end, stride=stride)
    return result


def _wrapped(position: Tensor, size: int) -> Tensor:
    """Return positions counted from the front where they are counted from the back: MIL's gathers take no others."""
    from_back = position + size
    beyond = mil.select(cond=from_back < 0, a=Tensor(size, int32), b=from_back)  # stays out of range
    return mil.select(cond=position < 0, a=beyond, b=position)


def _with_position(bounds: tuple[int, ...], axis: int, position: Tensor) -> Tensor:
    parts = [Tensor(list(bounds[:axis]), int32), position, Tensor(list(bounds[axis + 1 :]), int32)]
    present = [part for part in parts if part.numel()]
    return present[0] if len(present) == 1 else mil.concat(present, axis=0, interleave=False)


def _spread(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return `value` broadcast to `shape`; a value that does not fit is an error, never a smaller write."""
    if value.shape == shape:
        return value
    lead = value.shape[: max(value.ndim - len(shape), 0)]
    if math.prod(lead) != 1:
        raise ShapeError(f"index: a value of shape {value.shape} does not fit the place, of shape {shape}.")
    return value.expand(shape) if not lead else mil.reshape(value, shape=value.shape[len(lead) :]).expand(shape)
