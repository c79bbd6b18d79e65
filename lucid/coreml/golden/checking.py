"""The seven points of the golden check, on a package that was read back from disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.golden.comparison import Comparison, compare
from lucid.coreml.golden.fresh import FreshProcess, digest
from lucid.coreml.golden.reference import Reference, refer
from lucid.coreml.golden.verdict import Check, Departure, Series, Verdict
from lucid.coreml.options import Precision
from lucid.coreml.package import Package, StateHandle
from lucid.coreml.profile import Profile, sampled
from lucid.coreml.record import recorded_pairs
from lucid.dtypes import float16
from lucid.errors import GoldenError, LucidError
from lucid.graph import Value
from lucid.structure import by_argument
from lucid.tolerance import Tolerance, default_tolerance

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check", "verify_against"]

_INTERLEAVED = 3
_LOOKED_AT = 8
_LEAVES = 0.05


def check(
    package: Package,
    reference: Reference,
    *,
    tolerances: Mapping[str, Tolerance] | None = None,
    seen: Profile | None = None,
    fresh: FreshProcess | None = None,
    advance: Callable[[int], None] | None = None,
) -> Verdict:
    """Run a written package against the reference and return the verdict; nothing is raised for a failed point.

    1. the first call matches; 2. every later call matches; 3. the final states match; 4. a reset brings back the first
    call; 5. interleaved states do not disturb each other; 6. a fresh process, where one is given, gives the same
    numbers; 7. the check can see: states held at zero change the outputs, and every input changes an output or a state.
    `tolerances` are by output and state name. With `seen`, a failure names the operation where it begins.
    `advance` is told after each call how many are done.
    """
    if fresh is not None and package.path is not None:
        fresh.open(package.path)
    precision = _precision(package)
    usual = default_tolerance(precision.value, stateful=bool(package.state_names))
    allowed = {name: (tolerances or {}).get(name, usual) for name in (*package.output_names, *package.state_names)}
    handle = package.make_state()
    results = []
    for index, call in enumerate(reference.calls):
        results.append(package.run(call, handle))
        if advance is not None:
            advance(index + 1)
    outputs = [_series(name, allowed[name], results, reference) for name in package.output_names]
    states = [
        Series(name, allowed[name], [_compare_state(handle.read(name), reference.states[name], allowed[name])])
        for name in package.state_names
    ]
    checks = [_names_agree(package, reference)]
    if package.state_names:
        checks += [_reset(package, reference, results), _interleaved(package, reference, results)]
        checks.append(_sees_state(package, reference, results))
    checks.append(_sees_inputs(package, reference, results))
    verdict = Verdict(len(results), "numpy", outputs, states, checks)
    if not verdict.passed and seen is not None:
        verdict = replace(verdict, departure=find_departure(package, reference, seen))
    if fresh is not None and package.path is not None:
        expected = digest(results, {name: handle.read(name) for name in package.state_names})
        package.release()
        checks.append(_fresh_process(fresh, reference, expected))
    return verdict


def verify_against(
    package: Package,
    model: Callable[..., Any],
    example: object,
    *,
    tolerances: Mapping[str, Tolerance] | None = None,
) -> Verdict:
    """Check a package that lucid made against `model` on one example, or on a list with one a call; return the verdict.

    The example must also hold the states' inputs, for their shapes. Raises GoldenError with the verdict's faults where
    the two disagree, and UsageError for a package without lucid's record of its pairs.
    """
    pairs, names = recorded_pairs(package.model)
    examples = example if isinstance(example, list) else [example] * (3 if pairs else 1)
    named = [{name: box.numpy() for name, box in by_argument(model, each).items()} for each in examples]
    paired = {pair.input for pair in pairs}
    calls = [{name: array for name, array in each.items() if name not in paired} for each in named]
    reference = refer(model, calls, pairs, {name: named[0][name] for name in paired}, outputs=names)
    verdict = check(package, reference, tolerances=tolerances)
    if not verdict.passed:
        raise GoldenError("the package does not do what the model does:\n  " + "\n  ".join(verdict.faults()))
    return verdict


def _precision(package: Package) -> Precision:
    """Return FLOAT16 if any value of the body is float16."""
    function = package.model.function
    half = any(
        value.dtype == float16 for node in function.nodes if node.op not in _STATE_TRAFFIC for value in node.outputs
    )
    return Precision.FLOAT16 if half else Precision.FLOAT32


_STATE_TRAFFIC = ("read_state", "write_state", "cast", "slice_update", "identity")


def _series(
    name: str, tolerance: Tolerance, results: Sequence[Mapping[str, NDArray[Any]]], reference: Reference
) -> Series:
    pairs = zip(results, reference.outputs, strict=True)
    return Series(
        name,
        tolerance,
        [compare(_like(got[name], want[name]), want[name], tolerance) for got, want in pairs if name in want],
    )


def _compare_state(got: NDArray[Any], want: NDArray[Any], tolerance: Tolerance) -> Comparison:
    """Compare a final state; where Core ML's storage is narrower than the model's, a fault says what that costs."""
    found = compare(got.astype(want.dtype), want, tolerance)
    if found.passed or got.dtype == want.dtype or got.shape != want.shape:
        return found
    peak = float(np.max(np.abs(want)))
    largest = float(np.finfo(got.dtype).max)
    cost = (
        f"whose steps are {np.spacing(got.dtype.type(peak)):.3g} there"
        if peak <= largest
        else f"which ends at {largest:g}"
    )
    text = f"states are stored in {got.dtype}, {cost}; carry {peak:.6g} as an input and an output, or reset it sooner"
    return replace(found, fault=f"{found.fault}; {text}")


def _like(got: NDArray[Any], want: NDArray[Any]) -> NDArray[Any]:
    """A float16 interface was asked for: compare in the reference's dtype."""
    return got.astype(want.dtype) if {got.dtype.kind, want.dtype.kind} == {"f"} else got


def _names_agree(package: Package, reference: Reference) -> Check:
    want, have = list(reference.outputs[0]), package.output_names
    return Check("interface", want == have, "" if want == have else f"the model returns {want}, the package {have}")


def _reset(package: Package, reference: Reference, results: Sequence[Mapping[str, NDArray[Any]]]) -> Check:
    handle = package.make_state()
    package.run(reference.calls[-1], handle)
    handle.reset()
    again = package.run(reference.calls[0], handle)
    same = _equal(again, results[0])
    return Check("reset", same, "" if same else "after a reset the first call gives other numbers")


def _interleaved(package: Package, reference: Reference, results: Sequence[Mapping[str, NDArray[Any]]]) -> Check:
    """Two sequences in turn, the second one call behind: each must be what it is alone."""
    handles = package.make_state(), package.make_state()
    count = min(len(reference.calls), _INTERLEAVED)
    for step in range(count + 1):
        for handle, call in ((handles[0], step), (handles[1], step - 1)):
            if 0 <= call < count and not _equal(package.run(reference.calls[call], handle), results[call]):
                return Check("interleaved", False, f"two states used in turn disturb each other at call {call}")
    return Check("interleaved", True)


def _sees_state(package: Package, reference: Reference, results: Sequence[Mapping[str, NDArray[Any]]]) -> Check:
    calls = list(zip(reference.calls, results, strict=True))[1:]
    for call, result in calls:
        if not _equal(package.run(call), result):
            return Check("sees the state", True)
    return Check(
        "sees the state",
        False,
        f"with the state held at zero all {len(calls)} later calls give the same outputs: this check cannot tell "
        "whether the state accumulates. Give more calls, or inputs that make the state matter",
    )


def _sees_inputs(package: Package, reference: Reference, results: Sequence[Mapping[str, NDArray[Any]]]) -> Check:
    """Change one input at a time: on one of the first calls an output or a state must follow."""
    unseen = dict.fromkeys(reference.calls[0])
    handle = package.make_state()
    for call, result in list(zip(reference.calls, results, strict=True))[:_LOOKED_AT]:
        before = {name: handle.read(name) for name in package.state_names}
        package.run(call, handle)
        for name in list(unseen):
            others = _others(reference, name, call[name])
            if any(_moves(package, {**call, name: other}, result, before, handle) for other in others):
                del unseen[name]
        if not unseen:
            return Check("sees the inputs", True)
    (name, *_) = unseen
    count = min(len(results), _LOOKED_AT)
    return Check(
        "sees the inputs", False, f"input {name} has no effect on any output or state of the first {count} calls"
    )


def _others(reference: Reference, name: str, array: NDArray[Any]) -> list[NDArray[Any]]:
    """Other values for an input: those of other calls, then the value moved by one either way, all of it and a part."""
    values = [call[name] for call in reference.calls if not np.array_equal(call[name], array)][:2]
    every_other = (np.arange(array.size) % 2 == 0).reshape(array.shape)
    if array.dtype == np.bool_:
        return [*values, ~array, array ^ every_other]
    one = array.dtype.type(1)
    return [*values, array + one, array - one, array + every_other.astype(array.dtype)]


def _moves(
    package: Package,
    call: Mapping[str, Any],
    result: Mapping[str, Any],
    before: Mapping[str, NDArray[Any]],
    after: StateHandle,
) -> bool:
    """Whether a call from the states `before` gives another result than `result`, or other states than `after`."""
    handle = package.make_state()
    for name, array in before.items():
        handle.write(name, array)
    try:
        outputs = package.run(call, handle)
    except LucidError:
        return True
    return not _equal(outputs, result) or any(
        not np.array_equal(handle.read(name), after.read(name), equal_nan=True) for name in package.state_names
    )


def _fresh_process(fresh: FreshProcess, reference: Reference, expected: str) -> Check:
    found = fresh.run(reference)
    same = found == expected
    return Check("fresh process", same, "" if same else f"another process gives other numbers ({found})")


def _equal(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(first[name].tobytes() == second[name].tobytes() for name in second)


def find_departure(package: Package, reference: Reference, seen: Profile) -> Departure | None:
    """Return the first operation of the package whose numbers leave those of the traced graph, if any does."""
    handle = package.make_state()
    made_by = {value.name: node.op for node in package.model.function.nodes for value in node.outputs}
    worst: Departure | None = None
    for index, (call, samples) in enumerate(zip(reference.calls, seen.samples, strict=False)):
        found: list[Departure] = []

        def observe(
            value: Value, array: NDArray[Any], index: int = index, samples: Any = samples, found: Any = found
        ) -> None:
            wanted = samples.get(value.name)
            got = sampled(array) if array.dtype.kind in "fiu" else None
            if wanted is None or got is None or got.shape != wanted.shape or not wanted.size:
                return
            scale = float(np.max(np.abs(wanted))) or 1.0
            with np.errstate(all="ignore"):
                error = float(np.max(np.abs(got - wanted))) / scale
            if not error <= _LEAVES:
                found.append(Departure(index, made_by.get(value.name, "?"), value.name, error, value.dtype))

        package.run_observed(call, handle, observe)
        if found:
            worst = found[0]
            break
    return worst
