"""Layers and their functions against PyTorch, with PyTorch's own weights loaded."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch_oracle import agree, numbers, ours

import lucid
from lucid import nn
from lucid.errors import DTypeError, LucidError, ShapeError, UnsupportedError
from lucid.nn import functional as F
from lucid.tracing import Trace, recording

IMAGE = numbers(2, 4, 7, 8)
WAVE = numbers(2, 4, 9)
ROWS = numbers(6, 4)
IDS = torch.tensor([[0, 3, 2], [4, 4, 1]])

LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], torch.Tensor]] = [
    ("Linear", (4, 5), {}, ROWS),
    ("Linear", (4, 5), {"bias": False}, numbers(2, 3, 4)),
    ("Linear", (4, 1), {}, numbers(4)),
    ("Identity", (), {}, ROWS),
    ("Embedding", (5, 3), {}, IDS),
    ("Embedding", (5, 3), {"padding_idx": -1}, IDS),
    ("Flatten", (), {}, IMAGE),
    ("Flatten", (2, 3), {}, IMAGE),
    ("Unflatten", (1, (2, 2)), {}, IMAGE),
    ("LayerNorm", (8,), {}, IMAGE),
    ("LayerNorm", ((7, 8),), {"eps": 1e-3}, IMAGE),
    ("LayerNorm", (8,), {"elementwise_affine": False}, IMAGE),
    ("LayerNorm", (8,), {"bias": False}, IMAGE),
    ("RMSNorm", (4,), {}, ROWS),
    ("RMSNorm", (4,), {"eps": 1e-5}, ROWS * 1000),
    ("RMSNorm", ((7, 8),), {"elementwise_affine": False}, IMAGE),
    ("GroupNorm", (2, 4), {}, IMAGE),
    ("GroupNorm", (4, 4), {"affine": False}, WAVE),
    ("GroupNorm", (1, 4), {}, ROWS),
    ("BatchNorm1d", (4,), {}, ROWS),
    ("BatchNorm1d", (4,), {}, WAVE),
    ("BatchNorm2d", (4,), {}, IMAGE),
    ("BatchNorm2d", (4,), {"affine": False}, IMAGE),
    ("BatchNorm2d", (4,), {"track_running_stats": False}, IMAGE),
    ("BatchNorm3d", (2,), {}, numbers(2, 2, 3, 3, 3)),
    ("InstanceNorm1d", (4,), {}, WAVE),
    ("InstanceNorm2d", (4,), {"affine": True}, IMAGE),
    ("Conv1d", (4, 6, 3), {}, WAVE),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, WAVE),
    ("Conv1d", (4, 6, 3), {"padding": "same", "dilation": 2}, WAVE),
    ("Conv1d", (4, 6, 4), {"padding": "same"}, WAVE),
    ("Conv1d", (4, 6, 3), {"padding": 2, "padding_mode": "circular"}, WAVE),
    ("Conv1d", (4, 6, 3), {}, WAVE[0]),
    ("Conv2d", (4, 6, 3), {}, IMAGE),
    ("Conv2d", (4, 6, (3, 2)), {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "bias": False}, IMAGE),
    ("Conv2d", (4, 4, 3), {"groups": 4, "padding": "same"}, IMAGE),
    ("Conv2d", (4, 6, 3), {"padding": "valid"}, IMAGE),
    ("Conv2d", (4, 6, 3), {"padding": (1, 2), "padding_mode": "reflect"}, IMAGE),
    ("Conv2d", (4, 6, (3, 4)), {"padding": "same", "padding_mode": "replicate"}, IMAGE),
    ("Conv3d", (2, 3, 2), {"padding": 1}, numbers(1, 2, 3, 4, 5)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, WAVE),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "groups": 2, "dilation": 2}, WAVE),
    ("ConvTranspose2d", (4, 6, 3), {}, IMAGE),
    ("ConvTranspose2d", (4, 6, (3, 2)), {"stride": (2, 3), "padding": (1, 0), "output_padding": (1, 2)}, IMAGE),
    ("ConvTranspose3d", (2, 3, 2), {"stride": 2}, numbers(1, 2, 3, 4, 5)),
    ("MaxPool1d", (2,), {}, WAVE),
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, WAVE[0]),
    ("MaxPool2d", (2,), {}, IMAGE),
    ("AvgPool1d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, WAVE),
    ("AvgPool2d", ((2, 3),), {}, IMAGE),
    ("AvgPool2d", (3,), {"stride": 2, "padding": 1, "divisor_override": 5}, IMAGE),
    ("AvgPool2d", (3,), {"stride": 2, "padding": 1, "divisor_override": 5, "ceil_mode": True}, IMAGE),
    ("AdaptiveAvgPool1d", (1,), {}, WAVE),
    ("AdaptiveAvgPool1d", (3,), {}, WAVE),
    ("AdaptiveAvgPool2d", (1,), {}, IMAGE),
    ("AdaptiveAvgPool2d", ((1, 4),), {}, IMAGE),
    ("AdaptiveAvgPool2d", ((None, 2),), {}, IMAGE),
    ("AdaptiveAvgPool2d", ((1, 1),), {}, IMAGE[0]),
    ("AdaptiveMaxPool1d", (1,), {}, WAVE),
    ("AdaptiveMaxPool2d", ((7, 2),), {}, IMAGE),
    ("ReLU", (), {}, ROWS),
    ("ReLU6", (), {}, ROWS * 4),
    ("LeakyReLU", (0.2,), {}, ROWS),
    ("PReLU", (), {}, IMAGE),
    ("PReLU", (4,), {}, IMAGE),
    ("PReLU", (), {}, numbers(4)),
    ("ELU", (0.7,), {}, ROWS),
    ("CELU", (0.7,), {}, ROWS),
    ("SELU", (), {}, ROWS),
    ("SiLU", (), {}, ROWS),
    ("GELU", (), {}, ROWS),
    ("GELU", ("tanh",), {}, ROWS),
    ("Mish", (), {}, ROWS),
    ("Softplus", (), {}, ROWS * 20),
    ("Softplus", (2.0, 5.0), {}, ROWS * 3),
    ("Softsign", (), {}, ROWS),
    ("Sigmoid", (), {}, ROWS * 20),
    ("Tanh", (), {}, ROWS),
    ("Tanhshrink", (), {}, ROWS),
    ("LogSigmoid", (), {}, ROWS * 40),
    ("Hardtanh", (-2.0, 1.5), {}, ROWS),
    ("Hardsigmoid", (), {}, ROWS * 2),
    ("Hardswish", (), {}, ROWS * 2),
    ("GLU", (), {}, ROWS),
    ("GLU", (1,), {}, IMAGE),
    ("Softmax", (1,), {}, IMAGE),
    ("Softmin", (-1,), {}, IMAGE),
    ("LogSoftmax", (-1,), {}, ROWS * 100),
    ("Dropout", (0.5,), {}, ROWS),
]


def pair(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Return PyTorch's layer, with every parameter and buffer drawn at random, and lucid's with the same values."""
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    with torch.no_grad():
        for box in (*theirs.parameters(), *theirs.buffers()):
            if box.is_floating_point():
                box.copy_(torch.rand_like(box) + 0.5)
    mine = getattr(nn, name)(*args, **kwargs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    return theirs, mine


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
@pytest.mark.parametrize("case", LAYERS, ids=[f"{case[0]}-{place}" for place, case in enumerate(LAYERS)])
def test_layer(case: tuple[str, Any, Any, torch.Tensor]) -> None:
    name, args, kwargs, x = case
    theirs, mine = pair(name, args, kwargs)
    if "Pool" not in name:
        assert repr(mine) == repr(theirs)
    agree(mine.eval()(ours(x)), theirs.eval()(x), rtol=2e-5, atol=2e-5)


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths:UserWarning")
@pytest.mark.parametrize("case", LAYERS, ids=[f"{case[0]}-{place}" for place, case in enumerate(LAYERS)])
def test_layer_on_weights_that_are_inputs(case: tuple[str, Any, Any, torch.Tensor]) -> None:
    """Where a program learns its weights they are inputs: operations that need constants give way to others."""
    name, args, kwargs, x = case
    theirs, mine = pair(name, args, kwargs)
    box = ours(x)
    trace = Trace()
    trace.add_input("x", box)
    for path, tensor in mine.state_dict().items():
        trace.add_input(path, tensor)
    for path, tensor in (*mine.named_parameters(), *mine.named_buffers()):
        assert trace.depends_on_inputs(tensor), path
    with recording(trace):
        found = mine.eval()(box)
    agree(found, theirs.eval()(x), rtol=2e-5, atol=2e-5)
    weights = set(trace.inputs[1:])
    for node in trace.nodes:
        asked = {"linear": ("weight", "bias"), "batch_norm": ("mean", "variance", "gamma", "beta")}
        asked["layer_norm"] = ("gamma", "beta")
        for parameter in asked.get(node.op, ()):
            assert node.inputs.get(parameter) not in weights, (node.op, parameter)


@pytest.mark.parametrize("name", ["LayerNorm", "RMSNorm", "Linear", "Conv1d", "GELU", "BatchNorm1d", "Softmax"])
def test_layer_at_half_precision(name: str) -> None:
    args = {"Linear": (4, 5), "Conv1d": (4, 2, 3), "GELU": (), "Softmax": (-1,)}.get(name, (4,))
    x = (WAVE if name == "Conv1d" else ROWS).half()
    theirs, mine = pair(name, args, {})
    agree(mine.half().eval()(ours(x)), theirs.half().eval()(x), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("momentum", [0.1, 0.5, None])
@pytest.mark.parametrize(
    ("name", "shape"), [("BatchNorm1d", (6, 4)), ("BatchNorm1d", (3, 4, 5)), ("BatchNorm2d", (2, 4, 3, 3))]
)
def test_batch_norm_in_training(name: str, shape: tuple[int, ...], momentum: float | None, affine: bool) -> None:
    theirs, mine = pair(name, (4,), {"momentum": momentum, "affine": affine})
    for seed in range(3):
        x = numbers(*shape, seed=seed)
        agree(mine(ours(x)), theirs(x), rtol=1e-4, atol=1e-5)
    for key, value in theirs.state_dict().items():
        agree(mine.state_dict()[key], value, rtol=1e-5)
    x = numbers(*shape, seed=9)
    agree(mine.eval()(ours(x)), theirs.eval()(x), rtol=1e-4, atol=1e-5)
    agree(mine.running_mean, theirs.running_mean)


def test_running_statistics_want_no_gradient() -> None:
    norm = nn.BatchNorm1d(2)
    norm(lucid.randn(4, 2, requires_grad=True))
    assert not norm.running_mean.requires_grad
    assert not norm.running_var.requires_grad


def test_rms_norm_of_large_halves() -> None:
    x = lucid.tensor([[1000.0, 2000.0, 3000.0, 4000.0], [0.0] * 4]).half()
    found = F.rms_norm(x, 4, eps=1e-6)
    assert found.dtype == lucid.float16
    np.testing.assert_allclose(found.numpy(), [[0.3651, 0.7303, 1.0954, 1.4606], [0.0] * 4], rtol=1e-3)


GRID = list(itertools.product((2, 3), (1, 2, 3), (0, 1), (False, True)))


@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil_mode"), GRID)
@pytest.mark.parametrize("size", [5, 6, 7])
def test_pooling_grid(kernel: int, stride: int, padding: int, ceil_mode: bool, size: int) -> None:
    x, y = numbers(2, 3, size), numbers(1, 2, size, size + 1)
    args = (kernel, stride, padding)
    for include in (True, False):
        theirs = torch.nn.functional.avg_pool1d(x, *args, ceil_mode=ceil_mode, count_include_pad=include)
        agree(F.avg_pool1d(ours(x), *args, ceil_mode=ceil_mode, count_include_pad=include), theirs)
        theirs = torch.nn.functional.avg_pool2d(y, *args, ceil_mode=ceil_mode, count_include_pad=include)
        agree(F.avg_pool2d(ours(y), *args, ceil_mode=ceil_mode, count_include_pad=include), theirs)
    agree(
        F.max_pool1d(ours(x), *args, ceil_mode=ceil_mode), torch.nn.functional.max_pool1d(x, *args, ceil_mode=ceil_mode)
    )
    agree(
        F.max_pool2d(ours(y), *args, ceil_mode=ceil_mode), torch.nn.functional.max_pool2d(y, *args, ceil_mode=ceil_mode)
    )


def test_rounded_up_average_counts_what_is_there() -> None:
    x = lucid.arange(9.0).reshape(1, 1, 3, 3)
    assert F.avg_pool2d(x, 2, 2, ceil_mode=True).tolist() == [[[[2.0, 3.5], [6.5, 8.0]]]]


TRANSPOSED = [
    (kernel, stride, padding, extra, dilation)
    for kernel, stride, padding, extra, dilation in itertools.product(
        (2, 3, 4), (1, 2, 3), (0, 1, 2), (0, 1, 2), (1, 2)
    )
    if extra < max(stride, dilation) and (4 - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1 > 0
]


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
def test_transposed_convolution_grid(case: tuple[int, ...]) -> None:
    kernel, stride, padding, extra, dilation = case
    x, weight, bias = numbers(1, 2, 4), numbers(2, 3, kernel), numbers(3)
    settings = {"stride": stride, "padding": padding, "output_padding": extra, "dilation": dilation}
    theirs = torch.nn.functional.conv_transpose1d(x, weight, bias, **settings)
    agree(F.conv_transpose1d(ours(x), ours(weight), ours(bias), **settings), theirs, atol=1e-5)


def test_output_padding_literally() -> None:
    x, weight = lucid.tensor([[[1.0, 2.0, 3.0]]]), lucid.ones(1, 1, 3)
    found = F.conv_transpose1d(x, weight, stride=2, output_padding=1)
    assert found.tolist() == [[[1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 3.0, 0.0]]]


def test_convolution_padding_that_the_stride_does_not_reach() -> None:
    found = F.conv2d(lucid.ones(1, 2, 5, 5), lucid.ones(2, 2, 3, 2), stride=2, padding=1)
    assert found[0, 0].tolist() == found[0, 1].tolist() == [[4.0, 8.0, 8.0], [6.0, 12.0, 12.0], [4.0, 8.0, 8.0]]


LOSSES: list[tuple[str, torch.Tensor, torch.Tensor, dict[str, Any]]] = [
    ("mse_loss", ROWS, ROWS * 0.5 + 1, {}),
    ("l1_loss", ROWS, ROWS * 0.5 + 1, {}),
    ("smooth_l1_loss", ROWS, ROWS * 0.5 + 1, {"beta": 0.5}),
    ("huber_loss", ROWS, ROWS * 0.5 + 1, {"delta": 2.0}),
    ("binary_cross_entropy", ROWS.sigmoid(), (ROWS > 0).float(), {}),
    ("binary_cross_entropy", torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0]), {}),
    ("binary_cross_entropy_with_logits", ROWS * 60, (ROWS > 1).float(), {}),
    ("cross_entropy", ROWS * 50, torch.tensor([0, 1, 2, 3, 0, 1]), {}),
    ("cross_entropy", ROWS, torch.tensor([0, -100, 2, 3, 0, -100]), {}),
    ("cross_entropy", ROWS, torch.tensor([0, 9, 2, 3, 0, 9]), {"ignore_index": 9, "label_smoothing": 0.1}),
    ("cross_entropy", ROWS, ROWS.softmax(-1), {"label_smoothing": 0.2}),
    ("cross_entropy", IMAGE, torch.randint(0, 4, (2, 7, 8), generator=torch.Generator().manual_seed(0)), {}),
    ("cross_entropy", numbers(4), torch.tensor(2), {}),
    ("nll_loss", ROWS.log_softmax(-1), torch.tensor([0, 1, 2, 3, 0, 1]), {}),
    ("kl_div", ROWS.log_softmax(-1), (-ROWS).softmax(-1), {}),
    ("kl_div", ROWS.log_softmax(-1), (-ROWS).log_softmax(-1), {"log_target": True}),
]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", LOSSES, ids=[f"{case[0]}-{place}" for place, case in enumerate(LOSSES)])
@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")
def test_loss(case: tuple[str, torch.Tensor, torch.Tensor, dict[str, Any]], reduction: str) -> None:
    name, x, target, settings = case
    if name == "cross_entropy" and target.is_floating_point() and reduction == "mean":
        expected = torch.nn.functional.cross_entropy(x, target, reduction="none", **settings).mean()
    else:
        expected = getattr(torch.nn.functional, name)(x, target, reduction=reduction, **settings)
    agree(getattr(F, name)(ours(x), ours(target), reduction=reduction, **settings), expected, rtol=2e-5, atol=1e-5)


def test_loss_modules() -> None:
    x, target = ours(ROWS), ours(torch.tensor([0, 1, 2, 3, 0, 1]))
    assert (
        nn.CrossEntropyLoss(label_smoothing=0.1)(x, target).item()
        == F.cross_entropy(x, target, label_smoothing=0.1).item()
    )
    assert nn.MSELoss(reduction="sum")(x, x + 1).item() == pytest.approx(24.0)


def test_other_functions() -> None:
    x, y = ROWS, ROWS.flip(0)
    agree(F.normalize(ours(x), dim=-1), torch.nn.functional.normalize(x, dim=-1))
    agree(F.normalize(ours(x), p=1.0), torch.nn.functional.normalize(x, p=1.0))
    agree(F.cosine_similarity(ours(x), ours(y)), torch.nn.functional.cosine_similarity(x, y))
    weight, bias = numbers(3, 4, 4), numbers(3)
    theirs = torch.nn.functional.bilinear(x, y, weight, bias)
    agree(F.bilinear(ours(x), ours(y), ours(weight), ours(bias)), theirs, atol=1e-4)
    agree(F.linear(ours(x), ours(numbers(4))), torch.nn.functional.linear(x, numbers(4)))


@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d"])
def test_dropout_in_training(name: str) -> None:
    shape = {"dropout": (400, 50), "dropout1d": (400, 50, 3), "dropout2d": (400, 50, 2, 2)}[name]
    lucid.manual_seed(0)
    found = getattr(F, name)(lucid.ones(*shape), 0.25).numpy()
    assert set(np.unique(found)) == {np.float32(0.0), np.float32(1.0) / np.float32(0.75)}
    whole = found.reshape(400, 50, -1)
    assert (whole == whole[..., :1]).all()
    assert (whole[..., 0] == 0).mean() == pytest.approx(0.25, abs=0.02)
    assert getattr(F, name)(lucid.ones(*shape), 1.0).amax().item() == 0.0
    assert nn.Dropout(0.5)(lucid.ones(100)).tolist() != nn.Dropout(0.5)(lucid.ones(100)).tolist()


@pytest.mark.parametrize(
    ("name", "shape", "settings"),
    [
        ("kaiming_uniform_", (300, 200), {"a": math.sqrt(5)}),
        ("kaiming_uniform_", (40, 30, 5, 5), {"nonlinearity": "relu", "mode": "fan_out"}),
        ("kaiming_normal_", (300, 200), {}),
        ("xavier_uniform_", (300, 200), {"gain": 2.0}),
        ("xavier_normal_", (300, 200), {}),
        ("normal_", (300, 200), {"mean": 1.0, "std": 0.5}),
        ("uniform_", (300, 200), {"a": -2.0, "b": 1.0}),
        ("trunc_normal_", (300, 200), {"std": 0.7, "a": -1.0, "b": 0.5}),
        ("constant_", (3, 2), {"val": 1.5}),
        ("ones_", (3, 2), {}),
        ("zeros_", (3, 2), {}),
        ("eye_", (3, 2), {}),
    ],
)
def test_initial_distributions(name: str, shape: tuple[int, ...], settings: dict[str, Any]) -> None:
    theirs = getattr(torch.nn.init, name)(torch.empty(shape), **settings).numpy()
    lucid.manual_seed(0)
    box = lucid.full(shape, 7.0)
    assert getattr(nn.init, name)(box, **settings) is box
    mine = box.numpy()
    for quantile in (0.0, 0.1, 0.5, 0.9, 1.0):
        spread = 0.2 if "normal" in name and quantile in (0.0, 1.0) and "trunc" not in name else 0.03
        scale = float(np.abs(theirs).max())
        assert np.quantile(mine, quantile) == pytest.approx(np.quantile(theirs, quantile), abs=spread * scale + 1e-9)


def test_layers_begin_as_pytorchs_do() -> None:
    lucid.manual_seed(0)
    torch.manual_seed(0)
    for name, args in (
        ("Linear", (400, 300)),
        ("Conv2d", (30, 40, 5)),
        ("Embedding", (500, 100)),
        ("MultiheadAttention", (64, 4)),
    ):
        mine, theirs = getattr(nn, name)(*args), getattr(torch.nn, name)(*args)
        for key, value in theirs.state_dict().items():
            other = mine.state_dict()[key].numpy()
            assert other.std() == pytest.approx(value.numpy().std(), rel=0.15, abs=1e-9)
            assert np.abs(other).max() == pytest.approx(value.abs().max().item(), rel=0.15, abs=1e-9)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: nn.Linear(3, 2)(lucid.ones(2, 4)), ShapeError, "x has shape (2, 4), the weight (2, 3)"),
        (lambda: nn.Linear(3, 2)(lucid.ones(2, 3).half()), DTypeError, "x is float16, the weight float32"),
        (lambda: nn.Embedding(3, 2)(lucid.ones(2)), DTypeError, "embedding: x is float32"),
        (lambda: nn.LayerNorm(3)(lucid.ones(2, 4)), ShapeError, "does not end with the normalized shape (3,)"),
        (lambda: nn.Conv2d(3, 2, 3)(lucid.ones(1, 4, 5, 5)), ShapeError, "x has 4 channels, expected 3"),
        (lambda: nn.Conv2d(3, 2, 3)(lucid.ones(5, 5)), ShapeError, "expected N, C and 2 axes"),
        (
            lambda: nn.Conv2d(3, 2, 3, padding="same", stride=2)(lucid.ones(1, 3, 5, 5)),
            UnsupportedError,
            "with stride (2, 2)",
        ),
        (lambda: nn.Conv2d(3, 2, 3, groups=2), ShapeError, "do not split into 2 groups"),
        (lambda: nn.Conv2d(3, 2, (1, 2, 3)), ShapeError, "takes one integer or 2"),
        (lambda: nn.BatchNorm2d(3)(lucid.ones(2, 3)), ShapeError, "it takes 4 axes, 3 on axis 1"),
        (lambda: nn.BatchNorm1d(3)(lucid.ones(1, 3)), ShapeError, "one value per channel has no variance"),
        (lambda: nn.MaxPool2d(2, dilation=2)(lucid.ones(1, 1, 5, 5)), UnsupportedError, "neither dilation nor indices"),
        (lambda: nn.MaxPool2d(2, padding=2)(lucid.ones(1, 1, 5, 5)), ShapeError, "more than half of the kernel"),
        (
            lambda: nn.AdaptiveAvgPool2d(3)(lucid.ones(1, 1, 5, 5)),
            UnsupportedError,
            "is not a multiple of the output size",
        ),
        (lambda: F.dropout(lucid.ones(2), 1.5), ShapeError, "p is 1.5"),
        (lambda: F.mse_loss(lucid.ones(2), lucid.ones(3)), ShapeError, "the target (3,)"),
        (lambda: F.mse_loss(lucid.ones(2), lucid.ones(2), "max"), LucidError, "reduction is 'max'"),
        (lambda: nn.GroupNorm(3, 4), ShapeError, "4 channels do not split into 3 groups"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), ShapeError, "padding_idx is 3"),
        (lambda: nn.init.calculate_gain("swish"), LucidError, "'swish' has no gain"),
    ],
)
def test_errors(call: Any, kind: type[LucidError], text: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
