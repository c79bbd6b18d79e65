"""Modules with PyTorch's names, parameters and initial distributions."""

# ruff: noqa: F403 -- each file names its public classes in its own __all__, the only list of them

from __future__ import annotations

from lucid.nn import (
    activation,
    attention,
    containers,
    convolution,
    functional,
    init,
    linear,
    loss,
    normalization,
    pooling,
    transformer,
)
from lucid.nn import module as _module
from lucid.nn.activation import *
from lucid.nn.attention import *
from lucid.nn.containers import *
from lucid.nn.convolution import *
from lucid.nn.linear import *
from lucid.nn.loss import *
from lucid.nn.module import *
from lucid.nn.normalization import *
from lucid.nn.parameter import Parameter
from lucid.nn.pooling import *
from lucid.nn.transformer import *

__all__ = ["Parameter", "functional", "init"]
__all__ += activation.__all__
__all__ += attention.__all__
__all__ += containers.__all__
__all__ += convolution.__all__
__all__ += linear.__all__
__all__ += loss.__all__
__all__ += _module.__all__
__all__ += normalization.__all__
__all__ += pooling.__all__
__all__ += transformer.__all__
