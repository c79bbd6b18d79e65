"""Pooling layers: each calls the function of its name with the settings it was made with."""

from __future__ import annotations

from typing import Any

from lucid.nn import functional as F
from lucid.nn.functional.convolution import Sizes
from lucid.nn.module import Module
from lucid.tensor import Tensor

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AvgPool1d",
    "AvgPool2d",
    "MaxPool1d",
    "MaxPool2d",
]


class _Pool(Module):
    """A pooling function and its settings."""

    function: Any = None

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` pooled."""
        result: Tensor = type(self).function(x, **self._settings())
        return result

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_members", "training")}

    def extra_repr(self) -> str:
        """Return the settings."""
        return ", ".join(f"{name}={value}" for name, value in self._settings().items())


class _MaxPool(_Pool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode


class MaxPool1d(_MaxPool):
    """Take the greatest element of windows of the last axis."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Take the greatest element of windows of the last two axes."""

    function = staticmethod(F.max_pool2d)


class _AvgPool(_Pool):
    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad


class AvgPool1d(_AvgPool):
    """Take the mean of windows of the last axis."""

    function = staticmethod(F.avg_pool1d)


class AvgPool2d(_AvgPool):
    """Take the mean of windows of the last two axes."""

    function = staticmethod(F.avg_pool2d)

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override


class _AdaptivePool(_Pool):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size


class AdaptiveAvgPool1d(_AdaptivePool):
    """Take the means of a given number of equal windows of the last axis."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Take the means of a given number of equal windows of the last two axes."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveMaxPool1d(_AdaptivePool):
    """Take the greatest elements of a given number of equal windows of the last axis."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptivePool):
    """Take the greatest elements of a given number of equal windows of the last two axes."""

    function = staticmethod(F.adaptive_max_pool2d)
