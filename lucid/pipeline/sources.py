"""The project files that a model comes from: found, hashed before they are used, and checked for change afterwards."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from lucid.errors import LoadError, told
from lucid.pipeline.spec_tables import Model

__all__ = ["Sources", "digest", "entry_point", "importing", "on_stage"]

_CHUNK = 1 << 20


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes. Raises LoadError where it cannot be read."""
    hasher = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                hasher.update(chunk)
    except OSError as error:
        raise LoadError(f"the file cannot be read: {error.strerror or error}.", where=str(path)) from None
    return hasher.hexdigest()


class Sources:
    """Digests of the files below the project's root, taken before the entry point is imported."""

    def __init__(self, root: Path, weights: Path | None) -> None:
        self.root = root.resolve()
        self._before = {path: digest(path) for path in self._candidates()}
        if weights is not None:
            self._before[weights.resolve()] = digest(weights)
        self._modules = set(sys.modules)

    def _candidates(self) -> Iterator[Path]:
        """Python files beside the spec and in packages there; not what an environment has installed."""
        yield from sorted(self.root.glob("*.py"))
        for init in sorted(self.root.glob("*/__init__.py")):
            yield from sorted(init.parent.rglob("*.py"))

    def used(self, *extra: Path) -> dict[str, str]:
        """Return the digests of the project's files that were imported, and of `extra` ones, by path from the root.

        Raises LoadError for a file that changed since its digest was taken: what was read is not known.
        """
        files = {path.resolve() for path in extra} | set(self._imported())
        found = {}
        for path in sorted(files):
            before, after = self._before.get(path), digest(path)
            if before is not None and before != after:
                raise LoadError(
                    "the file changed while the model was being loaded, so nobody can tell what was read. Build again, "
                    "and keep the entry point from writing to its own sources.",
                    where=str(path),
                )
            found[self.name_of(path)] = after
        return found

    def name_of(self, path: Path) -> str:
        """Return what a file is called in the manifest: its path from the root, or its name where it lies elsewhere."""
        path = path.resolve()
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name

    def _imported(self) -> Iterator[Path]:
        for name in sorted(set(sys.modules) - self._modules):
            file = getattr(sys.modules.get(name), "__file__", None)
            path = Path(file).resolve() if file else None
            if (
                path is not None
                and path.suffix == ".py"
                and path.is_relative_to(self.root)
                and "site-packages" not in path.parts
            ):
                yield path

    def forget(self) -> None:
        """Take the project's modules out of ``sys.modules``, so that another spec's modules of the same names load."""
        for name in set(sys.modules) - self._modules:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file and Path(file).resolve().is_relative_to(self.root) and "site-packages" not in Path(file).parts:
                del sys.modules[name]


@contextmanager
def on_stage() -> Iterator[None]:
    """Run the user's code: what it prints goes to stderr, down to the file descriptor, and it may change the folder.

    The process's standard output belongs to the results alone.
    """
    folder = os.getcwd()
    sys.stdout.flush()
    try:
        saved = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # a stream is closed
        saved = None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.chdir(folder)
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


@contextmanager
def importing(*folders: Path) -> Iterator[None]:
    """Let imports find modules in `folders`, without leaving compiled files there."""
    saved, bytecode = list(sys.path), sys.dont_write_bytecode
    sys.path[:0] = [str(folder.resolve()) for folder in folders]
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = saved, bytecode


def entry_point(model: Model, root: Path) -> Any:
    """Import what ``model.entry`` names and return it. Raises LoadError naming the part that is not there."""
    if model.is_file:
        module = _from_file(root / model.source)
    else:
        try:
            module = importlib.import_module(model.source)
        except ModuleNotFoundError as error:
            if error.name and (model.source == error.name or model.source.startswith(f"{error.name}.")):
                raise LoadError(
                    f"no module {error.name}. It is looked for beside the spec and in the environment.",
                    where=model.entry,
                ) from None
            raise LoadError(f"importing it raised ModuleNotFoundError: {error}", where=model.entry) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise LoadError(f"importing it raised {told(error)}", where=model.entry) from error
    found: Any = module
    for name in model.attribute.split("."):
        if not hasattr(found, name):
            from difflib import get_close_matches

            near = get_close_matches(name, dir(found), n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise LoadError(f"{getattr(found, '__name__', found)} has no attribute {name}.{hint}", where=model.entry)
        found = getattr(found, name)
    return found


def _from_file(path: Path) -> ModuleType:
    name = path.stem if path.stem.isidentifier() else f"entry_{hashlib.sha256(path.stem.encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise LoadError("no such Python file.", where=str(path))
    module = importlib.util.module_from_spec(spec)
    saved = sys.modules.get(name)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if saved is None:
            del sys.modules[name]
        else:
            sys.modules[name] = saved
        if isinstance(error, KeyboardInterrupt):
            raise
        raise LoadError(f"importing it raised {told(error)}", where=str(path)) from error
    return module
