"""The functions of tensors under PyTorch's names and arguments, composed of MIL's operations."""

# ruff: noqa: F403 -- each file names its public functions in its own __all__, the only list of them

from __future__ import annotations

from lucid.functional import (
    activations,
    arithmetic,
    comparison,
    conversion,
    creation,
    encoding,
    joining,
    linalg,
    methods,
    padding,
    pointwise,
    reductions,
    selecting,
    shapes,
    sorting,
    summation,
)
from lucid.functional.activations import *
from lucid.functional.arithmetic import *
from lucid.functional.comparison import *
from lucid.functional.conversion import *
from lucid.functional.creation import *
from lucid.functional.encoding import *
from lucid.functional.joining import *
from lucid.functional.linalg import *
from lucid.functional.padding import *
from lucid.functional.pointwise import *
from lucid.functional.reductions import *
from lucid.functional.selecting import *
from lucid.functional.shapes import *
from lucid.functional.sorting import *
from lucid.functional.summation import *

__all__: list[str] = []
__all__ += activations.__all__
__all__ += arithmetic.__all__
__all__ += comparison.__all__
__all__ += conversion.__all__
__all__ += creation.__all__
__all__ += encoding.__all__
__all__ += joining.__all__
__all__ += linalg.__all__
__all__ += padding.__all__
__all__ += pointwise.__all__
__all__ += reductions.__all__
__all__ += selecting.__all__
__all__ += shapes.__all__
__all__ += sorting.__all__
__all__ += summation.__all__

methods.attach()
