"""Capturing: what becomes a graph, and what is refused with the model left as it was."""

from __future__ import annotations

import random
from collections import deque, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.capture import capture
from lucid.engines.plan import Plan
from lucid.errors import LucidError, MutationError, RefusedError, TraceError

ONES = lucid.ones(1, 4)


class Holder(nn.Module):
    """A module with one of everything that a forward pass could change."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.register_buffer("memory", lucid.ones(3))
        self.last = None
        self.steps = 0
        self.history: list[Any] = []
        self.table = {"seen": 0}
        self.recent: deque[int] = deque(maxlen=4)
        self.array = np.zeros(3)
        self.helper = Helper()


class Helper:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


def forward_of(body: Any) -> Holder:
    class Model(Holder):
        def forward(self, x: lucid.Tensor) -> lucid.Tensor:
            body(self, x)
            return self.inner(x)

    return Model().eval()


def write_buffer(self: Any, x: Any) -> None:
    self.memory += 1.0


def write_slice(self: Any, x: Any) -> None:
    self.memory[0] = 5.0


def copy_into(self: Any, x: Any) -> None:
    self.memory.copy_(self.memory * 2)


def write_parameter(self: Any, x: Any) -> None:
    self.inner.weight.mul_(2.0)


def rebind_buffer(self: Any, x: Any) -> None:
    self.memory = self.memory + 1.0


def rebind(self: Any, x: Any) -> None:
    self.last = x


def count(self: Any, x: Any) -> None:
    self.steps += 1


def append(self: Any, x: Any) -> None:
    self.history.append(1)


def store(self: Any, x: Any) -> None:
    self.table["seen"] += 1


def push(self: Any, x: Any) -> None:
    self.recent.append(1)


def fill_array(self: Any, x: Any) -> None:
    self.array[0] += 1


def count_in_helper(self: Any, x: Any) -> None:
    self.helper.count += 1


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (write_buffer, "memory was float32 (3,) [1, 1, 1], is float32 (3,) [2, 2, 2]"),
        (write_slice, "memory was float32 (3,) [1, 1, 1], is float32 (3,) [5, 1, 1]"),
        (copy_into, "memory was"),
        (rebind_buffer, "memory was"),
        (write_parameter, "inner.weight was"),
        (rebind, "last was None, is float32 (1, 4) [1, 1, 1, 1]"),
        (count, "steps was 0, is 1"),
        (append, "history was a list of 0, is one of 1"),
        (store, "table.seen was 0, is 1"),
        (push, "recent was a deque of 0, is one of 1"),
        (fill_array, "array was float64 (3,) [0, 0, 0], is float64 (3,) [1, 0, 0]"),
        (count_in_helper, "helper.count was 0, is 1"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_call_leaves_behind_is_refused_and_put_back(body: Any, path: str) -> None:
    model = forward_of(body)
    before = {name: box.numpy().copy() for name, box in model.state_dict().items()}
    with pytest.raises(MutationError) as caught:
        capture(model, ONES)
    assert path in str(caught.value)
    assert "state=[State(input=" in str(caught.value)
    for name, box in model.state_dict().items():
        np.testing.assert_array_equal(box.numpy(), before[name])
    assert (model.last, model.steps, model.history, model.table) == (None, 0, [], {"seen": 0})
    assert (list(model.recent), model.array.tolist(), model.helper.count) == ([], [0, 0, 0], 0)
    assert model.training is False


def test_the_pair_to_write_is_shown() -> None:
    with pytest.raises(MutationError) as caught:
        capture(forward_of(write_buffer), ONES)
    assert str(caught.value) == (
        "forward: the call leaves a new value behind, which a pure program would lose:\n"
        "  memory was float32 (3,) [1, 1, 1], is float32 (3,) [2, 2, 2]\n"
        "Take what must live on as an input, return what replaces it, and pair the two:\n"
        '  Python: state=[State(input="memory", output="output_1")]\n'
        '  spec:   [[state]] input = "memory", output = "output_1"'
    )


def test_an_input_written_in_place_is_refused_and_the_example_untouched() -> None:
    def model(x: lucid.Tensor, cache: lucid.Tensor) -> lucid.Tensor:
        cache[0] = x
        return cache * 2.0

    example = {"x": lucid.ones(4), "cache": lucid.zeros(2, 4)}
    with pytest.raises(MutationError, match="input cache is written in place"):
        capture(model, example)
    np.testing.assert_array_equal(example["cache"].numpy(), np.zeros((2, 4)))


@pytest.mark.parametrize(
    ("draw", "source"),
    [
        (lambda: float(lucid.rand(1)), "lucid.random"),
        (random.random, "random"),
        (np.random.rand, "numpy.random"),
    ],
)
def test_random_numbers_are_refused_and_the_generator_put_back(draw: Any, source: str) -> None:
    def model(x: lucid.Tensor) -> lucid.Tensor:
        return x * draw()

    lucid.manual_seed(3), random.seed(3), np.random.seed(3)
    expected = draw()
    lucid.manual_seed(3), random.seed(3), np.random.seed(3)
    with pytest.raises(MutationError, match=rf"draws random numbers \({source}\)"):
        capture(model, ONES)
    assert draw() == expected


def test_a_counter_outside_the_model_is_caught_by_the_second_call() -> None:
    calls = iter(range(10))

    def model(x: lucid.Tensor) -> lucid.Tensor:
        return x + float(next(calls))

    with pytest.raises(MutationError, match="a second call on the same inputs changes output_0"):
        capture(model, ONES)


def test_training_mode_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).eval()
    model[1].train()
    with pytest.raises(RefusedError, match=r"1 is in training mode.*Call model.eval\(\) first"):
        capture(model, ONES)


def test_an_input_turned_into_a_number_is_refused_with_its_place() -> None:
    def model(x: lucid.Tensor, position: lucid.Tensor) -> lucid.Tensor:
        return x * float(int(position[0]) + 1)

    text = r"input position is turned into Python numbers at .*test_capture.py:\d+"
    with pytest.raises(RefusedError, match=text):
        capture(model, {"x": ONES, "position": lucid.tensor([2])})


def test_an_unused_input_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"input y has no effect on any output\. Use it, or leave it out"):
        capture(lambda x, y: x + 1.0, {"x": ONES, "y": ONES})


Named = namedtuple("Named", "first second")


@dataclass
class Data:
    first: lucid.Tensor
    second: lucid.Tensor


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda a, b: a, ["output_0"]),
        (lambda a, b: (a, b), ["output_0", "output_1"]),
        (lambda a, b: [a, b], ["output_0", "output_1"]),
        (lambda a, b: {"first": a, "second": b}, ["first", "second"]),
        (Named, ["first", "second"]),
        (Data, ["first", "second"]),
        (lambda a, b: {"pair": (a, b)}, ["pair_0", "pair_1"]),
        (lambda a, b: (a, {"b": b}), ["output_0", "output_1_b"]),
    ],
)
def test_outputs_are_named_by_what_is_returned(make: Any, names: list[str]) -> None:
    captured = capture(lambda x: make(x + 1.0, x * 2.0), ONES)
    assert list(captured.function.outputs) == names
    results = Plan(captured.function).run({"x": np.full((1, 4), 3, np.float32)})
    assert [float(results[name][0, 0]) for name in names] == [4.0, 6.0][: len(names)]


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "return value output_0 is a NoneType"),
        (3, "is a int"),
        ((), "returns nothing"),
        ({"a": "b"}, "return value a is a str"),
    ],
)
def test_other_return_values_are_refused(returned: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        capture(lambda x: returned, ONES)


@pytest.mark.parametrize(
    ("example", "text"),
    [
        ({"x": ONES}, "missing a required argument: 'y'; it has x. The model takes x, y"),
        ({"x": ONES, "y": ONES, "z": ONES}, "unexpected keyword argument 'z'"),
        ((ONES,), "missing a required argument: 'y'; 1 inputs are given"),
        ((ONES, ONES, ONES), "too many positional arguments; 3 inputs"),
    ],
)
def test_examples_that_do_not_fit_the_model(example: Any, text: str) -> None:
    with pytest.raises(TraceError, match=text):
        capture(lambda x, y: x + y, example)


def test_examples_by_position_and_by_name_agree() -> None:
    for example in ((ONES, ONES * 2.0), {"y": ONES * 2.0, "x": ONES}):
        captured = capture(lambda x, y: x - y, example)
        assert [value.name for value in captured.function.inputs] == ["x", "y"]
        np.testing.assert_array_equal(captured.outputs["output_0"], np.full((1, 4), -1, np.float32))


def test_an_error_of_the_model_is_told_with_its_words() -> None:
    def model(x: lucid.Tensor) -> lucid.Tensor:
        raise KeyError("weights")

    with pytest.raises(TraceError, match="forward: the model raised KeyError: 'weights'"):
        capture(model, ONES)


def test_values_are_named_after_modules() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))).eval()
    captured = capture(model, ONES)
    assert [node.output.name for node in captured.function.nodes] == ["_0_linear", "_1_0_linear"]
    assert captured.function.nodes[1].inputs["weight"].name == "_1_0_weight"


def test_constants_are_folded_and_shared() -> None:
    table = lucid.arange(4).float()

    def model(x: lucid.Tensor) -> lucid.Tensor:
        return (x + table * 2.0) + (x + table * 2.0)

    captured = capture(model, ONES)
    assert [node.op for node in captured.function.nodes] == ["add", "add"]


@pytest.mark.parametrize(
    "model",
    [
        lambda x: x * 2.0 if x.sum() > 0 else -x,
        lambda x: x * float(x.sum().item()) + x,
        lambda x: x + lucid.tensor(np.sin(x.numpy())),
        lambda x: x + max(float(x.max()), 1e-6),
        lambda x: lucid.full((4,), float(x[0, 0])) + x,
    ],
)
def test_a_number_taken_from_an_input_that_is_also_used_is_refused(model: Any) -> None:
    with pytest.raises(RefusedError, match=r"input x is turned into Python numbers at .*test_capture.py:\d+"):
        capture(model, ONES)


def test_a_selection_whose_size_depends_on_the_values_is_refused() -> None:
    for model in (lambda x: x[x > 0.5].sum(), lambda x: x[x > 0.5].var(), lambda x: (x > 0.5).nonzero()):
        with pytest.raises(LucidError, match="how many there are depends on the input"):
            capture(model, ONES)


STORE = {"cache": lucid.zeros(4)}


def test_a_write_to_a_tensor_outside_of_the_model_is_refused_and_put_back() -> None:
    class Held:
        cache = lucid.zeros(4)

    def to_global(x: Any) -> Any:
        STORE["cache"][0] = x[0, 0]
        return STORE["cache"].sum() + x * 0.0

    def to_class(x: Any) -> Any:
        Held.cache[0] = x[0, 0]
        return Held.cache.sum() + x * 0.0

    def to_default(x: Any, cache: Any = STORE) -> Any:
        cache["cache"][1] = x[0, 0]
        return cache["cache"].sum() + x * 0.0

    for model in (to_global, to_class, to_default):
        with pytest.raises(MutationError, match=r"was there before the call is written at .*test_capture.py:\d+"):
            capture(model, {"x": ONES})
    assert STORE["cache"].tolist() == Held.cache.tolist() == [0.0] * 4


def test_what_a_thread_computes_is_found_to_be_frozen() -> None:
    import threading

    def model(x: Any) -> Any:
        found: list[Any] = []
        worker = threading.Thread(target=lambda: found.append(x * 3.0))
        worker.start()
        worker.join()
        return found[0] + x

    with pytest.raises(RefusedError, match="on inputs other than the example the model gives other values of output_0"):
        capture(model, ONES)


def test_a_tensor_made_in_the_call_may_be_written() -> None:
    def model(x: Any) -> Any:
        made = lucid.zeros(1, 4)
        made[0, 1:3] = x[0, :2]
        made += 1.0
        return made

    np.testing.assert_array_equal(capture(model, ONES).outputs["output_0"], [[1, 2, 2, 1]])


def test_return_values_of_one_name_are_refused() -> None:
    with pytest.raises(TraceError, match="two of the model's return values are called a_b"):
        capture(lambda x: {"a_b": x + 1.0, "a": {"b": x + 2.0}}, ONES)


def test_an_example_without_a_value_names_the_argument() -> None:
    with pytest.raises(TraceError, match="example: y is None; every input is a tensor"):
        capture(lambda x, y: x, (ONES, None))


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), BaseException("odd")])
def test_whatever_a_model_raises_is_its_own_fault(error: BaseException) -> None:
    def model(x: Any) -> Any:
        raise error

    with pytest.raises(TraceError, match=f"the model raised {type(error).__name__}"):
        capture(model, ONES)
