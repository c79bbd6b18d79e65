"""Convolution layers."""

from __future__ import annotations

import math

from lucid.dtypes import float32
from lucid.errors import ShapeError, UnsupportedError
from lucid.functional.creation import empty
from lucid.nn import functional as F
from lucid.nn import init
from lucid.nn.functional.convolution import Sizes, sizes
from lucid.nn.module import Module
from lucid.nn.parameter import Parameter
from lucid.tensor import Tensor

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """Weights, bias and settings of a convolution over ``rank`` axes."""

    rank = 0
    is_transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        output_padding: Sizes,
        dilation: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        dtype: object,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if in_channels % groups or out_channels % groups:
            raise ShapeError(f"{name}: {in_channels} and {out_channels} channels do not split into {groups} groups.")
        if padding_mode not in (_PADDING_MODES[:1] if self.is_transposed else _PADDING_MODES):
            raise UnsupportedError(f"{name}: padding_mode is {padding_mode!r}. Use one of {', '.join(_PADDING_MODES)}.")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = sizes(f"{name}: kernel_size", kernel_size, self.rank)
        self.stride = sizes(f"{name}: stride", stride, self.rank)
        self.padding = padding if isinstance(padding, str) else sizes(f"{name}: padding", padding, self.rank)
        self.output_padding = sizes(f"{name}: output_padding", output_padding, self.rank)
        self.dilation = sizes(f"{name}: dilation", dilation, self.rank)
        self.groups = groups
        self.padding_mode = padding_mode
        if self.is_transposed:
            shape = (in_channels, out_channels // groups, *self.kernel_size)
        else:
            shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype))
        self.register_parameter("bias", Parameter(empty(out_channels, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weights and bias from the uniform distribution within ``1 / sqrt(fan in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1.0 / math.sqrt(init.fan_in_and_fan_out(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Return the sizes and the settings that are not the usual ones."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, usual in (("padding", 0), ("output_padding", 0), ("dilation", 1)):
            if getattr(self, name) != (usual,) * self.rank:
                parts.append(f"{name}={getattr(self, name)}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Forward(_Convolution):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: object = float32,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, 0, dilation, groups, bias, padding_mode, dtype
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of `x`."""
        function = getattr(F, f"conv{self.rank}d")
        padding: Sizes | str = self.padding
        if self.padding_mode != "zeros":
            x, padding = F.pad(x, self._margins(), mode=self.padding_mode), 0
        result: Tensor = function(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)
        return result

    def _margins(self) -> list[int]:
        """Return the padding as ``pad`` takes it: before and after, the last axis first."""
        if isinstance(self.padding, str) and self.padding != "same":
            return [0, 0] * self.rank
        if isinstance(self.padding, str):
            totals = [step * (size - 1) for step, size in zip(self.dilation, self.kernel_size, strict=True)]
            return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]
        return [amount for amount in reversed(self.padding) for _ in range(2)]


class Conv1d(_Forward):
    """Convolve (N, C, L) with a kernel. Parameters as in PyTorch."""

    rank = 1


class Conv2d(_Forward):
    """Convolve (N, C, H, W) with a kernel. Parameters as in PyTorch."""

    rank = 2


class Conv3d(_Forward):
    """Convolve (N, C, D, H, W) with a kernel. Parameters as in PyTorch."""

    rank = 3


class _Transposed(_Convolution):
    is_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        dtype: object = float32,
    ) -> None:
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, padding, output_padding, dilation, groups),
            *(bias, padding_mode, dtype),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the transposed convolution of `x`."""
        function = getattr(F, f"conv_transpose{self.rank}d")
        result: Tensor = function(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )
        return result


class ConvTranspose1d(_Transposed):
    """Convolve (N, C, L) with a kernel, transposed. Parameters as in PyTorch."""

    rank = 1


class ConvTranspose2d(_Transposed):
    """Convolve (N, C, H, W) with a kernel, transposed. Parameters as in PyTorch."""

    rank = 2


class ConvTranspose3d(_Transposed):
    """Convolve (N, C, D, H, W) with a kernel, transposed. Parameters as in PyTorch."""

    rank = 3
