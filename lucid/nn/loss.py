"""Losses as modules."""

from __future__ import annotations

from typing import Any

from lucid.nn import functional as F
from lucid.nn.module import Module
from lucid.tensor import Tensor

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]


class _Loss(Module):
    """A loss function and its settings, which are its keywords."""

    function: Any = None
    settings: dict[str, Any]

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def forward(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the loss of `x` against the target."""
        result: Tensor = type(self).function(x, target, **self.settings)
        return result


class MSELoss(_Loss):
    """Squared distances."""

    function = staticmethod(F.mse_loss)


class L1Loss(_Loss):
    """Absolute distances."""

    function = staticmethod(F.l1_loss)


class HuberLoss(_Loss):
    """Squared distances that go over into straight lines."""

    function = staticmethod(F.huber_loss)


class SmoothL1Loss(_Loss):
    """The Huber loss divided by its bend."""

    function = staticmethod(F.smooth_l1_loss)


class BCELoss(_Loss):
    """Cross entropy of probabilities."""

    function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of ``sigmoid(x)``."""

    function = staticmethod(F.binary_cross_entropy_with_logits)


class NLLLoss(_Loss):
    """Minus the log-probability of the target's class."""

    function = staticmethod(F.nll_loss)


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits."""

    function = staticmethod(F.cross_entropy)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of log-probabilities from a target."""

    function = staticmethod(F.kl_div)
