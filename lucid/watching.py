"""Watching what a call leaves behind in the objects of a model, and putting it back.

Everything reachable from the model is remembered: tensors by the value in their box, attributes and containers item
by item, NumPy arrays by content. Other objects' own attributes are followed too, so that a counter in a helper object
counts.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lucid.tensor import Tensor

__all__ = ["Change", "Watch"]

_LEAVES = (
    type(None), bool, int, float, complex, str, bytes, type,
    types.ModuleType, types.BuiltinFunctionType, np.dtype, np.generic,
)  # fmt: skip
_HIDDEN = "_members"  # where a module keeps its parameters, buffers and parts: tables that paths do not mention


@dataclass(frozen=True)
class Change:
    """One thing that a call changed: the path to it from the model, and both values in words."""

    path: str
    before: str
    after: str
    tensor: Tensor | None = None

    def __str__(self) -> str:
        return f"{self.path} was {self.before}, is {self.after}"


@dataclass(frozen=True)
class _Memory:
    """One remembered object: its path, a copy of its content, and how to put that back."""

    path: str
    subject: Any
    content: Any
    put_back: Callable[[Any, Any], None]


class Watch:
    """The state of a model at one moment."""

    def __init__(self, model: object) -> None:
        self._memories: dict[int, _Memory] = {}
        self._walk(model, "")

    def changes(self) -> list[Change]:
        """Return what differs from the moment this watch was made, each change once, by the path to it."""
        found: dict[str, Change] = {}
        for memory in self._memories.values():
            for change in _compare(memory):
                found.setdefault(change.path, change)
        return list(found.values())

    def restore(self) -> None:
        """Put every remembered object back as it was."""
        for memory in self._memories.values():
            memory.put_back(memory.subject, memory.content)

    def _walk(self, subject: Any, path: str) -> None:
        stack = [(subject, path)]
        while stack:
            current, where = stack.pop()
            if isinstance(current, _LEAVES) or id(current) in self._memories:
                continue
            memory = _remember(current, where)
            if memory is not None:
                self._memories[id(current)] = memory
            stack.extend(reversed(list(_children(current, where))))


def _remember(subject: Any, path: str) -> _Memory | None:
    if isinstance(subject, Tensor):
        return _Memory(path, subject, (subject._value, subject.requires_grad), _put_tensor)
    if isinstance(subject, np.ndarray):
        return _Memory(
            path, subject, subject.copy(), lambda array, content: np.copyto(array, content, casting="unsafe")
        )
    if isinstance(subject, dict):
        return _Memory(path, subject, dict(subject), _put_container)
    if isinstance(subject, (list, deque)):
        return _Memory(path, subject, list(subject), _put_sequence)
    if isinstance(subject, set):
        return _Memory(path, subject, set(subject), _put_container)
    if isinstance(subject, bytearray):
        return _Memory(path, subject, bytes(subject), _put_sequence)
    slots = _slots(subject)
    if slots:
        return _Memory(path, subject, slots, _put_slots)
    return None


def _children(subject: Any, path: str) -> Iterator[tuple[Any, str]]:
    if isinstance(subject, dict):
        yield from ((value, _joined(path, key)) for key, value in subject.items())
    elif isinstance(subject, tuple) and type(subject).__name__ == f"_{_HIDDEN[1:].title()}":
        yield from ((table, path) for table in subject)
    elif isinstance(subject, (list, tuple, deque, set, frozenset)):
        yield from ((value, f"{path}[{index}]") for index, value in enumerate(subject))
    elif isinstance(subject, types.FunctionType):
        cells = zip(subject.__code__.co_freevars, subject.__closure__ or (), strict=True)
        yield from ((cell.cell_contents, _joined(path, name)) for name, cell in cells if _is_filled(cell))
    elif isinstance(subject, types.MethodType):
        yield subject.__self__, path
    elif not isinstance(subject, (Tensor, np.ndarray)):
        if hasattr(subject, "__dict__") and isinstance(subject.__dict__, dict):
            yield subject.__dict__, path
        yield from ((value, _joined(path, name)) for name, value in _slots(subject).items())


def _slots(subject: Any) -> dict[str, Any]:
    if type(subject).__module__ == "builtins":
        return {}
    names = [name for cls in type(subject).__mro__ for name in _as_tuple(cls.__dict__.get("__slots__", ()))]
    return {name: getattr(subject, name) for name in names if not name.startswith("__") and hasattr(subject, name)}


def _as_tuple(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # an empty cell raises
    except ValueError:
        return False
    return True


def _joined(path: str, key: object) -> str:
    if key == _HIDDEN:
        return path
    if not isinstance(key, str):
        return f"{path}[{key!r}]"
    return f"{path}.{key}" if path else key


def _compare(memory: _Memory) -> Iterator[Change]:
    subject, content = memory.subject, memory.content
    if isinstance(subject, Tensor):
        if subject._value is not content[0]:
            yield Change(memory.path, _words(Tensor._boxed(content[0])), _words(subject), subject)
    elif isinstance(subject, np.ndarray):
        if not np.array_equal(subject, content, equal_nan=subject.dtype.kind in "fc"):
            yield Change(memory.path, _words(content), _words(subject))
    elif isinstance(subject, (list, deque, set, bytearray)):
        now = type(content)(subject)
        if (
            len(now) != len(content)
            or (isinstance(now, list) and not all(map(_is_same, now, content)))
            or (not isinstance(now, list) and now != content)
        ):
            yield Change(
                memory.path, f"a {type(subject).__name__} of {len(content)}", f"one of {len(now)} ({_words(subject)})"
            )
    else:
        now = subject if isinstance(subject, dict) else _slots(subject)
        for key in {**content, **now}:
            if key not in content or key not in now or not _is_same(now[key], content[key]):
                before = _words(content[key]) if key in content else "not there"
                value = now.get(key)
                yield Change(
                    _joined(memory.path, key),
                    before,
                    _words(value) if key in now else "gone",
                    value if isinstance(value, Tensor) else None,
                )


def _is_same(first: Any, second: Any) -> bool:
    if first is second:
        return True
    plain = (bool, int, float, complex, str, bytes)
    return type(first) is type(second) and isinstance(first, plain) and (first == second or first != first)


def _words(value: Any) -> str:
    if isinstance(value, (Tensor, np.ndarray)):
        numbers = np.asarray(value._value if isinstance(value, Tensor) else value).reshape(-1)[:4].tolist()
        dots = ", ..." if numbers and value.ndim and np.prod(value.shape) > len(numbers) else ""
        return f"{value.dtype} {tuple(value.shape)} [{', '.join(f'{number:.6g}' for number in numbers)}{dots}]"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _put_tensor(box: Tensor, content: Any) -> None:
    box._value, box.requires_grad = content


def _put_slots(owner: Any, content: Any) -> None:
    for name, value in content.items():
        setattr(owner, name, value)


def _put_container(subject: Any, content: Any) -> None:
    if list(subject) != list(content) or any(
        subject[key] is not content[key] for key in content if isinstance(subject, dict)
    ):
        subject.clear()
        subject.update(content)


def _put_sequence(subject: Any, content: Any) -> None:
    if len(subject) != len(content) or any(now is not then for now, then in zip(subject, content, strict=True)):
        subject.clear()
        subject.extend(content)
