"""``lucid run``: call a package and show, keep or time what it gives."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucid.cli.run_inputs import per_call
from lucid.cli.screen import Outcome, Screen
from lucid.cli.tables import seconds_text, shape_text, show_table
from lucid.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run_calls"]


def run_calls(
    path: Path, function: str | None, arguments: Sequence[str], calls: int, output_dir: Path | None,
    print_values: bool, timing: bool, screen: Screen,
) -> Outcome:  # fmt: skip
    """Run a function of the package at `path` `calls` times, its states carried from call to call."""
    from lucid.coreml import load

    started = time.perf_counter()
    package = load(path, function)
    seconds = [time.perf_counter() - started]
    results: list[dict[str, Any]] = []
    try:
        inputs = per_call(arguments, package.model.inputs, calls)
        if output_dir is not None:
            _prepare(output_dir)
        state = package.make_state() if package.state_names else None
        for call in range(calls):
            started = time.perf_counter()
            outputs = package.run({name: arrays[call] for name, arrays in inputs.items()}, state)
            seconds.append(time.perf_counter() - started)
            results.append(
                {"call": call, "outputs": [_told(name, each, print_values) for name, each in outputs.items()]}
            )
            if output_dir is not None:
                _keep(output_dir, call, outputs)
            if print_values:
                _print(call, outputs, screen)
    finally:
        package.close()
    if not print_values:
        _summary(results, screen)
    spent = _timing(seconds) if timing else None
    if spent is not None:
        screen.say("  ".join(f"{name} {seconds_text(value)}" for name, value in spent.items()))
    return Outcome({"package": str(path), "calls": results, "timing": spent})


def _told(name: str, output: Any, with_values: bool) -> dict[str, Any]:
    import numpy as np

    if not isinstance(output, np.ndarray):  # a number, a label, or the probability of each
        described = _described(name, type(output).__name__, [len(output)] if isinstance(output, dict) else [])
        return described | {"value": output}
    array = output
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    numbers = finite.astype(np.float64)
    described = _described(name, str(array.dtype), list(array.shape))
    for key in ("min", "max", "mean"):
        described[key] = float(getattr(numbers, key)()) if numbers.size else None
    described["not_finite"] = int(array.size - numbers.size)
    if with_values:
        values = array.astype(object)
        if array.dtype.kind == "f":  # JSON has no NaN and no infinity
            values = np.where(np.isfinite(array), values, np.vectorize(str, otypes=[object])(array))
        described["values"] = values.tolist()
    return described


def _described(name: str, dtype: str, shape: list[int]) -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "dtype": dtype, "shape": shape}
    return described | {"min": None, "max": None, "mean": None, "not_finite": 0}


def _arrays(outputs: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return outputs as arrays: a dictionary is its values, and its keys under the name with ``_labels``."""
    import numpy as np

    arrays = {}
    for name, output in outputs.items():
        arrays[name] = np.asarray(list(output.values()) if isinstance(output, dict) else output)
        if isinstance(output, dict):
            arrays[f"{name}_labels"] = np.asarray(list(output))
    return arrays


def _prepare(folder: Path) -> None:
    """Make the folder for the outputs, before a call is made for nothing. Raises UsageError where it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--output-dir {folder}: the folder cannot be made: {_reason(error)}. Choose another place."
        ) from None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _keep(folder: Path, call: int, outputs: Mapping[str, Any]) -> None:
    """Write the outputs of a call beside the file's place and rename it, so that no half-written file is left.

    Raises UsageError where the system does not let it.
    """
    import numpy as np

    unfinished = folder / f".call_{call}.npz"
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **_arrays(outputs))  # type: ignore[arg-type]  # its keywords are the names of the arrays
        unfinished.replace(folder / f"call_{call}.npz")
    except OSError as error:
        raise UsageError(
            f"--output-dir {folder}: call_{call}.npz cannot be written: {_reason(error)}. Choose another place."
        ) from None
    finally:
        with contextlib.suppress(OSError):  # it is not there, or nothing can be removed there
            unfinished.unlink()


def _print(call: int, outputs: Mapping[str, Any], screen: Screen) -> None:
    for name, output in outputs.items():
        kind = f" {output.dtype}{list(output.shape)}" if hasattr(output, "dtype") else ""
        screen.say(f"call {call}  {name}{kind}\n{output}")


def _summary(results: Sequence[Mapping[str, Any]], screen: Screen) -> None:
    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    rows = [
        [str(result["call"]), told["name"], told["dtype"], shape_text(told["shape"]),
         *(number(told[key]) for key in ("min", "max", "mean")), str(told["not_finite"])]
        for result in results
        for told in result["outputs"]
    ]  # fmt: skip
    headers = ["call", "output", "dtype", "shape", "min", "max", "mean", "not finite"]
    show_table(screen, headers, rows, numbers=["call", "min", "max", "mean", "not finite"])
    for result in results:
        for told in result["outputs"]:
            if "value" in told:
                screen.say(f"call {result['call']}  {told['name']}  {_value_text(told['value'])}")


def _value_text(value: Any) -> str:
    """Return a label, or the five most probable of a dictionary."""
    if not isinstance(value, dict):
        return str(value)
    first = sorted(value.items(), key=lambda item: -item[1])[:5]
    return ", ".join(f"{label} {probability:.6g}" for label, probability in first)


def _timing(seconds: Sequence[float]) -> dict[str, float]:
    """Return the seconds of loading, of the first call and of the median of the later ones."""
    load, first, *later = seconds
    spent = {"load": load, "first_call": first}
    return spent | ({"median_later_call": statistics.median(later)} if later else {})
