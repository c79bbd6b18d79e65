"""From a model and example inputs to a pure graph, or a refusal that says what is not pure.

The model is run while it is recorded. Two nets catch what a graph cannot carry: whatever the call leaves behind in
the model's objects or its inputs, and a second call on the same inputs that gives other outputs. Both leave the model
as it was.
"""

from __future__ import annotations

import random as python_random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.engines.plan import Plan
from lucid.errors import LucidError, MutationError, RefusedError, TraceError, told
from lucid.gradmode import no_grad
from lucid.graph import Function, Value, arguments, users, verify
from lucid.passes import drop_idle, simplify
from lucid.random import default_generator
from lucid.structure import by_argument, flatten, renamed
from lucid.tensor import Tensor
from lucid.tracing import HostRead, Trace, recording
from lucid.watching import Change, Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Captured", "capture"]


@dataclass(frozen=True)
class Captured:
    """A model as a pure graph, and what it returned for the example inputs."""

    function: Function
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]


def capture(
    model: Callable[..., Any], example: object, *, outputs: Sequence[str] | None = None, name: str = "main"
) -> Captured:
    """Run `model` on `example` (a tensor, a tuple in argument order, or a mapping by argument name) and record it.

    Raises TraceError where the model cannot be run on the example, MutationError where the call leaves something
    behind or a second call differs, and RefusedError for a model in training mode or an input without effect.
    """
    given = by_argument(model, example)
    _refuse_training(model)
    watch = Watch(model)
    trace = Trace()
    boxes = {key: Tensor._boxed(box._value.view()) for key, box in given.items()}
    values = {key: trace.add_input(key, box) for key, box in boxes.items()}
    _name_constants(trace, model)
    before = {key: box._value for key, box in boxes.items()}
    first, draws = _call(model, boxes, trace, watch)
    written = [key for key, box in boxes.items() if box._value is not before[key]]
    changes = watch.changes()
    watch.restore()
    trace.put_back()
    flat = renamed(flatten(first), outputs)
    _refuse_changes(changes, written, draws, flat)
    _refuse_writes_outside(trace)
    _compare_second_call(model, given, flat, outputs, watch)
    recorded = trace.finish(name, flat)
    _refuse_host_reads(recorded, values, trace.host_reads)
    _refuse_lost_writes(recorded, trace)
    function = verify(simplify(drop_idle(recorded)))
    _refuse_idle_inputs(function, values)
    _compare_other_inputs(model, given, function, outputs, watch)
    return Captured(
        function,
        {key: box._value for key, box in given.items()},
        {key: box._value for key, box in flat.items()},
    )


def _refuse_training(model: object) -> None:
    modules = getattr(model, "named_modules", None)
    training = [path for path, module in modules() if getattr(module, "training", False)] if modules else []
    if training:
        which = "the model" if not training[0] else training[0]
        raise RefusedError(
            f"{which} is in training mode: dropout and batch statistics would be frozen. Call model.eval() first."
        )


def _name_constants(trace: Trace, model: object) -> None:
    if hasattr(model, "named_modules"):
        trace.paths = {id(module): path.replace(".", "_") for path, module in model.named_modules() if path}
    for kind in ("named_parameters", "named_buffers"):
        for path, box in getattr(model, kind, dict)() or ():
            trace.add_constant(path, box)


def _call(model: Callable[..., Any], boxes: Mapping[str, Tensor], trace: Trace | None, watch: Watch) -> tuple[Any, str]:
    """Call the model, recording if there is a trace; return what it returned and which random source it drew from."""
    before = _random_states()
    try:
        with no_grad():
            if trace is None:
                returned = model(**boxes) if _takes_names(model, boxes) else model(*boxes.values())
            else:
                with recording(trace):
                    returned = model(**boxes) if _takes_names(model, boxes) else model(*boxes.values())
    except BaseException as error:  # sys.exit in a model is the model's fault as well
        watch.restore()
        if trace is not None:
            trace.put_back()
        if isinstance(error, LucidError):
            raise error.at("forward") from error
        if isinstance(error, KeyboardInterrupt):
            raise
        raise TraceError(f"the model raised {told(error)}", where="forward") from error
    after = _random_states()
    drawn = ", ".join(source for source in before if before[source] != after[source])
    if drawn:
        _restore_random(before)
    return returned, drawn


def _takes_names(model: object, boxes: Mapping[str, Tensor]) -> bool:
    import inspect

    parameters = inspect.signature(getattr(model, "forward", model)).parameters  # type: ignore[arg-type]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    takes_any = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return all(takes_any or (name in parameters and parameters[name].kind in named) for name in boxes)


def _random_states() -> dict[str, Any]:
    kind, keys, *rest = np.random.get_state()  # the model may use NumPy's global generator
    return {
        "lucid.random": (default_generator().get_state(), default_generator().draws),
        "random": python_random.getstate(),
        "numpy.random": (kind, np.asarray(keys).tobytes(), tuple(rest)),
    }


def _restore_random(states: Mapping[str, Any]) -> None:
    default_generator().set_state(states["lucid.random"][0])
    python_random.setstate(states["random"])
    kind, keys, rest = states["numpy.random"]
    np.random.set_state((kind, np.frombuffer(keys, np.uint32), *rest))


def _refuse_changes(
    changes: Sequence[Change], written: Sequence[str], draws: str, outputs: Mapping[str, Tensor]
) -> None:
    if changes:
        raise MutationError(_mutation_text(changes, outputs), where="forward")
    for name in written:
        raise MutationError(
            f"input {name} is written in place; a program's inputs are read-only. Return the new value and pair "
            f"it:\n{_pair(name, f'output_{len(outputs)}')}",
            where="forward",
        )
    if draws:
        raise MutationError(
            f"the model draws random numbers ({draws}) though it is in eval(): every call of the program would repeat "
            "the same ones. Draw them outside and pass them as an input.",
            where="forward",
        )


def _refuse_writes_outside(trace: Trace) -> None:
    """Refuse a write to a tensor that was there before the call, wherever it lives."""
    for _, before, place in trace.outside.values():
        raise MutationError(
            f"a tensor of shape {tuple(before.shape)} that was there before the call is written at {place}; a pure "
            f"program would lose that. Take it as an input, return what replaces it, and pair the two:\n"
            f"{_pair('state', 'output_1')}",
            where="forward",
        )


def _mutation_text(changes: Sequence[Change], outputs: Mapping[str, Tensor]) -> str:
    lines = ["the call leaves a new value behind, which a pure program would lose:"]
    lines += [f"  {change}" for change in changes]
    lines.append("Take what must live on as an input, return what replaces it, and pair the two:")
    for index, change in enumerate(changes):
        lines.append(
            _pair(change.path.rpartition(".")[2].partition("[")[0] or "state", f"output_{len(outputs) + index}")
        )
    return "\n".join(lines)


def _pair(name: str, output: str) -> str:
    python = f'  Python: state=[State(input="{name}", output="{output}")]'
    return f'{python}\n  spec:   [[state]] input = "{name}", output = "{output}"'


def _compare_second_call(
    model: Callable[..., Any],
    given: Mapping[str, Tensor],
    first: Mapping[str, Tensor],
    names: Sequence[str] | None,
    watch: Watch,
) -> None:
    boxes = {key: Tensor._boxed(box._value.view()) for key, box in given.items()}
    returned, _ = _call(model, boxes, None, watch)
    second = renamed(flatten(returned), names)
    watch.restore()
    if list(second) != list(first):
        raise MutationError(
            f"a second call on the same inputs returns {', '.join(second)}, the first {', '.join(first)}. "
            "Make the outputs depend on the inputs alone.",
            where="forward",
        )
    for name, box in first.items():
        before, after = box._value, second[name]._value
        if before.shape != after.shape or before.tobytes() != after.tobytes():
            raise MutationError(
                f"a second call on the same inputs changes {name}: something outside the model's tensors is counted or "
                f"drawn. Pass it as an input and pair it:\n{_pair('step', f'output_{len(first)}')}",
                where="forward",
            )


def _refuse_lost_writes(recorded: Function, trace: Trace) -> None:
    """Refuse a write in place whose value nothing reads: it went into a part of a tensor, which is a copy."""
    live = {*recorded.outputs.values(), *(read.value for read in trace.host_reads)}
    for node in reversed(recorded.nodes):
        if not live.isdisjoint(node.outputs):
            live.update(arguments(node))
    for write in trace.writes.values():
        if write.value not in live:
            raise MutationError(
                f"what is written in place at {write.place} reaches no output. A part of a tensor is a copy, not a "
                "view: x[0].mul_(2) and x[0][1] = 2 leave x as it is. Write to the tensor itself: x[0] *= 2 and "
                "x[0, 1] = 2. Or leave the write out, if nothing needs it.",
                where="forward",
            )


def _refuse_host_reads(recorded: Function, values: Mapping[str, Value], reads: Sequence[HostRead]) -> None:
    """Refuse a program into which Python has frozen what it saw of an example input."""
    for name, value in values.items():
        derived = _derived(recorded, value)
        places = sorted({read.place for read in reads if read.value in derived})
        if places:
            raise RefusedError(
                f"input {name} is turned into Python numbers at {', '.join(places)}, which freezes the example's value "
                "into the program. Keep it a tensor: index and compute with it directly, and choose with lucid.where.",
                where="forward",
            )


def _refuse_idle_inputs(function: Function, values: Mapping[str, Value]) -> None:
    counts = users(function)
    for name, value in values.items():
        if not counts[value]:
            raise RefusedError(
                f"input {name} has no effect on any output. Use it, or leave it out of the example.", where="forward"
            )


def _compare_other_inputs(
    model: Callable[..., Any],
    given: Mapping[str, Tensor],
    function: Function,
    names: Sequence[str] | None,
    watch: Watch,
) -> None:
    """Compare the graph with the model on inputs moved away from the example: what was frozen shows there."""
    moved = {
        key: box._value * np.asarray(1.25, box._value.dtype) + np.asarray(0.5, box._value.dtype)
        if box.is_floating_point()
        else box._value
        for key, box in given.items()
    }
    if all(moved[key] is box._value for key, box in given.items()):
        return
    boxes = {key: Tensor._boxed(array.view()) for key, array in moved.items()}
    try:
        returned, _ = _call(model, boxes, None, watch)
    except LucidError:
        return  # the model does not take such values
    finally:
        watch.restore()
    expected = renamed(flatten(returned), names)
    found = Plan(function).run(moved)
    for name, box in expected.items():
        if np.array_equal(box._value, found[name]):
            continue
        first, second = np.asarray(box._value, np.float64), found[name].astype(np.float64)
        scale = np.max(np.abs(first[np.isfinite(first)]), initial=0.0)
        if first.shape != second.shape or not np.allclose(
            first, second, rtol=1e-3, atol=1e-3 * scale + 1e-6, equal_nan=True
        ):
            raise RefusedError(
                f"on inputs other than the example the model gives other values of {name} than the graph recorded from "
                "it: something that depends on the inputs is frozen. Compute everything from tensors in forward, "
                "and choose with lucid.where instead of if.",
                where="forward",
            )


def _derived(recorded: Function, value: Value) -> set[Value]:
    """Return `value` and everything that was computed from it."""
    found = {value}
    for node in recorded.nodes:
        if not found.isdisjoint(arguments(node)):
            found.update(node.outputs)
    return found
