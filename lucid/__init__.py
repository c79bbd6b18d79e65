"""lucid: a TOML spec in, a verified and reproducible Core ML package out, on any machine.

``import lucid`` loads nothing else. Functions, dtypes and subpackages are found when they are first used.
"""

# ruff: noqa: A004, F401 -- dtypes are called as PyTorch calls them, and what is imported for type checkers is public

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lucid.dtypes import DType as DType
    from lucid.dtypes import bool_ as bool
    from lucid.dtypes import float16 as float16
    from lucid.dtypes import float16 as half
    from lucid.dtypes import float32 as float
    from lucid.dtypes import float32 as float32
    from lucid.dtypes import float64 as double
    from lucid.dtypes import float64 as float64
    from lucid.dtypes import int8 as int8
    from lucid.dtypes import int16 as int16
    from lucid.dtypes import int32 as int
    from lucid.dtypes import int32 as int32
    from lucid.dtypes import uint8 as uint8
    from lucid.dtypes import uint16 as uint16
    from lucid.dtypes import uint32 as uint32
    from lucid.functional import *  # noqa: F403 -- their only list is __all__
    from lucid.gradmode import enable_grad as enable_grad
    from lucid.gradmode import is_grad_enabled as is_grad_enabled
    from lucid.gradmode import no_grad as no_grad
    from lucid.random import Generator as Generator
    from lucid.random import bernoulli as bernoulli
    from lucid.random import default_generator as default_generator
    from lucid.random import manual_seed as manual_seed
    from lucid.random import normal as normal
    from lucid.random import rand as rand
    from lucid.random import rand_like as rand_like
    from lucid.random import randint as randint
    from lucid.random import randn as randn
    from lucid.random import randn_like as randn_like
    from lucid.random import randperm as randperm
    from lucid.serialization import load as load
    from lucid.serialization import save as save
    from lucid.tensor import Tensor as Tensor
    from lucid.tensor import as_tensor as as_tensor
    from lucid.tensor import from_numpy as from_numpy
    from lucid.tensor import tensor as tensor

__version__ = "0.1.0"

_HERE = Path(__file__).parent
_NAMES = {
    "lucid.dtypes": (
        *("DType", "float16", "float32", "float64", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    ),
    "lucid.gradmode": ("enable_grad", "is_grad_enabled", "no_grad"),
    "lucid.tensor": ("Tensor", "as_tensor", "from_numpy", "tensor"),
    "lucid.random": (
        *("Generator", "bernoulli", "default_generator", "manual_seed", "normal", "rand", "rand_like", "randint"),
        *("randn", "randn_like", "randperm"),
    ),
    "lucid.serialization": ("load", "save"),
}
_HOMES = {name: (module, name) for module, names in _NAMES.items() for name in names} | {
    "bool": ("lucid.dtypes", "bool_"),
    "half": ("lucid.dtypes", "float16"),
    "float": ("lucid.dtypes", "float32"),
    "double": ("lucid.dtypes", "float64"),
    "int": ("lucid.dtypes", "int32"),
}


def __getattr__(name: str) -> Any:
    """Find a public name: in the table, among the modules, or among the functions of tensors."""
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(module), attribute)
    if not name.startswith("_"):
        if (_HERE / name / "__init__.py").is_file() or (_HERE / f"{name}.py").is_file():
            return import_module(f"lucid.{name}")
        functional = import_module("lucid.functional")
        if name in functional.__all__:
            return getattr(functional, name)
    if name in ("int64", "long"):
        raise AttributeError(
            f"module 'lucid' has no attribute {name!r}: Core ML has no 64-bit integers. Use lucid.int32."
        )
    raise AttributeError(f"module 'lucid' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all public names."""
    files = [*_HERE.glob("[a-z]*.py"), *(init.parent for init in _HERE.glob("[a-z]*/__init__.py"))]
    return sorted({"__version__", *_HOMES, *(path.stem for path in files), *import_module("lucid.functional").__all__})


class _Package(ModuleType):
    """The package as a module that keeps a function where a module has the same name.

    ``lucid.tensor`` is the function, though it is defined in a module called ``lucid.tensor``, which the import system
    binds here.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
