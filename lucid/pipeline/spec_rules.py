"""The rules of a spec that look at more than one key: names, states, values, targets and files.

A rule names the top-level tables that it reads. Where one of them is not sound, the rule is not asked, so that one
fault does not show up as two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lucid.pipeline.spec_files import file_fault
from lucid.pipeline.spec_values import Constant, File, Integers, Listed, Normal, Uniform

if TYPE_CHECKING:
    from lucid.pipeline.spec import Spec
    from lucid.pipeline.spec_tables import Input
    from lucid.pipeline.toml_positions import Path

__all__ = ["LEAST_STATEFUL_CALLS", "Problem", "problems"]

LEAST_STATEFUL_CALLS = 3
"""With fewer calls, a state that is written once and then stays looks like one that accumulates."""

_LARGEST = {"float16": 65504.0, "float32": 3.4028234663852886e38}
_MOST_ELEMENTS = 2**31 - 1


@dataclass(frozen=True)
class Problem:
    """What is wrong at a key path of the spec, in words that follow `key: `."""

    path: Path
    message: str
    at_key: bool = False
    """Whether the key itself is at fault, not its value."""


Rule = Callable[["Spec"], Iterator[Problem]]
_RULES: list[tuple[frozenset[str], Rule]] = []


def problems(spec: Spec, unsound: Set[str] = frozenset()) -> Iterator[Problem]:
    """Yield what breaks a rule in `spec`, whose top-level tables `unsound` must not be read."""
    for tables, rule in _RULES:
        if not tables & unsound:
            yield from rule(spec)


def _reads(*tables: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES.append((frozenset(tables), rule))
        return rule

    return register


def _listing(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


@_reads("input", "output")
def _names_are_unique(spec: Spec) -> Iterator[Problem]:
    seen: dict[str, str] = {}
    named: list[tuple[Path, str]] = [(("input", index), entry.name) for index, entry in enumerate(spec.inputs)]
    named += [(("output", index), entry.name) for index, entry in enumerate(spec.outputs)]
    for path, name in named:
        own = f"{path[0]}[{path[1]}]"
        first = seen.setdefault(name, own)
        if first != own:
            yield Problem((*path, "name"), f'"{name}" is also the name of {first}. Give each its own name.')


@_reads("model")
def _arguments_are_plain(spec: Spec) -> Iterator[Problem]:
    stack: list[tuple[Path, object]] = [(("model", "arguments"), spec.model.arguments)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, key), each) for key, each in reversed(value.items()))
        elif isinstance(value, tuple):
            stack.extend(((*path, index), each) for index, each in reversed(tuple(enumerate(value))))
        elif isinstance(value, float) and not math.isfinite(value):
            yield Problem(path, f"{value} cannot be kept in the manifest's JSON. Make it in the entry point.")
        elif not isinstance(value, (str, int, float)):
            yield Problem(path, "a date or time cannot be kept in the manifest's JSON. Write it as text.")


@_reads("model")
def _arguments_are_keywords(spec: Spec) -> Iterator[Problem]:
    for name in spec.model.arguments:
        if not name.isidentifier():
            yield Problem(("model", "arguments", name), f'"{name}" cannot be the name of a Python argument.')


@_reads("model")
def _files_of_the_model_exist(spec: Spec) -> Iterator[Problem]:
    if spec.model.is_file:
        yield from _unreadable(spec, ("model", "entry"), spec.model.source)
    if spec.model.weights is not None:
        yield from _unreadable(spec, ("model", "weights"), spec.model.weights)


@_reads("input")
def _files_of_values_exist(spec: Spec) -> Iterator[Problem]:
    for index, entry in enumerate(spec.inputs):
        if isinstance(entry.values, File):
            yield from _unreadable(spec, ("input", index, "values", "file"), entry.values.file)


def _unreadable(spec: Spec, path: Path, name: str) -> Iterator[Problem]:
    fault = file_fault(spec.root, name)
    if fault is not None:
        yield Problem(path, fault)


@_reads("input")
def _sizes_fit(spec: Spec) -> Iterator[Problem]:
    for index, entry in enumerate(spec.inputs):
        if math.prod(entry.shape) > _MOST_ELEMENTS:
            yield Problem(
                ("input", index, "shape"),
                f"{math.prod(entry.shape)} elements are more than the limit, {_MOST_ELEMENTS}.",
            )


@_reads("input", "state")
def _values_are_given(spec: Spec) -> Iterator[Problem]:
    names = [entry.name for entry in spec.inputs]
    held = {state.input for state in spec.states}
    is_settled = held.issubset(names)  # else a state names no input, and nobody knows which input it meant
    for index, entry in enumerate(spec.inputs):
        if entry.name in held:
            if entry.values not in (None, "zeros"):
                yield Problem(
                    ("input", index, "values"), f'"{entry.name}" is a state and begins at zero. Remove its values.'
                )
        elif entry.values is None and is_settled:
            example = {"int32": "{integers = {low = 0, high = 100}}", "bool": "{integers = {low = 0, high = 2}}"}
            yield Problem(
                ("input", index),
                'missing key "values", which says how each call\'s values are made. '
                f"Write values = {example.get(entry.dtype, '{normal = {mean = 0, std = 1}}')}.",
            )


@_reads("input")
def _values_fit(spec: Spec) -> Iterator[Problem]:
    for index, entry in enumerate(spec.inputs):
        for path, message in _misfits(entry):
            yield Problem(("input", index, "values", *path), message)


def _misfits(entry: Input) -> Iterator[tuple[Path, str]]:
    """Yield the places in `entry.values`, and what does not fit the element type or the shape there."""
    dtype = entry.dtype
    match entry.values:
        case "index" if dtype == "bool":
            yield (), "a bool input has no call index. Write values = {integers = {low = 0, high = 2}}."
        case Constant(constant=number):
            yield from _unfit(number, dtype, ("constant",))
        case Normal() | Uniform() if dtype in ("int32", "bool"):
            form = "normal" if isinstance(entry.values, Normal) else "uniform"
            high = "100" if dtype == "int32" else "2"
            yield (
                (form,),
                f"{form} makes fractions, but the input is {dtype}. Write {{integers = {{low = 0, high = {high}}}}}.",
            )
        case Normal(normal=parameters):
            yield from _unfit(parameters.mean, dtype, ("normal", "mean"))
            yield from _unfit(parameters.std, dtype, ("normal", "std"))
        case Uniform(uniform=ends):
            yield from _unfit(ends.low, dtype, ("uniform", "low"))
            yield from _unfit(ends.high, dtype, ("uniform", "high"))
        case Integers(integers=ends) if dtype == "bool":
            if (ends.low, ends.high) != (0, 2):
                yield ("integers",), f"a bool input takes low = 0 and high = 2, not {ends.low} and {ends.high}."
        case Integers(integers=ends):
            yield from _unfit(ends.low, dtype, ("integers", "low"))
            yield from _unfit(ends.high - 1, dtype, ("integers", "high"))
        case Listed(list=entries):
            for call, value in enumerate(entries):
                whole = value if isinstance(value, tuple) else None
                yield from _unfit_entry(value, dtype, entry.shape if whole is not None else (), ("list", call))
        case File(file=file, key=key):
            if not file.endswith((".npy", ".npz", ".safetensors")):
                yield ("file",), f'"{file}" is none of .npy, .npz and .safetensors.'
            elif file.endswith(".npy") and key is not None:
                yield ("key",), "an .npy file holds one array and no names. Remove the key."


def _unfit_entry(value: object, dtype: str, shape: tuple[int, ...], path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, tuple):
        if not shape:
            yield path, "an array is nested deeper than the input's shape."
        elif len(value) != shape[0]:
            yield path, f"{len(value)} values where the input's shape has {shape[0]}."
        else:
            for index, each in enumerate(value):
                yield from _unfit_entry(each, dtype, shape[1:], (*path, index))
    elif shape:
        yield path, f"expected an array of {shape[0]}, as the input's shape says."
    else:
        yield from _unfit(value, dtype, path)


def _unfit(value: object, dtype: str, path: Path) -> Iterator[tuple[Path, str]]:
    if dtype == "bool":
        if not isinstance(value, bool):
            yield path, f"the input is bool: expected true or false, found {value}."
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        yield path, f"the input is {dtype}: expected a number, found {str(value).lower()}."
    elif dtype == "int32":
        if not isinstance(value, int):
            yield path, f"the input is int32: expected a whole number, found {value}."
        elif not -(2**31) <= value < 2**31:
            yield path, f"{value} is outside int32, which ends at {-(2**31)} and {2**31 - 1}."
    elif not math.isfinite(value):
        yield path, f"{value} cannot be written here. Put it in a file of values."
    elif abs(value) > _LARGEST[dtype]:
        yield path, f"{value} is outside {dtype}, which ends at {_LARGEST[dtype]:g}."


@_reads("input", "golden")
def _lists_are_long_enough(spec: Spec) -> Iterator[Problem]:
    for index, entry in enumerate(spec.inputs):
        if isinstance(entry.values, Listed) and len(entry.values.list) < spec.golden.calls:
            yield Problem(
                ("input", index, "values", "list"),
                f"{len(entry.values.list)} entries for {spec.golden.calls} calls. "
                "Give one entry for each call, or lower golden.calls.",
            )


@_reads("input", "state")
def _states_read_inputs(spec: Spec) -> Iterator[Problem]:
    names = {entry.name: entry for entry in spec.inputs}
    seen: dict[str, int] = {}
    for index, state in enumerate(spec.states):
        path: Path = ("state", index, "input")
        first = seen.setdefault(state.input, index)
        if state.input not in names:
            yield Problem(
                path, f'no input "{state.input}"; the inputs are {_listing(list(names))}.{_meant(state.input, names)}'
            )
        elif first != index:
            yield Problem(
                path, f'"{state.input}" is already the input of state[{first}]. An input belongs to one state.'
            )
        elif names[state.input].dtype in ("int32", "bool"):
            yield Problem(
                path, f'"{state.input}" is {names[state.input].dtype}, but Core ML keeps states in float16 only. '
                "Keep it as an input, or make it a floating input."
            )  # fmt: skip
    if spec.states and names.keys() <= {state.input for state in spec.states}:
        yield Problem(("state",), "every input is a state, but Core ML needs one that is passed in. Add an [[input]].")


@_reads("state", "output")
def _states_write_outputs(spec: Spec) -> Iterator[Problem]:
    names = [output.name for output in spec.outputs]
    seen: dict[str, int] = {}
    for index, state in enumerate(spec.states):
        path: Path = ("state", index, "output")
        first = seen.setdefault(state.output, index)
        if names and state.output not in names:
            yield Problem(
                path, f'no output "{state.output}"; the outputs are {_listing(names)}.{_meant(state.output, names)}'
            )
        elif first != index:
            yield Problem(
                path, f'"{state.output}" is already the output of state[{first}]. An output belongs to one state.'
            )


def _meant(word: str, names: Iterable[str]) -> str:
    from lucid.pipeline.spec_words import near  # only faulty specs need it

    meant = near(word, names)
    return f' Did you mean "{meant}"?' if meant else ""


@_reads("state", "lowering")
def _targets_have_states(spec: Spec) -> Iterator[Problem]:
    if spec.states and spec.lowering.ios < 18:
        yield Problem(
            ("lowering", "deployment_target"),
            f"{spec.lowering.deployment_target} has no states, and the spec declares {len(spec.states)}. "
            "Set iOS18, macOS15, watchOS11 or tvOS18.",
        )


@_reads("input", "lowering")
def _targets_have_float16(spec: Spec) -> Iterator[Problem]:
    halves = [entry.name for entry in spec.inputs if entry.dtype == "float16"]
    if spec.lowering.ios < 16 and (halves or spec.lowering.interface):
        what = f'the input "{halves[0]}" is float16' if halves else 'lowering.interface is "float16"'
        yield Problem(
            ("lowering", "deployment_target"),
            f"{spec.lowering.deployment_target} has no float16 inputs and outputs, but {what}. "
            "Set iOS16, macOS13, watchOS9 or tvOS16, or later.",
        )


@_reads("state", "golden")
def _calls_show_states(spec: Spec) -> Iterator[Problem]:
    if spec.states and spec.golden.calls < LEAST_STATEFUL_CALLS:
        yield Problem(
            ("golden", "calls"),
            f"{spec.golden.calls} calls cannot show that a state accumulates. Set at least {LEAST_STATEFUL_CALLS}.",
        )
