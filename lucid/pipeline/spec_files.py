"""Whether a file that a spec names is there and can be read as one; nothing is opened."""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["file_fault"]


def file_fault(folder: Path, name: str) -> str | None:
    """Say what is wrong with the file `name` relative to `folder`, the folder of the spec; None where it is sound."""
    file = folder / name
    try:
        mode = file.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return _absent(file, name)
    except OSError as error:  # a loop of links, a name that is too long, a folder that may not be looked into
        return f'"{name}" cannot be read: {error.strerror}.'
    if stat.S_ISDIR(mode):
        return f'"{name}" is a folder. Give a file.'
    if not stat.S_ISREG(mode):  # to open one would wait for its other end
        return f'"{name}" is a pipe or a device. Give a regular file.'
    return None


def _absent(file: Path, name: str) -> str:
    if file.is_symlink():
        return f'"{name}" is a link to "{file.readlink()}", which does not exist.'
    from lucid.pipeline.spec_words import near  # only faulty specs need it

    stem = near(file.stem, [each.stem for each in file.parent.glob(f"*{file.suffix}")])
    hint = f' Did you mean "{name.removesuffix(file.name)}{stem}{file.suffix}"?' if stem else ""
    return f'no file "{name}" in the folder of the spec.{hint}'
