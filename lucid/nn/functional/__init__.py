"""The functions that modules are made of, under the names of ``torch.nn.functional``."""

# ruff: noqa: F403 -- each file names its public functions in its own __all__, the only list of them

from __future__ import annotations

from lucid.functional import activations
from lucid.functional.activations import *
from lucid.functional.encoding import one_hot
from lucid.functional.padding import pad
from lucid.functional.pointwise import sigmoid, tanh
from lucid.nn.functional import (
    attention,
    convolution,
    loss,
    normalization,
    pooling,
    resizing,
)
from lucid.nn.functional import (
    dropout as _dropout,
)
from lucid.nn.functional import (
    linear as _linear,
)
from lucid.nn.functional.attention import *
from lucid.nn.functional.convolution import *
from lucid.nn.functional.dropout import *
from lucid.nn.functional.linear import *
from lucid.nn.functional.loss import *
from lucid.nn.functional.normalization import *
from lucid.nn.functional.pooling import *
from lucid.nn.functional.resizing import *

__all__ = ["one_hot", "pad", "sigmoid", "tanh"]
__all__ += activations.__all__
__all__ += attention.__all__
__all__ += convolution.__all__
__all__ += _dropout.__all__
__all__ += _linear.__all__
__all__ += loss.__all__
__all__ += normalization.__all__
__all__ += pooling.__all__
__all__ += resizing.__all__
