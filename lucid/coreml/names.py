"""Names in a package: what Core ML takes as an identifier, and how other names become one."""

from __future__ import annotations

import re
from collections.abc import Container

__all__ = ["identifier", "is_identifier"]

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FOREIGN = re.compile(r"[^A-Za-z0-9_]")
# The words of MIL's text form.
_RESERVED = frozenset(
    {"any", "bool", "program", "func", "tensor", "list", "dict", "tuple", "true", "false", "string", "state"}
    | {"bf16", "fp16", "fp32", "fp64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
)


def is_identifier(name: str) -> bool:
    """Return whether `name` can stand in a program: letters, digits, underscores, no digit first, no word of MIL's."""
    return _IDENTIFIER.fullmatch(name) is not None and name not in _RESERVED


def identifier(name: str, taken: Container[str] = ()) -> str:
    """Return `name` as an identifier that is not one of `taken`.

    Other characters become ``_``, ``var_`` is put before a digit or a reserved word, and a number after what is taken.
    """
    clean = _FOREIGN.sub("_", name)
    if not is_identifier(clean):
        clean = f"var_{clean}"
    if clean not in taken:
        return clean
    number = 0
    while f"{clean}_{number}" in taken:
        number += 1
    return f"{clean}_{number}"
