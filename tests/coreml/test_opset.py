"""Packages for older targets: the same numbers in older words, and what no older word says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_made import const, node
from single import function_of

import lucid
import lucid.coreml as cml
from lucid import Tensor, nn, ops
from lucid.coreml.opset import choose_target, fit_opset
from lucid.coreml.reading import read
from lucid.coreml.referee import start_referee
from lucid.dtypes import DType, bool_, float16, float32, int8, int16, int32, string, uint16
from lucid.errors import UnsupportedError
from lucid.graph import Constant, Function, Node, Value, verify

Target = cml.DeploymentTarget
TARGETS = [Target.iOS15, Target.iOS16, Target.iOS17, Target.iOS18]


# -- whole models -----------------------------------------------------------------------------------------------------


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.pool = nn.MaxPool2d(2)
        self.average = nn.AvgPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.average(self.pool(self.norm(self.convolution(x)).relu()))
        return result


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.scale = nn.RMSNorm(8, eps=1e-6)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        attended, _ = self.attention(y, y, y, need_weights=False)
        result: Tensor = self.scale(x + attended)
        return result


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 6)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.table(tokens)
        return rows[:, -1], lucid.gather(rows, 2, tokens.reshape(2, 3, 1) % 6)


class Best(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        values, places = lucid.topk(x, 3)
        return values, places, lucid.argmax(x, 1)


class Numbers(nn.Module):
    """Epsilons, bounds that cross, and integers."""

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        crossed = ops.clip(x, alpha=3.0, beta=2.0)
        return ops.log(x), ops.rsqrt(x + 1.0), ops.inverse(x), crossed, ops.threshold(count, alpha=2.0)


class Whole(nn.Module):
    """All of them in one package, since each reading of one takes a second."""

    def __init__(self) -> None:
        super().__init__()
        self.perceptron = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LeakyReLU(0.01), nn.Linear(8, 2))
        self.convolutions = Convolutions()
        self.block = Block()
        self.words = Words()
        self.best = Best()
        self.numbers = Numbers()

    def forward(
        self,
        row: Tensor,
        image: Tensor,
        sequence: Tensor,
        tokens: Tensor,
        scores: Tensor,
        numbers: Tensor,
        count: Tensor,
    ) -> tuple[Tensor, ...]:
        return (
            self.perceptron(row),
            self.convolutions(image),
            self.block(sequence),
            *self.words(tokens),
            *self.best(scores),
            *self.numbers(numbers, count),
        )


def some(*shape: int) -> Tensor:
    return lucid.from_numpy(np.random.default_rng(7).normal(size=shape).astype(np.float32))


TOKENS = lucid.tensor([[1, 9, 4], [0, 3, 3]])
INPUTS = {
    "row": some(3, 4),
    "image": some(2, 3, 8, 8),
    "sequence": some(2, 5, 8),
    "tokens": TOKENS,
    "scores": some(2, 7),
    "numbers": lucid.tensor([0.0, 0.5, 2.0, 9.0]),
    "count": lucid.tensor([1, 2, 3]),
}


@pytest.mark.parametrize("precision", [cml.Precision.FLOAT32, cml.Precision.FLOAT16], ids=str)
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_package_for_each_target_says_the_same(target: Target, precision: cml.Precision, tmp_path: Path) -> None:
    """The package gives the model's numbers, and coremltools' reader takes each of its operations."""
    lucid.manual_seed(3)
    model = Whole().eval()
    expected = model(**INPUTS)
    path = tmp_path / "whole.mlpackage"
    tolerance = 1e-5 if precision is cml.Precision.FLOAT32 else 1e-2
    with (
        start_referee() as judge,
        cml.export(model, INPUTS, path, precision=precision, minimum_deployment_target=target) as package,
    ):
        judge.submit(path)
        found = package.predict(INPUTS)
        assert isinstance(found, dict)
        for (name, result), wanted in zip(found.items(), expected, strict=True):
            assert result.dtype == wanted.dtype, name
            np.testing.assert_allclose(result.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance, err_msg=name)
        assert judge.wait().operations > len(expected)


def test_inputs_are_written_from_the_opset_on_that_has_them(tmp_path: Path) -> None:
    model = Words().eval()
    names = {}
    for target in TARGETS:
        path = tmp_path / f"{target.value}.mlpackage"
        cml.export(model, (TOKENS,), path, minimum_deployment_target=target).close()
        (function,) = read(path).functions.values()
        names[target] = {key for each in function.nodes if each.op == "gather" for key in each.inputs}
    first = {"x", "indices", "axis"}
    assert names == {
        Target.iOS15: first,
        Target.iOS16: first | {"batch_dims"},
        Target.iOS17: first | {"batch_dims", "validate_indices"},
        Target.iOS18: first | {"batch_dims", "validate_indices"},
    }


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_an_epsilon_that_float16_loses_keeps_its_meaning(target: Target, tmp_path: Path) -> None:
    """From iOS17 on beside a float16 tensor; before, where all inputs share a dtype, the operation is float32."""

    class Logarithm(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = ops.log(x, epsilon=1e-9)
            return result

    for x, precision in (
        (lucid.tensor([0.0, 1.0]), cml.Precision.FLOAT16),
        (lucid.tensor([0.0, 1.0], dtype=lucid.float16), cml.Precision.FLOAT32),
    ):
        if x.dtype == float16 and target is Target.iOS15:
            continue  # packages for iOS15 pass no float16
        path = tmp_path / f"{x.dtype}.mlpackage"
        package = cml.export(Logarithm().eval(), (x,), path, precision=precision, minimum_deployment_target=target)
        found = package.predict(x)
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), [-20.723266, 0.0], rtol=1e-3)
        package.close()
        (function,) = read(path).functions.values()
        (logarithm,) = (each for each in function.nodes if each.op == "log")
        dtypes = {key: value.dtype for key, value in logarithm.inputs.items() if isinstance(value, Value)}
        assert dtypes == {"x": float16 if target >= Target.iOS17 else float32, "epsilon": float32}


@pytest.mark.parametrize(("epsilon", "is_wide"), [(1e-12, True), (1e-8, False)])
def test_what_an_epsilon_makes_of_zero(epsilon: float, is_wide: bool, tmp_path: Path) -> None:
    """1 / sqrt(1e-12) is beyond float16, and 0 times infinity is no number: such a root stays float32."""

    class Direction(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            root: Tensor = ops.rsqrt(ops.reduce_sum_square(x, axes=(-1,), keep_dims=True), epsilon=epsilon)
            return x * root

    x = lucid.tensor([[3.0, 4.0], [0.0, 0.0]])
    path = tmp_path / "direction.mlpackage"
    model, example = Direction().eval(), (lucid.ones(2, 2),)
    with cml.export(model, example, path, minimum_deployment_target=Target.iOS17) as package:
        found = package.predict(x)
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.numpy(), [[0.6, 0.8], [0.0, 0.0]], rtol=1e-3)
    (function,) = read(path).functions.values()
    (root,) = (each for each in function.nodes if each.op == "rsqrt")
    assert root.output.dtype == (float32 if is_wide else float16)


def words(text: str) -> Constant:
    return Constant("", string, (), text)


X = Value("x", float32, (2, 3))
INDICES = Value("indices", int32, (4,))


def gather(**more: Any) -> Function:
    return function_of(node("gather", "rows", (4, 3), x=X, indices=INDICES, axis=const(np.int32(0)), **more))


def topk(**more: Any) -> Function:
    outputs = (Value("values", float32, (2, 1)), Value("places", int32, (2, 1)))
    return function_of(Node("topk", {"x": X, "k": const(np.int32(1)), **more}, outputs))


def pool(pad_type: str) -> Function:
    image = Value("x", float32, (1, 1, 4, 4))
    sizes = const(np.array([2, 2], np.int32))
    inputs = {"x": image, "kernel_sizes": sizes, "pad_type": words(pad_type)}
    return function_of(Node("avg_pool", inputs, (Value("pooled", float32, (1, 1, 4, 4)),)))


def cast(dtype: DType) -> Function:
    return function_of(node("cast", "small", (2, 3), dtype, x=X, dtype=words(dtype.name)))


def small_indices(dtype: DType) -> Function:
    places = const(np.array([1, 0, 1, 0], dtype.numpy))
    return function_of(node("gather", "rows", (4, 3), x=X, indices=places))


def suppression(*sizes: tuple[int, ...], **more: Any) -> Function:
    """Non-maximum suppression with outputs of these sizes: boxes, scores, places, and in its older form a number."""
    dtypes = (float32, float32, int32, int32)
    outputs = tuple(Value(f"y{i}", dtypes[i], size) for i, size in enumerate(sizes))
    inputs = {"boxes": Value("boxes", float32, (1, 4, 4)), "scores": Value("scores", float32, (1, 4, 4))}
    inputs |= {"iou_threshold": const(np.float32(0.5)), "max_boxes": const(np.int32(2)), **more}
    return function_of(Node("non_maximum_suppression", inputs, outputs))


def recurrent(dtype: DType) -> Function:
    x, h = Value("x", float32, (3, 2, 4)), Value("h", float32, (2, 5))
    own = [
        Constant(name, dtype, shape, np.ones(shape, dtype.numpy)) for name, shape in (("ih", (5, 4)), ("hh", (5, 5)))
    ]
    before = [node("cast", f"{each.name}_as", each.shape, dtype, x=each, dtype=words(dtype.mil)) for each in (x, h)]
    inputs = {"x": before[0].output, "initial_h": before[1].output}
    outputs = (Value("every", dtype, (1, 2, 5)), Value("last", dtype, (2, 5)))
    return function_of(*before, Node("rnn", {**inputs, "weight_ih": own[0], "weight_hh": own[1]}, outputs))


BIAS = Value("bias", float32, (1,))
WEIGHT = const(np.ones((1, 1, 2), np.float32))


@pytest.mark.parametrize(
    ("function", "since", "subject"),
    [
        (gather(batch_dims=const(np.int32(0)), validate_indices=const(np.False_)), "iOS15", ""),
        (gather(batch_dims=const(np.int32(1))), "iOS16", "operation gather (-> rows): batch_dims = 1"),
        (gather(validate_indices=const(np.True_)), "iOS17", "operation gather (-> rows): validate_indices = True"),
        (topk(sort=const(np.True_), return_indices=const(np.True_), output_indices_dtype=words("int32")), "iOS15", ""),
        (topk(sort=const(np.False_)), "iOS16", "operation topk (-> values, places): sort = False"),
        (topk(output_indices_dtype=words("uint16")), "iOS17", "operation topk (-> values, places): output"),
        (pool("same"), "iOS15", ""),
        (pool("same_lower"), "iOS16", "operation avg_pool (-> pooled): pad_type = same_lower"),
        (cast(int32), "iOS15", ""),
        (cast(int8), "iOS17", "operation cast (-> small): an output of int8"),
        (small_indices(uint16), "iOS16", "operation gather (-> rows): indices = % of uint16"),
        (small_indices(int8), "iOS17", "operation gather (-> rows): indices = % of int8"),
        (
            function_of(node("squeeze", "y", (), int16, x=Value("x", int16, (1,)))),
            "iOS17",
            "input x: a cast to int16",
        ),
        (
            function_of(
                node("sliding_windows", "y", (2, 1, 3), bool_, x=Value("x", bool_, (2, 3)),
                     axis=const(np.int32(0)), size=const(np.int32(1)))
            ),
            "iOS17",
            "operation sliding_windows (-> y): x = %x of bool",
        ),
        (
            function_of(node("conv", "y", (1, 1, 2), x=Value("x", float32, (1, 1, 3)), weight=WEIGHT, bias=BIAS)),
            "iOS17",
            "operation conv (-> y): bias = %bias, computed at run time,",
        ),
        (function_of(node("fill_like", "y", (2, 3), ref_tensor=X)), "iOS16", "operation fill_like (-> y)"),
        (recurrent(float32), "iOS15", ""),
        (recurrent(float16), "iOS17", "operation rnn (-> every, last): x = %x_as of float16"),
        (
            suppression((1, 4, 2), (1, 4, 2), (1, 2)),
            "iOS17",
            "operation non_maximum_suppression (-> y0, y1, y2): the form without score_threshold",
        ),
    ],
)  # fmt: skip
def test_what_a_graph_needs(function: Function, since: str, subject: str) -> None:
    assert choose_target(function) is Target(since)
    for target in TARGETS:
        if target >= Target(since):
            verify(fit_opset(function, target))
            continue
        message = (
            f" exists since {since}, the deployment target is {target.value}. Raise the target to {since} or write the "
            "model without it."
        )
        with pytest.raises(UnsupportedError, match=rf"^{re.escape(subject)}.*{re.escape(message)}$"):
            fit_opset(function, target)


def test_older_forms_end_with_their_opset() -> None:
    function = suppression((1, 2, 4), (1, 2, 4), (1, 2), (1,), score_threshold=const(np.float32(0)))
    assert choose_target(function) is Target.iOS15
    for target in (Target.iOS15, Target.iOS16):
        verify(fit_opset(function, target))
    message = "score_threshold exists until iOS16, the deployment target is iOS17. Lower the target to iOS16."
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        fit_opset(function, Target.iOS17)


def test_defaults_are_left_out() -> None:
    function = gather(batch_dims=const(np.int32(0)), validate_indices=const(np.False_))
    kept = {target: set(fit_opset(function, target).nodes[0].inputs) - {"x", "indices", "axis"} for target in TARGETS}
    assert kept == {
        Target.iOS15: set(),
        Target.iOS16: {"batch_dims"},
        Target.iOS17: {"batch_dims", "validate_indices"},
        Target.iOS18: {"batch_dims", "validate_indices"},
    }


def test_attributes_of_integers_are_integers() -> None:
    from lucid.capture import capture

    class Threshold(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            result: Tensor = ops.threshold(x, alpha=2.0)
            return result

    for x, dtype in ((lucid.tensor([1, 5]), int32), (lucid.tensor([1.0, 5.0]), float32)):
        (threshold,) = capture(Threshold().eval(), (x,)).function.nodes
        alpha = threshold.inputs["alpha"]
        assert isinstance(alpha, Constant)
        assert not isinstance(alpha.data, str)
        assert (alpha.dtype, alpha.data.item()) == (dtype, 2)
