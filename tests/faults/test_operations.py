"""Operations: the same numbers as the framework's, as run-time values and as constants."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import lucid
from faults.project import PRECISIONS, array, packaged
from lucid import Tensor, nn, ops
from lucid.coreml import Package, State
from lucid.dtypes import as_dtype
from lucid.engines.plan import Plan
from lucid.graph import Constant, Function, Node, Value
from lucid.nn import functional as F
from lucid.ops import Kind, Operation, Sample, registry
from lucid.ops.lists import TensorList
from lucid.passes import fold

TF = torch.nn.functional


def agrees(package: Package, inputs: list[np.ndarray], expected: torch.Tensor, precision: str = "float32") -> bool:
    """Return whether a package gives the expected shape and numbers."""
    given = package.predict(*inputs).numpy()
    tolerance = 1e-5 if precision == "float32" else 1e-2
    return given.shape == tuple(expected.shape) and bool(np.allclose(given, expected, rtol=tolerance, atol=tolerance))


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_f15_the_causal_corner_of_the_literal_case() -> None:
    """One query, four keys: only the first key is seen with the flag, all without it."""
    q = np.ones((1, 1, 1, 2), np.float32)
    k = np.repeat(array(0, 1, 2, 3), 2).reshape(1, 1, 4, 2)
    for is_causal, expected in ((True, 0.0), (False, 2.6928)):
        package = packaged(
            lambda q, k, v, c=is_causal: F.scaled_dot_product_attention(q, k, v, is_causal=c),
            (lucid.tensor(q),) + (lucid.tensor(k),) * 2,
            "float32",
        )
        np.testing.assert_allclose(package.predict(q, k, k).numpy().reshape(-1), [expected] * 2, atol=1e-4)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(1, 4), (2, 4), (4, 4), (4, 2)])
def test_f15_causal_attention(queries: int, keys: int, is_causal: bool, precision: str) -> None:
    """A backend anchored the causal triangle at the other corner."""
    q, k, v = numbers(1, 2, queries, 3), numbers(1, 2, keys, 3), numbers(1, 2, keys, 3) + 1
    expected = TF.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), is_causal=is_causal)
    example = {"q": lucid.tensor(q), "k": lucid.tensor(k), "v": lucid.tensor(v)}
    package = packaged(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal), example, precision)
    assert agrees(package, [q, k, v], expected, precision)


def test_f21_the_overhang_of_the_literal_case() -> None:
    """Windows at the edge were divided by the whole kernel."""
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    for precision in PRECISIONS:
        package = packaged(lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True), lucid.tensor(x), precision)
        assert package.predict(x).tolist() == [[[[2.0, 3.5], [6.5, 8.0]]]]


@pytest.mark.parametrize(("kernel", "stride"), list(product((1, 2, 3), (1, 2, 3))))
def test_f21_average_pooling(kernel: int, stride: int) -> None:
    """Every mix of padding, rounding up and counting the padding."""
    for count, padding, ceil_mode, counts in product((1, 2), range(kernel // 2 + 1), (False, True), (False, True)):
        x = numbers(1, 2, *(7, 6)[:count])
        expected = getattr(TF, f"avg_pool{count}d")(torch.tensor(x), kernel, stride, padding, ceil_mode, counts)
        pool = getattr(F, f"avg_pool{count}d")
        options = (kernel, stride, padding, ceil_mode, counts)
        package = packaged(lambda x, pool=pool, options=options: pool(x, *options), (lucid.tensor(x),), "float32")
        assert agrees(package, [x], expected), (count, *options)


def test_f44_the_output_padding_of_the_literal_case() -> None:
    """The extra length of an output was multiplied by the stride."""
    x, weight = array(1, 2, 3, shape=(1, 1, 3)), lucid.ones(1, 1, 3)
    for precision in PRECISIONS:
        package = packaged(
            lambda x: F.conv_transpose1d(x, weight, stride=2, output_padding=1), lucid.tensor(x), precision
        )
        assert package.predict(x).tolist() == [[[1.0, 1.0, 3.0, 2.0, 5.0, 3.0, 3.0, 0.0]]]


@pytest.mark.parametrize(("count", "stride"), list(product((1, 2), (1, 2, 3))))
def test_f44_transposed_convolutions(count: int, stride: int) -> None:
    """Shape and numbers over padding, output padding, dilation and groups."""
    for padding, extra, dilation, groups in product((0, 1), (0, 1, 2), (1, 2), (1, 2)):
        if extra >= max(stride, dilation):
            continue
        x, weight = numbers(1, 2, *(5, 4)[:count]), numbers(2, 4 // groups, *(3, 2)[:count])
        transposed = getattr(TF, f"conv_transpose{count}d")
        options = {
            "stride": stride,
            "padding": padding,
            "output_padding": extra,
            "dilation": dilation,
            "groups": groups,
        }
        expected = transposed(torch.tensor(x), torch.tensor(weight), **options)
        own = getattr(F, f"conv_transpose{count}d")
        package = packaged(partial(own, weight=lucid.tensor(weight), **options), (lucid.tensor(x),), "float32")
        assert agrees(package, [x], expected), options


def test_f53_the_last_corner_of_the_literal_case() -> None:
    """A last corner of the result was wrong where the stride does not reach the padding."""
    expected = [[4.0, 8.0, 8.0], [6.0, 12.0, 12.0], [4.0, 8.0, 8.0]]
    weight = lucid.ones(2, 2, 3, 2)
    for precision in PRECISIONS:
        package = packaged(lambda x: F.conv2d(x, weight, stride=2, padding=1), lucid.ones(1, 2, 5, 5), precision)
        assert package.predict(np.ones((1, 2, 5, 5), np.float32)).tolist() == [[expected, expected]]


@pytest.mark.parametrize(("kernel", "stride"), list(product(((1, 2), (3, 2), (3, 3), (2, 4)), (1, 2, 3))))
def test_f53_convolutions_at_the_border(kernel: tuple[int, int], stride: int) -> None:
    """Odd and even kernels over padding, dilation and groups; the border is compared on its own too."""
    for padding, dilation, groups in product((0, 1, 2), (1, 2), (1, 2)):
        x, weight = numbers(1, 2, 9, 11), numbers(4, 2 // groups, *kernel)
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        expected = TF.conv2d(torch.tensor(x), torch.tensor(weight), **options)
        package = packaged(partial(F.conv2d, weight=lucid.tensor(weight), **options), (lucid.tensor(x),), "float32")
        assert agrees(package, [x], expected), options
        given = package.predict(x).numpy()
        for edge in ((..., 0, slice(None)), (..., -1, slice(None)), (..., 0), (..., -1)):
            np.testing.assert_allclose(given[edge], expected.numpy()[edge], rtol=1e-5, atol=1e-5)


RESIZED = {
    (4, "linear", False): (0, 0.75, 2.25, 3),
    (4, "linear", True): (0, 1, 2, 3),
    (3, "linear", False): (0, 1.5, 3),
    (4, "nearest", None): (0, 0, 3, 3),
}


@pytest.mark.parametrize(("size", "mode", "corners"), RESIZED)
def test_f50_the_grid_of_the_literal_case(size: int, mode: str, corners: bool | None) -> None:
    """Resizing sampled at other points than the framework. 0, 3 stretched."""
    x = array(0, 3, shape=(1, 1, 2))
    for precision in PRECISIONS:
        package = packaged(
            lambda x: F.interpolate(x, size=size, mode=mode, align_corners=corners), lucid.tensor(x), precision
        )
        given = package.predict(x).numpy().reshape(-1)
        np.testing.assert_allclose(given, RESIZED[size, mode, corners], atol=1e-5 if precision == "float32" else 2e-3)


@pytest.mark.parametrize(
    "sizes", [{"scale_factor": 2}, {"scale_factor": 1.5}, {"size": (3, 9)}, {"size": (4, 3)}, {"size": (12, 5)}]
)
@pytest.mark.parametrize(("mode", "corners"), [("bilinear", False), ("bilinear", True), ("nearest", None)])
def test_f50_resizing(mode: str, corners: bool | None, sizes: dict[str, Any]) -> None:
    """Up and down, by factors and to sizes, with and without aligned corners: as PyTorch."""
    x = numbers(1, 2, 6, 5)
    expected = TF.interpolate(torch.tensor(x), mode=mode, align_corners=corners, **sizes)
    package = packaged(
        lambda x: F.interpolate(x, mode=mode, align_corners=corners, **sizes), lucid.tensor(x), "float32"
    )
    assert agrees(package, [x], expected)


class Cell(nn.Module):
    """An LSTM cell of linear layers."""

    def __init__(self, wide: int, hidden: int) -> None:
        super().__init__()
        self.x, self.h = nn.Linear(wide, 4 * hidden), nn.Linear(hidden, 4 * hidden)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        i, f, g, o = (self.x(x) + self.h(h)).chunk(4, dim=-1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * lucid.tanh(g)
        return F.sigmoid(o) * lucid.tanh(c), c


class Recurrent(nn.Module):
    """Cells in layers, run `rounds` times on the same input with the state fed on."""

    def __init__(self, layers: int, rounds: int) -> None:
        super().__init__()
        self.cells = nn.ModuleList([Cell(4 if layer == 0 else 5, 5) for layer in range(layers)])
        self.rounds = rounds

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h, c = h.clone(), c.clone()
        for _ in range(self.rounds):
            below = x
            for layer, cell in enumerate(self.cells):
                h[layer], c[layer] = cell(below, h[layer], c[layer])
                below = h[layer]
        return below * 1.0, h, c


def torch_lstm(model: Recurrent) -> torch.nn.LSTM:
    own = torch.nn.LSTM(4, 5, len(model.cells))
    with torch.no_grad():
        for layer, cell in enumerate(model.cells):
            for name, part in (("ih", cell.x), ("hh", cell.h)):
                getattr(own, f"weight_{name}_l{layer}").copy_(torch.tensor(part.weight.numpy()))
                getattr(own, f"bias_{name}_l{layer}").copy_(torch.tensor(part.bias.numpy()))
    return own


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("layers", "rounds"), [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_f43_recurrent_layers_fed_on_twice(layers: int, rounds: int, precision: str) -> None:
    """A pass deleted what a second round of a two-layer LSTM still used. With state pairs, over three calls."""
    model = Recurrent(layers, rounds).eval()
    own, state = torch_lstm(model), (torch.zeros(layers, 1, 5), torch.zeros(layers, 1, 5))
    example = {"x": lucid.ones(1, 4), "h": lucid.zeros(layers, 1, 5), "c": lucid.zeros(layers, 1, 5)}
    package = packaged(model, example, precision, state=[State("h", "output_1"), State("c", "output_2")])
    for call in range(3):
        x = numbers(1, 4) + call
        with torch.no_grad():
            for _ in range(rounds):
                expected, state = own(torch.tensor(x)[None], state)
        np.testing.assert_allclose(package.predict(x).numpy(), expected[0], atol=5e-3)
        for name, want in zip(("h", "c"), state, strict=True):
            np.testing.assert_allclose(package._state.read(name), want, atol=5e-3)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f43_a_start_that_is_not_zero(precision: str) -> None:
    """The same with h and c as plain inputs that are not zero."""
    model = Recurrent(2, 2).eval()
    x, h, c = numbers(1, 4), numbers(2, 1, 5), numbers(2, 1, 5) * 0.5
    own, state = torch_lstm(model), (torch.tensor(h), torch.tensor(c))
    with torch.no_grad():
        for _ in range(2):
            expected, state = own(torch.tensor(x)[None], state)
    package = packaged(model, {"x": lucid.tensor(x), "h": lucid.tensor(h), "c": lucid.tensor(c)}, precision)
    given = list(package.predict(x, h, c).values())
    for got, want in zip(given, (expected[0], *state), strict=True):
        np.testing.assert_allclose(got.numpy(), want, atol=5e-3)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f22_a_folded_scatter_accumulates(precision: str) -> None:
    """Folding ignored the mode of a scatter: 4, 1, 1 in place of 7, 1, 1. In the graph the sum is one constant."""

    def model(x: Tensor) -> Tensor:
        return x + lucid.zeros(3).scatter_add(0, lucid.tensor([0, 0, 0]), lucid.tensor([1.0, 2.0, 3.0]))

    package = packaged(model, lucid.ones(3), precision)
    assert [node.op for node in package.model.function.nodes if node.op != "cast"] == ["add"]
    assert package.predict(np.ones(3, np.float32)).tolist() == [7.0, 1.0, 1.0]


# Blocks, lists and labels are no tensors, and compressed weights stay as they are: no folder touches those.
UNFOLDED = {Kind.BLOCK, Kind.LIST, Kind.LABELS}


def is_folded(record: Operation) -> bool:
    """Return whether an operation makes tensors of tensors."""
    kinds = {parameter.kind for parameter in record.parameters.values()}
    gives = [output for sample in record.samples for output in sample.gives]
    is_of_tensors = kinds.isdisjoint(UNFOLDED) and not any(isinstance(output, TensorList) for output in gives)
    return record.pure and record.family != "constexpr" and is_of_tensors


FOLDED = [record for record in registry.values() if is_folded(record)]
CASES = [(record, sample) for record in FOLDED for sample in record.samples]


def as_constants(record: Operation, sample: Sample) -> dict[str, Any]:
    """Return the inputs of a sample as the graph's constants."""
    found: dict[str, Any] = {}
    for name, value in sample.inputs.items():
        parameter = record.parameters[name]
        if value is None:
            continue
        if parameter.kind is Kind.ARRAYS:
            found[name] = tuple(constant(f"{name}_{place}", item) for place, item in enumerate(value))
        elif isinstance(value, str):
            found[name] = Constant(name, as_dtype("string"), (), value)
        else:
            found[name] = constant(name, value)
    return found


def constant(name: str, value: Any) -> Constant:
    data = np.asarray(value)
    narrow = {"f": np.float32, "i": np.int32, "u": np.int32}.get(data.dtype.kind)
    data = data if isinstance(value, np.ndarray) or narrow is None else data.astype(narrow)
    return Constant(name, as_dtype(data.dtype), data.shape, data)


def moving(record: Operation, inputs: dict[str, Any]) -> tuple[list[Value], dict[str, Any], dict[str, np.ndarray]]:
    """Turn the array inputs into values of a function; attributes stay constants."""
    values: list[Value] = []
    arrays: dict[str, np.ndarray] = {}

    def moved(item: Constant) -> Value:
        values.append(Value(item.name, item.dtype, item.shape))
        arrays[item.name] = np.asarray(item.data)
        return values[-1]

    changed = {
        name: item
        if record.parameters[name].is_attribute
        else tuple(map(moved, item))
        if isinstance(item, tuple)
        else moved(item)
        for name, item in inputs.items()
    }
    return values, changed, arrays


@pytest.mark.parametrize(("record", "sample"), CASES, ids=[record.name for record, _ in CASES])
def test_f22_every_operation_gives_the_same_folded_and_run(record: Operation, sample: Sample) -> None:
    """The folder and the kernel disagreed about an argument. All inputs constant, and all at run time."""
    inputs = as_constants(record, sample)
    values, changed, arrays = moving(record, inputs)
    expected = ops.execution.execute(
        record,
        record.bind(
            **{
                name: [np.asarray(each.data) for each in item]
                if isinstance(item, tuple)
                else np.asarray(item.data)
                if not record.parameters[name].is_attribute
                else ops.execution.attribute_of(Node(record.name, {}, ()), name, item, record.parameters[name].kind)
                for name, item in inputs.items()
            }
        ),
    )
    outputs = tuple(Value(f"out_{place}", as_dtype(array.dtype), array.shape) for place, array in enumerate(expected))
    named = {value.name: value for value in outputs}
    folded = fold(Function("main", (), (Node(record.name, inputs, outputs),), named))
    assert not folded.nodes
    ran = Plan(Function("main", tuple(values), (Node(record.name, changed, outputs),), named)).run(arrays)
    for name, value in folded.outputs.items():
        assert isinstance(value, Constant)
        assert value.data.dtype == ran[name].dtype
        np.testing.assert_array_equal(value.data, ran[name])
