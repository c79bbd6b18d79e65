"""Activation functions as modules: each calls the function of its name with the settings it was made with."""

from __future__ import annotations

from typing import Any

from lucid.dtypes import float32
from lucid.functional.creation import full
from lucid.nn import functional as F
from lucid.nn.module import Module
from lucid.nn.parameter import Parameter
from lucid.tensor import Tensor

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
]


class _Activation(Module):
    """A function of one tensor and its settings, which are the parameters of ``__init__``."""

    function: Any = None
    settings: dict[str, Any]

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of `x`."""
        result: Tensor = type(self).function(x, **self.settings)
        return result

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def extra_repr(self) -> str:
        """Return the settings."""
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())


class _Plain(_Activation):
    """An activation without settings; ``inplace`` is taken for PyTorch's sake and changes nothing."""

    def __init__(self, inplace: bool = False) -> None:
        del inplace
        super().__init__()


class ReLU(_Plain):
    """Return ``max(x, 0)``."""

    function = staticmethod(F.relu)


class ReLU6(_Plain):
    """Hold `x` between 0 and 6."""

    function = staticmethod(F.relu6)


class SELU(_Plain):
    """The scaled exponential linear unit."""

    function = staticmethod(F.selu)


class SiLU(_Plain):
    """Return ``x * sigmoid(x)``."""

    function = staticmethod(F.silu)


class Mish(_Plain):
    """Return ``x * tanh(softplus(x))``."""

    function = staticmethod(F.mish)


class Hardsigmoid(_Plain):
    """Return ``x / 6 + 1 / 2`` held between 0 and 1."""

    function = staticmethod(F.hardsigmoid)


class Hardswish(_Plain):
    """Return ``x * hardsigmoid(x)``."""

    function = staticmethod(F.hardswish)


class Sigmoid(_Plain):
    """Return ``1 / (1 + exp(-x))``."""

    function = staticmethod(F.sigmoid)


class Tanh(_Plain):
    """Return the hyperbolic tangent."""

    function = staticmethod(F.tanh)


class Softsign(_Plain):
    """Return ``x / (1 + |x|)``."""

    function = staticmethod(F.softsign)


class LogSigmoid(_Plain):
    """Return ``log(sigmoid(x))``."""

    function = staticmethod(F.logsigmoid)


class Tanhshrink(_Plain):
    """Return ``x - tanh(x)``."""

    function = staticmethod(F.tanhshrink)


class GELU(_Activation):
    """Return ``x`` times the normal distribution function of `x`."""

    function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class ELU(_Activation):
    """The exponential linear unit."""

    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        del inplace
        super().__init__(alpha=alpha)


class CELU(_Activation):
    """The continuously differentiable exponential linear unit."""

    function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        del inplace
        super().__init__(alpha=alpha)


class LeakyReLU(_Activation):
    """Return `x` where positive and ``negative_slope * x`` elsewhere."""

    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        del inplace
        super().__init__(negative_slope=negative_slope)


class Hardtanh(_Activation):
    """Hold `x` between two numbers."""

    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        del inplace
        super().__init__(min_val=min_val, max_val=max_val)


class Softplus(_Activation):
    """Return ``log(1 + exp(beta * x)) / beta``."""

    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class GLU(_Activation):
    """Return the first half of an axis times the sigmoid of the second."""

    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class Softmax(_Activation):
    """Return ``exp(x)`` divided by its sum along an axis."""

    function = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class Softmin(_Activation):
    """Return the softmax of ``-x``."""

    function = staticmethod(F.softmin)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class LogSoftmax(_Activation):
    """Return the logarithm of the softmax."""

    function = staticmethod(F.log_softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class PReLU(Module):
    """Return `x` where positive and ``weight * x`` elsewhere; the weight is learned, one or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: object = float32) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(full((num_parameters,), init, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of `x`."""
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        """Return the number of weights."""
        return f"num_parameters={self.num_parameters}"


class Dropout(Module):
    """In training, zero elements with probability `p` and divide the others by ``1 - p``."""

    function: Any = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, in training with elements zeroed."""
        result: Tensor = type(self).function(x, self.p, self.training)
        return result

    def extra_repr(self) -> str:
        """Return the settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """In training, zero whole channels of (N, C, L)."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """In training, zero whole channels of (N, C, H, W)."""

    function = staticmethod(F.dropout2d)
