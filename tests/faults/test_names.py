"""Names: what the spec asks for is what the package says, one output for each name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lucid
from faults.project import PRECISIONS, array, built, packaged, spec_text
from lucid.coreml import State, load
from lucid.errors import LucidError, SpecError, TraceError, UnsupportedError

X = array(1, 2, 3)


def twice(x: Any) -> Any:
    y = 2.0 * x
    return y, y


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (twice, {"a": [2.0, 4.0, 6.0], "b": [2.0, 4.0, 6.0]}),
        (lambda x: (2.0 * x, 2.0 * x), {"a": [2.0, 4.0, 6.0], "b": [2.0, 4.0, 6.0]}),
        (lambda x: (2.0 * x, (2.0 * x).reshape(3)), {"a": [2.0, 4.0, 6.0], "b": [2.0, 4.0, 6.0]}),
        (lambda x: (x, 2.0 * x), {"a": [1.0, 2.0, 3.0], "b": [2.0, 4.0, 6.0]}),
        (lambda x: (2.0 * x, x), {"a": [2.0, 4.0, 6.0], "b": [1.0, 2.0, 3.0]}),
        (lambda x: (x, x), {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]}),
        (lambda x: (2.0 * x, lucid.tensor([7.0])), {"a": [2.0, 4.0, 6.0], "b": [7.0]}),
        (lambda x: (x.clone(), x.reshape(3, 1)), {"a": [1.0, 2.0, 3.0], "b": [[1.0], [2.0], [3.0]]}),
    ],
)
def test_f14_f42_each_output_has_its_name(model: Callable[..., Any], expected: dict[str, Any], precision: str) -> None:
    """One tensor under two names came back once; an input that is an output failed on an assertion about names."""
    package = packaged(model, lucid.tensor(X), precision, outputs=["a", "b"])
    assert package.output_names == ["a", "b"]
    assert {name: value.tolist() for name, value in package.predict(X).items()} == expected


def test_f14_a_state_update_that_is_also_two_named_outputs(tmp_path: Path) -> None:
    """A whole build: both names and the state are read by the golden check."""
    model = """
class Model(nn.Module):
    def forward(self, x, s):
        s = s + x
        return s, s, s
"""
    outputs = "".join(f'[[output]]\nname = "{name}"\n' for name in ("a", "b", "new_s"))
    spec = spec_text({"x": 'shape = [3]; values = "ones"', "s": "shape = [3]"}, states={"s": "new_s"}, more=outputs)
    result = built(tmp_path, model, spec)
    assert [each.name for each in result.manifest.package.outputs] == ["a", "b"]
    assert list(result.manifest.golden.outputs) == ["a", "b"]
    with load(result.package) as package:
        state = package.make_state()
        for call in (1.0, 2.0, 3.0):
            given = package.run({"x": array(1, 1, 1)}, state)
            assert {name: value.tolist() for name, value in given.items()} == {"a": [call] * 3, "b": [call] * 3}


def test_f14_a_name_twice_is_refused(tmp_path: Path) -> None:
    """In a call and in a spec."""
    with pytest.raises(TraceError, match=r"2 names are given \(a, a\)"):
        packaged(twice, lucid.tensor(X), outputs=["a", "a"])
    spec = spec_text({"x": 'shape = [3]; values = "ones"'}, more='[[output]]\nname = "a"\n[[output]]\nname = "a"\n')
    with pytest.raises(SpecError, match=r'output\[1\].name: .*"a"'):
        built(tmp_path, "raise RuntimeError\n", spec)


def test_f14_a_duplicate_in_a_saved_interface_is_refused(tmp_path: Path) -> None:
    """A package that lists b and b, as a faulty writer leaves it, does not load."""
    from lucid.coreml import protobuf

    path = packaged(twice, lucid.tensor(X), outputs=["a", "b"]).path
    assert path is not None
    file = path / "Data" / "com.apple.CoreML" / "model.mlmodel"
    model = protobuf.model().Model.FromString(file.read_bytes())
    model.description.output[0].name = "b"
    file.write_bytes(model.SerializeToString(deterministic=True))
    with pytest.raises(LucidError, match="b"):
        load(path)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", ["logits", "add_0", "_hidden", "Logits2", "var_1_logits"])
def test_f40_a_name_that_is_asked_for_is_the_packages(name: str, precision: str) -> None:
    """An output that was called logits came out as add_0."""
    assert packaged(lambda x: x + 1.0, lucid.tensor(X), precision, outputs=[name]).output_names == [name]
    package = packaged(lambda x: {name: x + 1.0, "other": x * 3.0}, lucid.tensor(X), precision)
    assert package.output_names == [name, "other"]
    assert json.loads(package.model.metadata.user_defined["com.lucid.outputs"]) == [name, "other"]


@pytest.mark.parametrize("name", ["1/logits", "1.logits", "a b", "", "état", "state", "tensor", "fp16", "true"])
def test_f40_a_name_that_core_ml_cannot_have_is_refused(name: str) -> None:
    """Such names were changed without an error, so that callers asked for outputs that were not there."""
    with pytest.raises(
        UnsupportedError, match=r"output .*Core ML's names are letters, digits and underscores.* Name it"
    ):
        packaged(lambda x: x + 1.0, lucid.tensor(X), outputs=[name])
    if name:
        with pytest.raises(UnsupportedError, match=r"output .*Core ML's names are letters"):
            packaged(lambda x: {"fine": x, name: x + 1.0}, lucid.tensor(X))


def test_f40_two_names_that_would_become_one_are_refused() -> None:
    """1/logits and 1.logits both sanitise to one name."""
    with pytest.raises(UnsupportedError, match="output '1/logits'"):
        packaged(lambda x: (x + 1.0, x + 2.0), lucid.tensor(X), outputs=["1/logits", "1.logits"])


def test_f40_a_name_equal_to_an_inputs_is_refused() -> None:
    """And one equal to a state's."""
    with pytest.raises(UnsupportedError, match="output 'x': there is an input of this name"):
        packaged(lambda x: x + 1.0, lucid.tensor(X), outputs=["x"])
    example = {"s": lucid.zeros(3), "x": lucid.tensor(X)}
    with pytest.raises(LucidError, match="s"):
        packaged(lambda s, x: {"s": s + x, "new": s + x}, example, state=[State("s", "new")])


@pytest.mark.parametrize("name", ["1/logits", "1.logits", "tensor", "x"])
def test_f40_a_spec_with_such_a_name_is_refused_before_anything_is_loaded(tmp_path: Path, name: str) -> None:
    spec = spec_text({"x": 'shape = [3]; values = "ones"'}, more=f'[[output]]\nname = "{name}"\n')
    with pytest.raises(SpecError, match=r"output\[0\].name"):
        built(tmp_path, "raise RuntimeError\n", spec)


def test_seen_a_mapping_names_its_outputs() -> None:
    """A dictionary was refused as a return value."""
    package = packaged(lambda x: {"a": x + 1.0, "b": x + 2.0}, lucid.tensor(X))
    assert {name: value.tolist() for name, value in package.predict(X).items()} == {
        "a": [2.0, 3.0, 4.0],
        "b": [3.0, 4.0, 5.0],
    }
