"""One array of a ``.npy``, ``.npz`` or ``.safetensors`` file."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.errors import LoadError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_array"]

_MAGIC = b"\x93NUMPY"


def read_array(path: Path, key: str | None = None) -> NDArray[Any]:
    """Return the array called `key` of the file at `path`; without a key, the only one.

    The name of the file says which format it has. Raises LoadError where the file cannot be read, has another format
    than its name says, holds Python objects, or has no such array.
    """
    reader = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}[path.suffix]
    try:
        return reader(path, key)
    except LoadError:
        raise
    except OSError as error:
        raise LoadError(f"the file cannot be read: {error.strerror or error}.", where=str(path)) from error
    except Exception as error:  # each format has errors of its own
        if "allow_pickle" in str(error):
            raise LoadError(
                "the file holds Python objects, which are not loaded. Save numbers.", where=str(path)
            ) from error
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise LoadError(f"the file is damaged: {reason}. Write it again.", where=str(path)) from error


def _npy(path: Path, key: str | None) -> NDArray[Any]:  # noqa: ARG001  # one array, no names
    if zipfile.is_zipfile(path):
        raise LoadError("this is an archive of arrays. Give it the ending .npz.", where=str(path))
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise LoadError("this is not an array of NumPy's format .npy. Write it with numpy.save.", where=str(path))
        file.seek(0)
        array: NDArray[Any] = np.load(file, allow_pickle=False)
        return array


def _npz(path: Path, key: str | None) -> NDArray[Any]:
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            raise LoadError("this is a single array. Give it the ending .npy.", where=str(path))
    if not zipfile.is_zipfile(path):
        raise LoadError("this is not an archive of NumPy's format .npz. Write it with numpy.savez.", where=str(path))
    with np.load(path, allow_pickle=False) as archive:
        found = archive[_only(key, archive.files, path)]
    if not isinstance(found, np.ndarray):  # what other files in the archive come out as
        raise LoadError("this member of the archive is not an array. Write it with numpy.savez.", where=str(path))
    return found


def _safetensors(path: Path, key: str | None) -> NDArray[Any]:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return file.get_tensor(_only(key, list(file.keys()), path))  # type: ignore[no-any-return]


def _only(key: str | None, names: Sequence[str], path: Path) -> str:
    held = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if not names:
        raise LoadError("the file holds no arrays.", where=str(path))
    if key is not None and key not in names:
        raise LoadError(f'there is no array "{key}". The file holds {held}.', where=str(path))
    if key is None and len(names) > 1:
        raise LoadError(f"the file holds {len(names)} arrays: {held}. Name one with key.", where=str(path))
    return names[0] if key is None else key
