"""Losses. ``reduction`` is ``mean``, ``sum`` or ``none``."""

from __future__ import annotations

from lucid.errors import ShapeError, UsageError
from lucid.functional.activations import log_softmax, relu, softplus
from lucid.functional.comparison import ne, where
from lucid.tensor import Tensor

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise UsageError(f"loss: reduction is {reduction!r}. Use 'mean', 'sum' or 'none'.")
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _same(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise ShapeError(f"{name}: x has shape {x.shape}, the target {target.shape}. They must be equal.")


def mse_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the squared distances."""
    _same("mse_loss", x, target)
    return _reduced((x - target).square(), reduction)


def l1_loss(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the absolute distances."""
    _same("l1_loss", x, target)
    return _reduced((x - target).abs(), reduction)


def huber_loss(x: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return half the squared distance below `delta`, and from there on the line that continues it."""
    _same("huber_loss", x, target)
    distance = (x - target).abs()
    return _reduced(where(distance < delta, distance.square() * 0.5, (distance - 0.5 * delta) * delta), reduction)


def smooth_l1_loss(x: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return the Huber loss divided by `beta`."""
    return l1_loss(x, target, reduction) if beta == 0 else huber_loss(x, target, reduction, beta) / beta


def binary_cross_entropy(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the cross entropy of probabilities; logarithms are held at -100."""
    _same("binary_cross_entropy", x, target)
    hit, miss = x.log().clamp(min=-100.0), (1.0 - x).log().clamp(min=-100.0)
    return _reduced(-(target * hit + (1.0 - target) * miss), reduction)


def binary_cross_entropy_with_logits(x: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the cross entropy of ``sigmoid(x)``, without overflow."""
    _same("binary_cross_entropy_with_logits", x, target)
    return _reduced(relu(x) - x * target + softplus(-x.abs()), reduction)


def nll_loss(x: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """Return minus the log-probability, of `x` (N, C, ...), that each target (N, ...) of class numbers is given."""
    if x.ndim == 0:
        raise ShapeError(f"nll_loss: x has shape {x.shape}; it takes (C,) or (N, C, ...).")
    axis = 0 if x.ndim == 1 else 1
    if target.shape != (*x.shape[:axis], *x.shape[axis + 1 :]):
        raise ShapeError(f"nll_loss: x has shape {x.shape}, the target {target.shape}. It takes x without its classes.")
    counts = ne(target, ignore_index)
    picked = where(counts, target, 0)
    loss = where(counts, -x.gather(axis, picked.unsqueeze(axis)).squeeze(axis), 0.0)
    return loss.sum() / counts.sum() if reduction == "mean" else _reduced(loss, reduction)


def cross_entropy(
    x: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
) -> Tensor:
    """Return the cross entropy of logits `x` (N, C, ...) and class numbers (N, ...) or probabilities (N, C, ...)."""
    axis = 0 if x.ndim == 1 else 1
    chances = log_softmax(x, axis)
    if target.dtype.is_floating_point:
        _same("cross_entropy", x, target)
        smooth = target if label_smoothing == 0 else target * (1.0 - label_smoothing) + label_smoothing / x.shape[axis]
        loss = -(chances * smooth).sum(axis)
        return _reduced(loss, reduction)
    if label_smoothing == 0:
        return nll_loss(chances, target, ignore_index, reduction)
    counts = ne(target, ignore_index)
    even = where(counts, -chances.mean(axis), 0.0)
    smoothed = nll_loss(chances, target, ignore_index, "none") * (1.0 - label_smoothing) + even * label_smoothing
    return smoothed.sum() / counts.sum() if reduction == "mean" else _reduced(smoothed, reduction)


def kl_div(x: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Return ``target * (log(target) - x)``, for log-probabilities `x`; ``batchmean`` divides the sum by N."""
    _same("kl_div", x, target)
    if log_target:
        loss = target.exp() * (target - x)
    else:
        loss = where(target > 0, target * (where(target > 0, target, 1.0).log() - x), 0.0)
    return loss.sum() / x.shape[0] if reduction == "batchmean" else _reduced(loss, reduction)
