"""The reference: the original model, called with its state carried by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.options import State
from lucid.errors import LoadError, LucidError, PackageError, TraceError
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

    def save(self, path: Path) -> None:
        """Write the reference as ``.npz``: ``call/0/x``, ``output/0/y``, ``state/cache``. Same data, same bytes."""
        arrays = {
            f"call/{index}/{name}": array for index, call in enumerate(self.calls) for name, array in call.items()
        }
        arrays |= {
            f"output/{index}/{name}": array for index, out in enumerate(self.outputs) for name, array in out.items()
        }
        arrays |= {f"state/{name}": array for name, array in self.states.items()}
        with path.open("wb") as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]  # names are data; zip members carry a fixed date

    @classmethod
    def read(cls, path: Path) -> Reference:
        """Read what :meth:`save` wrote. Raises PackageError where the file is missing or damaged."""
        calls: dict[int, dict[str, NDArray[Any]]] = {}
        outputs: dict[int, dict[str, NDArray[Any]]] = {}
        states: dict[str, NDArray[Any]] = {}
        try:
            with np.load(path, allow_pickle=False) as archive:
                for key in archive.files:
                    kind, _, rest = key.partition("/")
                    index, _, name = rest.partition("/")
                    if kind == "state":
                        states[rest] = archive[key]
                    else:
                        {"call": calls, "output": outputs}[kind].setdefault(int(index), {})[name] = archive[key]
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise PackageError(f"not a readable set of golden calls ({error}). Build again.", where=str(path)) from None
        except Exception as error:  # a damaged zip raises errors of its own kinds
            raise PackageError(
                f"not a readable set of golden calls ({error}). Build again.", where=str(path)
            ) from error
        return cls([calls[index] for index in sorted(calls)], [outputs[index] for index in sorted(outputs)], states)


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
    except Exception as error:
        text = f"the model raised {type(error).__name__}: {error}"
        raise TraceError(text, where=f"call {index} of the original model") from error


def _refuse_nan(arrays: Arrays, index: int) -> None:
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise LoadError(
                f"the original model itself gives NaN in {name} at call {index}. Change the example inputs or the "
                "model: nothing can be checked against NaN."
            )
