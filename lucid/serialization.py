"""Saving and loading tensors by name, in the safetensors format."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import DTypeError, LoadError, UsageError
from lucid.tensor import Tensor, as_tensor, check_int32

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load", "load_metadata", "save"]

_DTYPES = {
    "BOOL": "bool",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "I8": "<i1",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "<u1",
    "U16": "<u2",
    "U32": "<u4",
    "BF16": "<u2",
}


def save(
    state_dict: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors by name to a safetensors file. The file appears whole or not at all, and replaces an older one.

    `state_dict` maps names to tensors or arrays; `metadata` maps words to words. The bytes depend on the values alone.
    Raises UsageError for what is not a tensor, LoadError where the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays: dict[str, NDArray[Any]] = {}
    for name, value in state_dict.items():
        if not isinstance(name, str) or not (isinstance(value, Tensor) or hasattr(value, "__array__")):
            raise UsageError(f"save: {name!r} is {type(value).__name__}. Save a mapping of names to tensors.")
        arrays[name] = np.ascontiguousarray(as_tensor(value)._value).reshape(value.shape)
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    except OSError as error:
        raise LoadError(f"cannot write here ({error.strerror}). Choose another folder.", where=str(target)) from None
    try:
        os.close(handle)
        save_file(arrays, temporary, metadata=dict(metadata) if metadata else None)
        Path(temporary).chmod(0o666 & ~_umask())
        os.replace(temporary, target)
    except (OSError, SafetensorError) as error:
        raise LoadError(
            f"cannot write the file ({error}). Look for a full disk or a folder in its place.", where=str(target)
        ) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file by name, in the order of the file.

    The file is mapped into memory: values are read when they are used, and never twice. bfloat16 becomes float32,
    exactly; int64 becomes int32 where every value fits. Raises LoadError where the file is missing, damaged or holds
    what Core ML has no type for.
    """
    header, start = _header(Path(path))
    if not any(_length(entry) for entry in header.values()):
        data: NDArray[np.uint8] = np.empty(0, np.uint8)
    else:
        data = np.memmap(path, np.uint8, mode="r", offset=0)[start:]
    tensors: dict[str, Tensor] = {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        try:
            begin, end = entry["data_offsets"]
            tensors[name] = Tensor._boxed(_value(data[begin:end], entry))
        except DTypeError as error:
            raise LoadError(f"tensor {name}: {error.message}", where=str(path)) from None
    return tensors


def load_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the words that a safetensors file holds beside its tensors."""
    _checked(Path(path))
    with Path(path).open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        found: dict[str, str] = json.loads(file.read(size)).get("__metadata__", {})
    return found


def _checked(path: Path) -> None:
    """Let the library read the header: it checks lengths, offsets and names."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except FileNotFoundError:
        raise LoadError("no such file. Give the path of a safetensors file.", where=str(path)) from None
    except OSError as error:
        raise LoadError(f"cannot read the file ({error.strerror or error}).", where=str(path)) from None
    except SafetensorError as error:
        raise LoadError(
            f"not a whole safetensors file ({error}). Copy or download it again.", where=str(path)
        ) from None


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the entries of a checked file by name, and where its data begins."""
    _checked(path)
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    header.pop("__metadata__", None)
    return header, 8 + size


def _length(entry: Mapping[str, Any]) -> int:
    begin, end = entry["data_offsets"]
    return int(end) - int(begin)


def _value(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    kind = entry["dtype"]
    if kind not in _DTYPES:
        raise DTypeError(f"its type is {kind}, which lucid does not read. Convert it to one of {', '.join(_DTYPES)}.")
    dtype = np.dtype(_DTYPES[kind])
    raw = np.asarray(data)
    if raw.ctypes.data % dtype.alignment:
        raw = raw.copy()
    array = raw.view(dtype).reshape(entry["shape"])
    if kind == "BF16":  # the upper half of a float32
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if kind == "I64":
        check_int32(array)
        return array.astype(np.int32)
    return array


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
