"""Modules that hold modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

from lucid.errors import IndexingError, UsageError
from lucid.nn.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class ModuleList(Module):
    """Modules in a list, named by their positions."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> ModuleList:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at `index`."""
        parts = list(self)
        parts.insert(index, module)
        self._own().modules.clear()
        self.extend(parts)

    def __len__(self) -> int:
        return len(self._own().modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._own().modules.values()))

    def __contains__(self, module: object) -> bool:
        return any(part is module for part in self)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...

    def __getitem__(self, index: int | slice) -> Any:
        parts = list(self._own().modules.values())
        if isinstance(index, slice):
            return type(self)(parts[index])  # type: ignore[arg-type]  # a list holds no None
        return parts[self._place(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self._own().modules[str(self._place(index))] = module

    def __delitem__(self, index: int) -> None:
        parts = list(self)
        del parts[self._place(index)]
        self._own().modules.clear()
        self.extend(parts)

    def _place(self, index: int) -> int:
        count = len(self)
        if not -count <= index < count:
            raise IndexingError(f"{type(self).__name__}: index {index} is out of range; it holds {count} modules.")
        return index % count


class Sequential(Module):
    """Modules that are called one after the other, each with the result of the one before."""

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
            return
        for place, part in enumerate(modules):
            if not isinstance(part, Module):
                raise UsageError(
                    f"Sequential: part {place} is {type(part).__name__}. Pass modules, or one mapping of them."
                )
            self.append(part)

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def forward(self, x: Any) -> Any:
        """Call the modules in order."""
        for module in self:
            x = module(x)
        return x

    def __len__(self) -> int:
        return len(self._own().modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._own().modules.values()))

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Sequential: ...

    def __getitem__(self, index: int | slice) -> Any:
        items = list(self._own().modules.items())
        if isinstance(index, slice):
            return type(self)({name: module for name, module in items[index] if module is not None})
        if not -len(items) <= index < len(items):
            raise IndexingError(f"Sequential: index {index} is out of range; it holds {len(items)} modules.")
        return items[index][1]


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module]) -> None:
        """Add modules, replacing those of the same names."""
        for name, module in modules.items():
            self[name] = module

    def keys(self) -> Iterable[str]:
        """Return the names."""
        return self._own().modules.keys()

    def values(self) -> Iterable[Any]:
        """Return the modules."""
        return self._own().modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and modules."""
        return self._own().modules.items()

    def pop(self, name: str) -> Any:
        """Remove a module, and return it."""
        module = self[name]
        del self[name]
        return module

    def __getitem__(self, name: str) -> Any:
        if name not in self._own().modules:
            known = ", ".join(self._own().modules) or "none"
            raise IndexingError(f"ModuleDict: no module {name!r}; it holds {known}.")
        return self._own().modules[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self._own().modules.pop(name, None)
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del self._own().modules[name]

    def __len__(self) -> int:
        return len(self._own().modules)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._own().modules))

    def __contains__(self, name: object) -> bool:
        return name in self._own().modules
