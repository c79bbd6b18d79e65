"""The vocabulary: Core ML's Model Intermediate Language, one operation = one record = one place.

Each family file holds its operations; importing this package registers them all. ``lucid.ops.<name>`` is the operation
itself: call it with MIL's inputs, by position or by MIL's names.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from lucid.errors import UnsupportedError
from lucid.ops.record import Kind, Operation, Parameter, Sample, registry

if TYPE_CHECKING:

    def __getattr__(name: str) -> Operation: ...


__all__ = ["Kind", "Operation", "Parameter", "Sample", "find", "registry"]

from lucid.ops import families

for _family in pkgutil.iter_modules(families.__path__):
    import_module(f"{families.__name__}.{_family.name}")

globals().update(registry)


def find(name: str) -> Operation:
    """Return the operation called `name`, or raise UnsupportedError."""
    try:
        return registry[name]
    except KeyError:
        raise UnsupportedError(f"operation {name}: lucid does not know it.") from None
