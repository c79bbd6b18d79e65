"""The reference: the original model, called with its state carried by hand."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.options import State
from lucid.errors import LoadError, LucidError, PackageError, TraceError, told
from lucid.gradmode import no_grad
from lucid.structure import flatten, renamed
from lucid.tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Reference", "refer"]

Arrays = Mapping[str, "NDArray[Any]"]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Reference:
    """What the original model makes of a sequence of calls.

    ``calls`` and ``outputs`` are by name, without the states; ``states`` are the values after the last call, by the
    name of the state (the input's).
    """

    calls: Sequence[Arrays]
    outputs: Sequence[Arrays]
    states: Arrays

    def save(self, target: Path | IO[bytes]) -> None:
        """Write the reference as ``.npz``: ``call/0/x``, ``output/0/y``, ``state/cache``. Same data, same bytes."""
        arrays = {
            f"call/{index}/{name}": array for index, call in enumerate(self.calls) for name, array in call.items()
        }
        arrays |= {
            f"output/{index}/{name}": array for index, out in enumerate(self.outputs) for name, array in out.items()
        }
        arrays |= {f"state/{name}": array for name, array in self.states.items()}
        with target.open("wb") if isinstance(target, Path) else nullcontext(target) as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]  # names are data; zip members carry a fixed date

    @classmethod
    def read(cls, source: Path | IO[bytes]) -> Reference:
        """Read what :meth:`save` wrote: calls and their outputs are numbered from 0 without a gap.

        Raises PackageError where the file is missing or damaged, or holds anything else.
        """
        try:
            with source.open("rb") if isinstance(source, Path) else nullcontext(source) as stream:
                arrays = _arrays(stream)
        except FileNotFoundError:
            raise PackageError("there are no golden calls. Build again.", where=str(source)) from None
        except Exception as error:  # each layer of a damaged archive raises errors of its own kinds
            where = str(source) if isinstance(source, Path) else None
            raise PackageError(f"the golden calls cannot be read: {error}. Build again.", where=where) from error
        kinds: dict[str, dict[int, dict[str, NDArray[Any]]]] = {"call": {}, "output": {}}
        states: dict[str, NDArray[Any]] = {}
        for key, array in arrays.items():
            kind, _, rest = key.partition("/")
            index, _, name = rest.partition("/")
            if kind == "state" and rest:
                states[rest] = array
            elif kind in kinds and index.isdecimal() and len(index) < 10 and name:
                kinds[kind].setdefault(int(index), {})[name] = array
            else:
                raise _unusable(source, f"{key!r} is none of call/0/x, output/0/y and state/z")
        count = len(kinds["call"])
        for kind, found in kinds.items():
            if sorted(found) != list(range(count)) and (kind == "call" or found):
                raise _unusable(source, f"{kind} has the numbers {_shown(found)}, expected 0 to {count - 1}")
        calls, outputs = ([found[index] for index in sorted(found)] for found in kinds.values())
        return cls(calls, outputs, states)


def _arrays(stream: IO[bytes]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an ``.npz``. Raises errors of many kinds for anything else."""
    if not zipfile.is_zipfile(stream):
        raise ValueError("this is not an .npz archive")
    stream.seek(0)
    with np.load(stream, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
            raise ValueError(f"{key!r} is not an array of numbers")
    return arrays


def _unusable(source: object, fault: str) -> PackageError:
    where = str(source) if isinstance(source, Path) else None
    return PackageError(f"the golden calls are not whole: {fault}. Build again.", where=where)


def _shown(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)[:4])) or "of none"


def refer(
    model: Callable[..., Any],
    calls: Sequence[Arrays],
    states: Sequence[State],
    initial: Arrays,
    *,
    outputs: Sequence[str] | None = None,
    advance: Advance | None = None,
) -> Reference:
    """Call the original model once per set of inputs and return what it gives.

    `advance` is told after each call how many are done. `initial` holds an array of each state's shape and dtype; the
    states begin at zero. Raises LoadError where the model fails, or gives NaN: nothing can be checked against that.
    """
    carried = {state.input: np.zeros_like(initial[state.input]) for state in states}
    written = {state.output: state.input for state in states}
    results: list[Arrays] = []
    for index, call in enumerate(calls):
        boxes = {name: from_numpy(array.view()) for name, array in {**call, **carried}.items()}
        named = _call(model, boxes, index, outputs)
        missing = [name for name in written if name not in named]
        if missing:
            raise LoadError(f"state output {missing[0]}: the model returns {', '.join(named)}. Name one of them.")
        carried = {written[name]: named[name]._value for name in written}
        results.append({name: np.asarray(box._value) for name, box in named.items() if name not in written})
        _refuse_nan({**results[-1], **carried}, index)
        if advance is not None:
            advance(index + 1)
    return Reference(list(calls), results, carried)


def _call(
    model: Callable[..., Any], boxes: Mapping[str, Tensor], index: int, outputs: Sequence[str] | None
) -> dict[str, Tensor]:
    try:
        with no_grad():
            return renamed(flatten(model(**boxes)), outputs)
    except LucidError as error:
        raise error.at(f"call {index} of the original model") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit in a model is the model's fault as well
        raise TraceError(f"the model raised {told(error)}", where=f"call {index} of the original model") from error


def _refuse_nan(arrays: Arrays, index: int) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise LoadError(
                f"the original model itself gives NaN in {name} at call {index}. Change the example inputs or the "
                "model: nothing can be checked against NaN."
            )
