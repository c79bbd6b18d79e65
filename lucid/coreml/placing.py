"""Putting a finished folder in its place in one step, so that whoever looks finds the old one or the new one, whole.

The new folder grows under a hidden sibling's name and holds a lock on itself. Where something is in its place already,
the two names are exchanged at once and what was there is removed afterwards. A killed process leaves its sibling
without the lock; the next one removes it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["placed"]

_SUFFIX = ".partial"
_OLD = f".old{_SUFFIX}"
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_AT_FDCWD = -100
_FOLDER_MODE = 0o755


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill; on leaving without an error it takes the place of `path`, whole.

    After an error nothing is left of it and `path` is as it was. Raises OSError where the parent cannot be written.
    """
    prefix = f".{path.name}."
    _clean(path, prefix)
    with _locked_folder(path.parent, prefix) as folder:
        try:
            yield folder
            folder.chmod(_FOLDER_MODE)
            _take_place(folder, path)
        finally:
            _remove(folder)


@contextmanager
def _locked_folder(parent: Path, prefix: str) -> Iterator[Path]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_SUFFIX, dir=parent))
        if sys.platform == "win32":  # folders cannot be locked there, and nothing cleans up
            yield folder
            return
        try:
            lock = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # taken for a leftover in the instant before it was locked: make another
            continue
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # somebody takes it for a leftover and is about to remove it
                continue
            except OSError:  # a file system without locks is one without cleaning too
                pass
            if folder.exists():
                yield folder
                return
        finally:
            os.close(lock)


def _clean(path: Path, prefix: str) -> None:
    """Remove what killed processes have left of `path`, and bring back what one had moved out of its way."""
    if sys.platform == "win32":
        return
    for leftover in sorted(path.parent.glob(f"{glob.escape(prefix)}*{_SUFFIX}")):
        with suppress(OSError):
            lock = os.open(leftover, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if leftover.name.endswith(_OLD) and not os.path.lexists(path):
                    os.rename(leftover, path)
                else:
                    _remove(leftover)
            finally:
                os.close(lock)


def _take_place(folder: Path, path: Path) -> None:
    while True:
        if not os.path.lexists(path):
            try:
                os.rename(folder, path)
            except OSError:
                if not os.path.lexists(path):
                    raise
                continue  # another writer was first
            return
        try:
            exchanged = _exchange(folder, path)
        except FileNotFoundError:
            continue
        if not exchanged:
            old = folder.with_suffix(_OLD)
            os.rename(path, old)
            os.rename(folder, path)
            _remove(old)
        return


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names at once; False where the system or the file system cannot."""
    names = os.fsencode(first), os.fsencode(second)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, _EXCHANGE)
        else:
            failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _EXCHANGE)
    except (AttributeError, OSError, TypeError):
        return False
    if failed and ctypes.get_errno() == 2:
        raise FileNotFoundError(os.fspath(second))
    return not failed


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
