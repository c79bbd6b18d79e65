"""coremltools' protobuf classes and its folder, without the import of coremltools.

``import coremltools`` takes seconds and, where PyTorch is installed, imports that too. The generated protobuf modules
need none of it, so they are loaded from coremltools' folder under a private package name. This is sound beside a real
import, earlier or later: protobuf's default pool takes the same file twice as one, and both modules get the very
same message classes.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from threading import Lock
from types import ModuleType

from lucid.errors import LoadError

__all__ = ["coremltools_folder", "feature_types", "mil", "model"]

_PRIVATE = "_lucid_coreml_proto"
_OWN = "coremltools.proto"
_LOCK = Lock()


@cache
def coremltools_folder() -> Path:
    """Return the folder of the installed coremltools. Raises LoadError where there is none."""
    spec = importlib.util.find_spec("coremltools")
    if spec is None or not spec.submodule_search_locations:
        raise LoadError("coremltools: not installed. Install it with `pip install coremltools`.")
    return Path(next(iter(spec.submodule_search_locations)))


def model() -> ModuleType:
    """Return the module of ``Model.proto``: Model, ModelDescription, FeatureDescription, Metadata."""
    return _module("Model_pb2")


def mil() -> ModuleType:
    """Return the module of ``MIL.proto``: Program, Function, Block, Operation, Value and the value types."""
    return _module("MIL_pb2")


def feature_types() -> ModuleType:
    """Return the module of ``FeatureTypes.proto``: FeatureType, ArrayFeatureType."""
    return _module("FeatureTypes_pb2")


@cache
def _module(name: str) -> ModuleType:
    # A whole `coremltools` in sys.modules has finished its import; a half-imported one may lack modules.
    loaded = sys.modules.get("coremltools")
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return importlib.import_module(f"{_OWN}.{name}")
    with _LOCK:
        if _PRIVATE not in sys.modules:
            spec = importlib.machinery.ModuleSpec(_PRIVATE, None, is_package=True)
            spec.submodule_search_locations = [os.fspath(coremltools_folder() / "proto")]
            sys.modules[_PRIVATE] = importlib.util.module_from_spec(spec)
        return importlib.import_module(f"{_PRIVATE}.{name}")
