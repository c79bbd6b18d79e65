"""States: every way to write one accumulates, nothing is written unseen, and what Core ML cannot carry is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
from faults.project import PRECISIONS, array, built, packaged, spec_text
from lucid import Tensor, nn
from lucid.coreml import DeploymentTarget, State
from lucid.errors import LucidError, MutationError, RefusedError, ShapeError, SpecError, StateError
from lucid.graph import Node, Value
from lucid.pipeline.load import load
from lucid.pipeline.spec import read
from lucid.pipeline.trace import trace

PAIR = [State("s", "output_1")]
EXAMPLE = {"s": lucid.zeros(1, 4), "x": lucid.ones(1, 4)}
ONES = np.ones((1, 4), np.float32)


class Counter(nn.Module):
    """A buffer that each call adds to."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", lucid.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.a
        self.a.add_(x)
        return y


def test_f02_a_buffer_that_is_written_is_refused_by_name_and_put_back() -> None:
    """The write to a buffer disappeared, and recording had moved the buffer before it was exported."""
    model = Counter().eval()
    with pytest.raises(MutationError, match=r"a was float32 \(3,\) \[1, 1, 1\], is float32 \(3,\) \[2, 2, 2\]"):
        packaged(model, lucid.ones(3))
    assert model.a.tolist() == [1.0, 1.0, 1.0]


COUNTER = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", lucid.ones(3))

    def forward(self, x):
        y = x * self.a
        self.a.add_(x)
        return y
"""


def test_f02_a_spec_without_the_state_is_refused_and_the_model_left_as_it_was(tmp_path: Path) -> None:
    """The refusal names the buffer and shows the pair; the loaded model still holds ones."""
    spec = spec_text({"x": 'shape = [3]; values = "ones"'})
    with pytest.raises(MutationError, match=r"a was float32.*\n.*\n.*\n\s+spec:   \[\[state\]\] input = \"a\""):
        built(tmp_path, COUNTER, spec)
    assert not (tmp_path / "result").exists()
    stages = read(tmp_path / "model.toml")
    loaded = load(stages)
    assert loaded.model.a.tolist() == [1.0, 1.0, 1.0]  # type: ignore[attr-defined]
    with pytest.raises(MutationError):
        trace(loaded, stages)
    assert loaded.model.a.tolist() == [1.0, 1.0, 1.0]  # type: ignore[attr-defined]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f02_the_same_with_a_declared_state_counts(precision: str) -> None:
    """Three calls give 1, 2, 3: a state begins at zero, so the one of the buffer is added."""
    package = packaged(
        lambda a, x: (x * (a + 1.0), a + x),
        {"a": lucid.zeros(3), "x": lucid.ones(3)},
        precision,
        state=[State("a", "output_1")],
    )
    assert [package.predict(np.ones(3, np.float32)).tolist() for _ in range(3)] == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


def returned_and_written(s: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    v = s + x
    return v, v


def with_reshape(s: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    v = s + x
    return v, v, v.reshape(4)


def views_only(s: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    v = s + x
    return v.reshape(2, 2), v, v.transpose(0, 1)


def feeding(s: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    doubled = x * 2.0
    return doubled, s + doubled / 2.0


@pytest.mark.parametrize("half", [False, True], ids=["float32 interface", "float16 interface"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model", [returned_and_written, with_reshape, views_only, feeding])
def test_f13_no_output_is_what_a_state_is_written_from(model: Callable[..., Any], precision: str, half: bool) -> None:
    """A value that was both returned and written to a state crashed Core ML when it loaded the package."""
    from lucid.coreml import Precision

    options = {"interface": Precision.FLOAT16} if half and precision == "float16" else {}
    package = packaged(model, EXAMPLE, precision, state=PAIR, **options)
    function = package.model.function
    producers = {value: node for node in function.nodes for value in node.outputs}
    written = [node.inputs["data"] for node in function.nodes if node.op == "write_state"]
    assert len(written) == 1
    for value in function.outputs.values():
        assert value not in written
        assert value not in sources(written[0], producers)
    expected = 2.0 if model is feeding else 1.0
    for call in (1, 2, 3):
        first = next(iter(package.run({"x": ONES}, package._state).values()))
        assert set(np.unique(first)) == {expected if model is feeding else expected * call}
    assert set(np.unique(package._state.read("s"))) == {3.0}


def sources(value: Value, producers: dict[Value, Node]) -> set[Value]:
    """Return what a value is a view of, through operations that only change its shape."""
    found = set()
    while value in producers and producers[value].op in ("identity", "reshape", "squeeze", "expand_dims", "transpose"):
        value = producers[value].inputs["x"]  # type: ignore[assignment]
        found.add(value)
    return found


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f35_a_shift_register_is_a_state(precision: str) -> None:
    """A state that is written a step after a concatenation was taken for a constant."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = lucid.cat([s, x], dim=-1)[..., -3:]
        return new.sum(dim=-1), new

    package = packaged(model, {"s": lucid.zeros(1, 1, 3), "x": lucid.ones(1, 1, 1)}, precision, state=PAIR)
    for _ in range(2):
        sums = [package.predict(array(x, shape=(1, 1, 1))).item() for x in (1, 2, 3, 4)]
        assert sums == [1.0, 3.0, 6.0, 9.0]
        package.reset_state()


def test_f35_two_sequences_do_not_share_a_state() -> None:
    """Each sequence begins at zero, in either order and in turn."""
    package = packaged(lambda s, x: (s + x, s + x), EXAMPLE, state=PAIR)
    first, second = package.make_state(), package.make_state()
    assert [package.run({"x": ONES}, first)["output_0"][0, 0] for _ in range(3)] == [1.0, 2.0, 3.0]
    assert [package.run({"x": 5 * ONES}, second)["output_0"][0, 0] for _ in range(2)] == [5.0, 10.0]
    assert package.run({"x": ONES}, first)["output_0"][0, 0] == 4.0
    assert package.run({"x": ONES})["output_0"][0, 0] == 1.0
    assert package.predict(ONES)[0, 0].item() == 1.0


@pytest.mark.parametrize(
    "write",
    [
        lambda s, x: s[:].copy_(x),
        lambda s, x: s.__setitem__(slice(None), x),
        lambda s, x: s.copy_(x[0:3]),
    ],
    ids=["part", "slice", "whole"],
)
def test_f38_a_batch_that_does_not_fit_the_state_is_an_error(write: Any) -> None:
    """Three rows written to a state of one were broadcast or cut."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = s.clone()
        write(new, x)
        return x.sum(), new

    with pytest.raises(ShapeError, match=r"\(3, 4\).*\(1, 4\)"):
        packaged(model, {"s": lucid.zeros(1, 4), "x": lucid.ones(3, 4)}, state=PAIR)


def test_f38_ends_of_other_shapes_are_an_error() -> None:
    """The sum of a state (1, 4) and a batch (3, 4) is no new state."""
    with pytest.raises(StateError, match=r"the input has shape \(1, 4\), the output \(3, 4\)"):
        packaged(lambda s, x: (x + s, x + s), {"s": lucid.zeros(1, 4), "x": lucid.ones(3, 4)}, state=PAIR)


def test_f38_an_input_of_another_size_is_an_error() -> None:
    """A package's inputs have one shape."""
    package = packaged(lambda s, x: (s + x, s + x), EXAMPLE, state=PAIR)
    with pytest.raises(ShapeError, match=r"input x: the shape is \(3, 4\), the package declares \(1, 4\)"):
        package.predict(np.ones((3, 4), np.float32))


def copy(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new.copy_(s + x)
    return new


def whole_slice(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new[:] = s + x
    return new


def ellipsis(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new[...] += x
    return new


def add_method(s: Tensor, x: Tensor) -> Tensor:
    return s.clone().add_(x)


def add_operator(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new += x
    return new


def by_index(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new[lucid.tensor([0])] = s + x
    return new


def by_columns(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    new[:, lucid.tensor([3, 1, 0, 2])] = (s + x)[:, lucid.tensor([3, 1, 0, 2])]
    return new


def by_mask(s: Tensor, x: Tensor) -> Tensor:
    return lucid.where(x > 0, s + x, s)


def functional(s: Tensor, x: Tensor) -> Tensor:
    return s + x


def a_column_at_a_time(s: Tensor, x: Tensor) -> Tensor:
    new = s.clone()
    for column in range(4):
        new[:, column] = new[:, column] + x[:, column]
    return new


WAYS = [
    copy,
    whole_slice,
    ellipsis,
    add_method,
    add_operator,
    by_index,
    by_columns,
    by_mask,
    functional,
    a_column_at_a_time,
]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("way", WAYS)
def test_f41_every_way_to_write_an_accumulator_counts(way: Callable[..., Tensor], precision: str) -> None:
    """Overwriting a whole state by a copy was refused where a slice was taken."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = way(s, x)
        return new, new

    package = packaged(model, EXAMPLE, precision, state=PAIR)
    for count in (1.0, 2.0, 3.0):
        assert package.predict(ONES).tolist() == [[count] * 4]
    assert package._state.read("s").tolist() == [[3.0] * 4]


@pytest.mark.parametrize(
    "write", [lambda s, x: s.copy_(s + x), lambda s, x: s.add_(x), lambda s, x: s.__setitem__(0, x[0])]
)
def test_f41_writing_the_input_itself_is_refused_with_the_way_that_works(write: Any) -> None:
    """Inputs are read-only; the message says to return the new value and pair it."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        write(s, x)
        return s, s

    with pytest.raises(MutationError, match=r"input s is written in place.*Return the new value and pair it"):
        packaged(model, EXAMPLE, state=PAIR)


def test_f42_a_state_that_is_returned_as_it_came_is_refused() -> None:
    """It would never be written; in plain words, not by an assertion about names."""
    for back in (lambda s: s, lambda s: s.clone(), lambda s: s.reshape(4).reshape(1, 4)):
        with pytest.raises(StateError, match="the model returns the input as it came, so the state is never written"):
            packaged(lambda s, x, back=back: (s + x, back(s)), EXAMPLE, state=PAIR)


def test_f42_a_state_that_some_calls_leave_as_it_is() -> None:
    """Only calls with a positive x count."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = lucid.where(x.sum() > 0, s + 1.0, s)
        return new * 1.0, new

    package = packaged(model, EXAMPLE, state=PAIR)
    given = [package.predict(sign * ONES)[0, 0].item() for sign in (1, -1, 1, -1, -1, 1)]
    assert given == [1.0, 1.0, 2.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f47_a_layered_state_keeps_the_layers_apart(precision: str) -> None:
    """Writing one layer of a state: the others stay as they are, over three calls."""

    def model(s: Tensor, x: Tensor, position: Tensor) -> tuple[Tensor, Tensor]:
        new = s.clone()
        new[0, :, position] = x
        seen = new.sum()
        new[1, :, position] = x * 2.0
        return seen, new

    example = {"s": lucid.zeros(2, 1, 8, 3), "x": lucid.ones(1, 1, 3), "position": lucid.tensor([0])}
    package = packaged(model, example, precision, state=PAIR)
    expected = np.zeros((2, 1, 8, 3), np.float32)
    for call, position in enumerate((5, 0, 7), start=1):
        before = expected.sum()
        package.predict(x=np.full((1, 1, 3), call, np.float32), position=np.array([position], np.int32))
        expected[0, 0, position], expected[1, 0, position] = call, 2 * call
        np.testing.assert_array_equal(package._state.read("s"), expected)
        assert expected.sum() == before + 9 * call


def test_f47_a_layer_that_is_never_written_stays_zero() -> None:
    """Only layer 0 is written."""

    def model(s: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = s.clone()
        new[0] = new[0] + x
        return new[0].sum(), new

    package = packaged(model, {"s": lucid.zeros(2, 1, 8, 3), "x": lucid.ones(1, 8, 3)}, state=PAIR)
    assert [package.predict(np.ones((1, 8, 3), np.float32)).item() for _ in range(3)] == [24.0, 48.0, 72.0]
    state = package._state.read("s")
    assert state[0].tolist() == np.full((1, 8, 3), 3.0).tolist()
    assert not state[1].any()


def test_f48_a_state_below_ios18_is_refused() -> None:
    """In a call, and in a spec before anything is loaded, naming the key."""
    with pytest.raises(StateError, match="deployment target iOS17: packages carry states from iOS18"):
        packaged(lambda s, x: (s + x, s + x), EXAMPLE, state=PAIR, minimum_deployment_target=DeploymentTarget.iOS17)


def test_f48_a_spec_with_a_state_below_ios18_is_refused_before_the_model_is_imported(tmp_path: Path) -> None:
    spec = spec_text({"x": 'shape = [1]; values = "ones"', "s": "shape = [1]"}, states={"s": "output_1"})
    spec = spec.replace('precision = "float32"', 'precision = "float32"\ndeployment_target = "iOS17"')
    with pytest.raises(SpecError, match=r"lowering\.deployment_target: iOS17 has no states"):
        built(tmp_path, "raise RuntimeError\n", spec)


def test_f48_a_step_without_inputs_is_refused() -> None:
    """A package without inputs was built for systems that cannot load it."""
    with pytest.raises(StateError, match="every input is a state, and a package needs one that the caller passes"):
        packaged(lambda s: (s + 1.0, s + 1.0), {"s": lucid.zeros(1)}, state=PAIR)
    with pytest.raises(LucidError, match="a package needs an input"):
        packaged(lambda: lucid.ones(3), {})


def test_f48_a_spec_without_inputs_is_refused(tmp_path: Path) -> None:
    spec = spec_text({"s": "shape = [1]"}, states={"s": "output_1"})
    with pytest.raises(SpecError, match="every input is a state, but Core ML needs one that is passed in"):
        built(tmp_path, "raise RuntimeError\n", spec)
    with pytest.raises(SpecError, match="input"):
        built(tmp_path, "raise RuntimeError\n", spec_text({}))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_f48_every_target_that_can_gives_the_same_numbers(precision: str) -> None:
    """A newer target gave NaN where an older one worked."""
    linear = nn.Linear(4, 4)
    x = array(1, -2, 3, 0.5, shape=(1, 4))
    results = [
        packaged(
            lambda x: nn.functional.softmax(linear(x), dim=-1)[:, 1:],
            lucid.tensor(x),
            precision,
            minimum_deployment_target=DeploymentTarget.parse(target),
        )
        .predict(x)
        .tolist()
        for target in ("iOS15", "iOS16", "iOS17", "iOS18")
    ]
    assert results == [results[0]] * 4
    assert np.isfinite(results[0]).all()


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (State("t", "output_1"), "no input 't'; the model takes s, x"),
        (State("s", "output_7"), "no output 'output_7'; the model returns output_0, output_1"),
    ],
)
def test_seen_a_state_under_a_wrong_name_is_refused(state: State, message: str) -> None:
    """Both ends are looked up, and what there is is listed."""
    with pytest.raises(StateError, match=message):
        packaged(lambda s, x: (s + x, s + x), EXAMPLE, state=[state])


def test_seen_an_unused_input_is_refused() -> None:
    """An input without effect stayed in the interface, and nothing said so."""
    with pytest.raises(RefusedError, match="input y has no effect on any output"):
        packaged(lambda x, y: x + 1.0, {"x": lucid.ones(1), "y": lucid.ones(1)})


def test_seen_a_module_in_training_mode_is_refused_and_left_as_it_was() -> None:
    """Batch statistics were frozen, and recording changed the running averages."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    with pytest.raises(RefusedError, match=r"training mode: dropout and batch statistics would be frozen"):
        packaged(model, lucid.ones(2, 4))
    assert model[1].running_mean.tolist() == [0.0] * 4
    assert model[1].running_var.tolist() == [1.0] * 4
