"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence

from lucid.dtypes import float32, int32
from lucid.errors import ShapeError
from lucid.functional.creation import ones, zeros
from lucid.nn import functional as F
from lucid.nn.module import Module
from lucid.nn.parameter import Parameter
from lucid.tensor import Tensor

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "LayerNorm",
    "RMSNorm",
]


class LayerNorm(Module):
    """Normalize the last axes to mean 0 and variance 1 (Ba and others, 2016)."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: object = float32,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(shape, dtype=dtype)) if elementwise_affine and bias else None)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalized."""
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the settings."""
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(Module):
    """Divide by the root mean square over the last axes (Zhang and Sennrich, 2019)."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        dtype: object = float32,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", Parameter(ones(shape, dtype=dtype)) if elementwise_affine else None)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalized."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the shape and the settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalize groups of channels per sample (Wu and He, 2018)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: object = float32,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ShapeError(f"GroupNorm: {num_channels} channels do not split into {num_groups} groups.")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", Parameter(ones(num_channels, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels, dtype=dtype)) if affine and bias else None)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalized."""
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the sizes and the settings."""
        affine = f"affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, {affine}"


class _ChannelNorm(Module):
    """What batch and instance normalization share: weights per channel and a check of the rank."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        tracks: bool,
        dtype: object,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = tracks
        self.register_parameter("weight", Parameter(ones(num_features, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, dtype=dtype)) if affine and bias else None)
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype) if tracks else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype) if tracks else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int32) if tracks else None)

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            ranks = " or ".join(map(str, self.ranks))
            raise ShapeError(
                f"{type(self).__name__}: x has shape {x.shape}; it takes {ranks} axes, {self.num_features} on axis 1."
            )

    def extra_repr(self) -> str:
        """Return the size and the settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_ChannelNorm):
    """Normalize each channel over the batch (Ioffe and Szegedy, 2015).

    In training it uses the batch's own statistics and moves its running ones towards them; in evaluation it uses the
    running ones. With ``momentum=None`` these are the plain average over all batches.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: object = float32,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalized."""
        self._check(x)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            momentum = 1.0 / int(self.num_batches_tracked) if momentum is None else momentum
        by_batch = self.training or self.running_mean is None
        mean, variance = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return F.batch_norm(x, mean, variance, self.weight, self.bias, by_batch, momentum or 0.0, self.eps)


class BatchNorm1d(_BatchNorm):
    """Normalize each channel of (N, C) or (N, C, L) over the batch."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of (N, C, H, W) over the batch."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of (N, C, D, H, W) over the batch."""

    ranks = (5,)


class _InstanceNorm(_ChannelNorm):
    """Normalize each channel of each sample by itself."""

    def __init__(self, num_features: int, eps: float = 1e-5, affine: bool = False, dtype: object = float32) -> None:
        super().__init__(num_features, eps, 0.1, affine, False, dtype, True)

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` normalized."""
        self._check(x)
        return F.instance_norm(x, self.weight, self.bias, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sample of (N, C, L)."""

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each sample of (N, C, H, W)."""

    ranks = (4,)
