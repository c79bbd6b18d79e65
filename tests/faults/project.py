"""Small projects and packages: a model's source and a spec to be built, or a function to be exported."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lucid.coreml import Package, Precision, export
from lucid.pipeline.build import BuildResult, build

__all__ = ["PRECISIONS", "array", "built", "integers", "packaged", "spec_text"]

PRECISIONS = ("float16", "float32")
_ROOM = tempfile.mkdtemp(prefix="lucid-faults-")
atexit.register(shutil.rmtree, _ROOM, ignore_errors=True)
HEAD = """\
from __future__ import annotations

import lucid
from lucid import nn
from lucid.nn import functional as F


"""


def array(*numbers: float, shape: Sequence[int] | None = None) -> np.ndarray:
    """Return float32 numbers as an array."""
    return np.asarray(numbers, np.float32).reshape(shape or (len(numbers),))


def integers(*numbers: int) -> np.ndarray:
    """Return int32 numbers as an array."""
    return np.asarray(numbers, np.int32)


def packaged(model: Callable[..., Any], example: object, precision: str = "float16", **options: Any) -> Package:
    """Export a model into a new folder and open the package that was written."""
    path = Path(tempfile.mkdtemp(dir=_ROOM)) / "model.mlpackage"
    return export(model, example, path, precision=Precision.parse(precision), **options)


def spec_text(
    inputs: Mapping[str, str],
    *,
    states: Mapping[str, str] | None = None,
    precision: str = "float32",
    calls: int = 4,
    entry: str = "model.py:Model",
    more: str = "",
) -> str:
    """Return a spec: inputs by name with the rest of their table, states as input name to output name."""
    lines = ["lucid = 1", "[package]", 'name = "model"', "[model]", f'entry = "{entry}"', more]
    for name, rest in inputs.items():
        lines += ["[[input]]", f'name = "{name}"', *rest.split("; ")]
    for name, output in (states or {}).items():
        lines += ["[[state]]", f'input = "{name}"', f'output = "{output}"']
    lines += ["[lowering]", f'precision = "{precision}"', "[golden]", f"calls = {calls}"]
    return "\n".join(lines) + "\n"


def built(folder: Path, model: str, spec: str) -> BuildResult:
    """Write a model's source and a spec into `folder` and build there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.py").write_text(HEAD + model)
    (folder / "model.toml").write_text(spec)
    return build(folder / "model.toml", directory=folder / "result")
