"""What names and paths in a spec must look like: each function returns what it accepts and raises ValueError else."""

from __future__ import annotations

__all__ = ["entry_point", "file_name", "folder_path", "interface_name", "relative_path", "safetensors_path"]

_LONGEST_NAME = 100
_LONGEST_PART, _LONGEST_PATH = 255, 4095  # bytes that the common systems take
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
_RESERVED = {"any", "bool", "program", "func", "tensor", "list", "dict", "tuple", "true", "false", "string", "state"}
_RESERVED |= {"bf16", *(f"{kind}{bits}" for kind in ("int", "uint", "fp") for bits in (8, 16, 32, 64))}


def file_name(name: str) -> str:
    """Accept what can name a file on every system."""
    if name.lower().endswith(".mlpackage"):
        raise ValueError(f'leave the suffix out: lucid adds it. Write "{name[: -len(".mlpackage")]}".')
    plain = name.isascii() and all(each.isalnum() or each in "_-." for each in name)
    if (
        not plain or not 0 < len(name) <= _LONGEST_NAME or name[0] in "-." or name[-1] == "."
        or name.lower().partition(".")[0] in _DEVICES
    ):  # fmt: skip
        raise ValueError(
            f'"{name}" cannot name a file everywhere. Use up to {_LONGEST_NAME} letters, digits, "_", "-" and ".", '
            "starting with a letter, digit or underscore."
        )
    return name


def folder_path(path: str) -> str:
    """Accept what can be the path of a folder: nothing in it is expanded, and no part of it is too long."""
    if path.startswith("~"):
        raise ValueError(f'"~" is not expanded here. Write the path in full, or "./{path}" for a folder of that name.')
    if "\0" in path:
        raise ValueError("a path has no zero character. Remove it.")
    for what, text, limit in (
        ("the path", path, _LONGEST_PATH),
        ("a name in it", max(path.split("/"), key=_size), _LONGEST_PART),
    ):
        if _size(text) > limit:
            raise ValueError(f"{what} has {_size(text)} bytes, more than the {limit} that systems take. Shorten it.")
    return path


def _size(text: str) -> int:
    return len(text.encode())


def interface_name(name: str) -> str:
    """Accept what Core ML takes as the name of an input or output."""
    if not (name.isascii() and name.isidentifier()):
        fitting = "".join(each if each.isascii() and each.isalnum() else "_" for each in name) or "x"
        fitting = fitting if fitting.isidentifier() else f"_{fitting}"
        raise ValueError(
            f'"{name}" is not a name that Core ML takes. Use letters, digits and underscores, not starting with a '
            f'digit, such as "{fitting}".'
        )
    if name in _RESERVED:
        raise ValueError(f'"{name}" is a reserved word of Core ML programs. Choose another, such as "{name}_".')
    return name


def relative_path(path: str) -> str:
    """Accept a path relative to the spec, with / between folders."""
    if "\\" in path:
        fitting = path.replace("\\", "/")
        raise ValueError(f'only / separates folders on every system. Write "{fitting}".')
    if path.startswith(("/", "~")) or path[1:2] == ":" or "\0" in path:
        raise ValueError("the path is not relative. Write it from the folder of the spec on.")
    return path


def entry_point(entry: str) -> str:
    """Accept ``package.module:attribute`` and ``file.py:attribute``."""
    source, colon, attribute = entry.rpartition(":")
    if not colon or not source or not all(part.isidentifier() for part in attribute.split(".")):
        raise ValueError(
            f'"{entry}" does not say what to load. Write "package.module:attribute" or "file.py:attribute".'
        )
    if source.endswith(".py"):
        relative_path(source)
    elif not all(part.isidentifier() for part in source.split(".")):
        raise ValueError(
            f'"{source}" is neither a file that ends in .py nor a module. '
            'Write "package.module:attribute" or "file.py:attribute".'
        )
    return entry


def safetensors_path(path: str) -> str:
    """Accept a relative path of a .safetensors file."""
    if not path.endswith(".safetensors"):
        raise ValueError(f'"{path}" is not a .safetensors file. Convert it, or read it in the entry point.')
    return relative_path(path)
