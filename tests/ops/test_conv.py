"""Convolutions against PyTorch in float64, and hand-worked cases at the borders."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lucid import ops
from lucid.errors import ShapeError
from lucid.ops.execution import execute

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def double(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array).double()


def close(found: np.ndarray, expected: torch.Tensor) -> None:
    assert found.dtype == np.float32
    assert found.shape == tuple(expected.shape)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_conv_is_pytorchs(axes: int, groups: int) -> None:
    """Kernels, strides, paddings and dilations, odd and even, on odd and even sizes."""
    x, bias = normal(2, 4, *(7, 6, 5)[:axes]), normal(1, 8)[0]
    tried = 0
    for k, stride, pad, dilation in product((1, 2, 3), (1, 2, 3), (0, 1, 2), (1, 2)):
        kernel, strides = (k, 3, 2)[:axes], (stride, 2, 1)[:axes]
        pads, dilations = (pad, 0, 1)[:axes], (dilation, 1, 2)[:axes]
        weight = normal(8, 4 // groups, *kernel)
        expected = CONV[axes](double(x), double(weight), double(bias), strides, pads, dilations, groups)
        both = tuple(np.repeat(pads, 2).tolist())
        close(ops.conv(x, weight, bias, strides, "custom", both, dilations, groups), expected)
        tried += 1
    assert tried == 54


@pytest.mark.parametrize("multiplier", [1, 2, 3])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_depthwise_conv_is_pytorchs(axes: int, multiplier: int) -> None:
    x = normal(2, 3, *(7, 6, 5)[:axes])
    weight = normal(3 * multiplier, 1, *(3, 2, 2)[:axes])
    close(ops.conv(x, weight, None, (2,) * axes, groups=3), CONV[axes](double(x), double(weight), None, 2, groups=3))


@pytest.mark.parametrize("pad", list(product((0, 1, 3), repeat=2)))
def test_padding_may_differ_before_and_after(pad: tuple[int, int]) -> None:
    x, weight = normal(1, 2, 5, 4), normal(3, 2, 3, 2)
    expected = CONV[2](F.pad(double(x), (*pad, *pad[::-1])), double(weight))
    close(ops.conv(x, weight, pad_type="custom", pad=(*pad[::-1], *pad)), expected)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")  # PyTorch's, about its speed
@pytest.mark.parametrize(("size", "k", "dilation"), list(product((4, 5, 6), (1, 2, 3, 4), (1, 2))))
def test_same_is_pytorchs_same_at_stride_1(size: int, k: int, dilation: int) -> None:
    x, weight = normal(1, 2, size, 5), normal(3, 2, k, 3)
    expected = CONV[2](double(x), double(weight), padding="same", dilation=dilation)
    close(ops.conv(x, weight, pad_type="same", dilations=(dilation, dilation)), expected)


@pytest.mark.parametrize(
    ("pad_type", "k", "stride", "expected"),
    [
        ("same", 3, 2, [3.0, 9.0, 9.0]),  # 0+1+2, 2+3+4, 4+5+0
        ("same_lower", 3, 2, [3.0, 9.0, 9.0]),
        ("same", 2, 1, [3.0, 5.0, 7.0, 9.0, 5.0]),
        ("same_lower", 2, 1, [1.0, 3.0, 5.0, 7.0, 9.0]),
        ("same", 2, 2, [3.0, 7.0, 5.0]),
        ("same_lower", 2, 2, [1.0, 5.0, 9.0]),
        ("same", 1, 3, [1.0, 4.0]),
        ("same_lower", 4, 3, [6.0, 12.0]),
        ("same", 4, 2, [6.0, 14.0, 9.0]),  # one before, two after
        ("same_lower", 4, 2, [3.0, 10.0, 12.0]),
        ("valid", 2, 2, [3.0, 7.0]),
    ],
)
def test_pad_types_by_hand(pad_type: str, k: int, stride: int, expected: list[float]) -> None:
    """Sums of k neighbours of 1, 2, 3, 4, 5."""
    x, weight = np.arange(1, 6, dtype=np.float32)[None, None], np.ones((1, 1, k), np.float32)
    assert ops.conv(x, weight, None, (stride,), pad_type).tolist() == [[expected]]


def test_pad_counts_for_custom_only() -> None:
    x, weight = normal(1, 1, 5), normal(1, 1, 3)
    for pad_type in ("valid", "same", "same_lower"):
        np.testing.assert_array_equal(
            ops.conv(x, weight, pad_type=pad_type, pad=(7, 7)), ops.conv(x, weight, pad_type=pad_type)
        )
    assert ops.conv(x, weight, pad_type="custom").shape == (1, 1, 3)


def test_padding_that_the_stride_does_not_reach() -> None:
    x, weight = np.ones((1, 2, 5, 5), np.float32), np.ones((2, 2, 3, 2), np.float32)
    found = ops.conv(x, weight, None, (2, 2), "custom", (1, 1, 1, 1))
    assert found.tolist() == [[[[4, 8, 8], [6, 12, 12], [4, 8, 8]]] * 2]


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_conv_transpose_is_pytorchs(axes: int, groups: int) -> None:
    """Output padding is the end of ``output_shape``."""
    x, bias = normal(2, 4, *(4, 3, 2)[:axes]), normal(1, 8)[0]
    tried = 0
    for k, stride, pad, dilation, extra in product((1, 2, 3, 4), (1, 2, 3), (0, 1), (1, 2), (0, 1, 2)):
        if extra >= max(stride, dilation) or (k - 1) * dilation < pad:
            continue
        kernel, strides = (k, 3, 2)[:axes], (stride, 2, 1)[:axes]
        pads, dilations, extras = (pad, 1, 0)[:axes], (dilation, 1, 2)[:axes], (extra, 1, 0)[:axes]
        weight = normal(4, 8 // groups, *kernel)
        expected = TRANSPOSED[axes](double(x), double(weight), double(bias), strides, pads, extras, groups, dilations)
        both = tuple(np.repeat(pads, 2).tolist())
        shape = tuple(expected.shape)
        close(ops.conv_transpose(x, weight, bias, both, shape, "custom", strides, dilations, groups), expected)
        tried += 1
    assert tried > 70


@pytest.mark.parametrize(("k", "stride", "dilation"), list(product((1, 2, 3, 4), (1, 2, 3), (1, 2))))
def test_conv_transpose_without_output_shape(k: int, stride: int, dilation: int) -> None:
    x, weight = normal(2, 3, 4), normal(3, 2, k)
    full = TRANSPOSED[1](double(x), double(weight), stride=stride, dilation=dilation)
    close(ops.conv_transpose(x, weight, strides=(stride,), dilations=(dilation,)), full)
    cut = ops.conv_transpose(x, weight, None, (0, 1), None, "custom", (stride,), (dilation,))
    close(cut, full[..., :-1])

    same = ops.conv_transpose(x, weight, None, None, None, "same", (stride,), (dilation,))
    assert same.shape == (2, 2, 4 * stride)
    before = max(0, (k - 1) * dilation + 1 - stride) // 2
    close(same, F.pad(full, (0, stride))[..., before : before + 4 * stride])


@pytest.mark.parametrize("pad_type", ["valid", "same", "custom"])
def test_conv_transpose_is_the_gradient_of_conv(pad_type: str) -> None:
    """<conv(x), y> = <x, conv_transpose(y)> for each pad type, on sizes that strides do not divide."""
    pad = (1, 0, 0, 2)
    for h, w, k, stride in product((5, 6), (7, 8), (2, 3), (1, 2, 3)):
        x, weight = normal(1, 2, h, w), normal(3, 2, k, 3)
        forward = ops.conv(x, weight, None, (stride, 2), pad_type, pad)
        y = normal(*forward.shape)
        back = ops.conv_transpose(y, weight, None, pad, x.shape, pad_type, (stride, 2))
        assert back.shape == x.shape
        left, right = (forward.astype(np.float64) * y).sum(), (x.astype(np.float64) * back).sum()
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-4)


def test_output_length_is_a_matter_of_the_output_side() -> None:
    x, weight = np.array([[[1, 2, 3]]], np.float32), np.ones((1, 1, 3), np.float32)
    found = ops.conv_transpose(x, weight, None, None, (1, 1, 8), "valid", (2,))
    assert found.tolist() == [[[1, 1, 3, 2, 5, 3, 3, 0]]]
    biased = ops.conv_transpose(x, weight, np.ones(1, np.float32), None, (1, 1, 8), "valid", (2,))
    assert biased.tolist() == [[[2, 2, 4, 3, 6, 4, 4, 1]]]


def test_half_precision_sums_in_float32() -> None:
    x, weight = np.full((1, 64, 3, 3), 8, np.float16), np.full((1, 64, 3, 3), 0.25, np.float16)
    (found,) = execute(ops.conv, ops.conv.bind(x, weight, np.ones(1, np.float16)))
    assert (found.dtype, found.tolist()) == (np.float16, [[[[1153.0]]]])


def test_an_empty_batch() -> None:
    assert ops.conv(normal(0, 2, 5, 5), normal(3, 2, 3, 3)).shape == (0, 3, 3, 3)
    assert ops.conv(normal(0, 2, 5, 5), normal(2, 1, 3, 3), groups=2).shape == (0, 2, 3, 3)
    assert ops.conv_transpose(normal(0, 2, 5, 5), normal(2, 3, 3, 3)).shape == (0, 3, 7, 7)


def test_inputs_are_left_alone() -> None:
    x, weight, bias = normal(1, 2, 4), normal(3, 2, 1), normal(1, 3)[0]
    ops.conv(x, weight, bias)
    ops.conv_transpose(x, normal(2, 3, 1), bias)
    np.testing.assert_array_equal(x, normal(1, 2, 4))
    np.testing.assert_array_equal(weight, normal(3, 2, 1))
    np.testing.assert_array_equal(bias, normal(1, 3)[0])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("conv", {"weight": normal(3, 1, 3)}, r"conv: weight has shape \(3, 1, 3\), x has 2 channels in 1 groups"),
    ("conv", {"weight": normal(3, 1, 3), "groups": 2}, "x has 2 channels in 2 groups"),
    ("conv", {"weight": normal(3, 2, 3), "groups": 0}, "in 0 groups"),
    ("conv", {"weight": normal(3, 2, 3), "bias": normal(1)}, r"conv: bias has shape \(1,\), expected \(3,\)"),
    ("conv", {"weight": normal(3, 2, 3, 3)}, "a weight of the same rank"),
    ("conv", {"weight": normal(3, 2, 6)}, r"a window of \(6,\) does not fit into x of spatial shape \(5,\)"),
    ("conv", {"weight": normal(3, 2, 3), "strides": (1, 1)}, r"conv: strides is \(1, 1\), expected 1 values"),
    ("conv", {"weight": normal(3, 2, 3), "dilations": (0,)}, r"conv: dilations is \(0,\), expected 1 values of 1"),
    ("conv", {"weight": normal(3, 2, 3), "pad_type": "custom", "pad": (1,)}, r"conv: pad is \(1,\), expected 2 values"),
    ("conv", {"weight": normal(3, 2, 3), "pad_type": "full"}, "pad_type is 'full'"),
    ("conv_transpose", {"weight": normal(3, 2, 3)}, "x has 2 channels in 1 groups"),
    ("conv_transpose", {"weight": normal(2, 3, 3), "bias": normal(2)}, r"bias has shape \(2,\), expected \(3,\)"),
    ("conv_transpose", {"weight": normal(2, 3, 3), "pad_type": "same_lower"}, "Choose one of valid, same, custom"),
    ("conv_transpose", {"weight": normal(2, 3, 3), "output_shape": (1, 2, 7)}, r"output_shape is \(1, 2, 7\)"),
    ("conv_transpose", {"weight": normal(2, 3, 3), "pad_type": "custom", "pad": (4, 4)}, "cuts away all"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), REFUSED)
def test_what_does_not_fit_is_refused(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        ops.find(name)(x=normal(1, 2, 5), **arguments)
