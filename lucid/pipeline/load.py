"""Stage 1: the model as its author wrote it, and what it makes of the golden calls."""

from __future__ import annotations

import contextlib
import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.golden.reference import Reference, refer
from lucid.coreml.options import State
from lucid.errors import LoadError, LucidError, told
from lucid.pipeline.calls import make_calls, zeros
from lucid.pipeline.sources import Sources, entry_point, importing, on_stage
from lucid.pipeline.spec import Spec
from lucid.random import manual_seed
from lucid.watching import Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Loaded", "load"]


@dataclass(frozen=True)
class Loaded:
    """The model, its reference outputs, the zero of each state, and digests of the files it came from."""

    model: Callable[..., Any]
    reference: Reference
    initial: Mapping[str, NDArray[Any]]
    sources: Mapping[str, str]
    weights: str | None


def load(spec: Spec, advance: Callable[[int], None] | None = None) -> Loaded:
    """Import the entry point, load the weights and run the golden calls with the original model.

    `advance` is told how many calls are done. Whatever the user's code prints goes to stderr. Raises LoadError where
    any of it fails.
    """
    root = spec.root.absolute()  # the user's code may change the folder
    weights = root / spec.model.weights if spec.model.weights else None
    entry = root / spec.model.source if spec.model.is_file else None
    sources = Sources(entry.parent if entry else root, weights)
    calls, initial = make_calls(spec), zeros(spec)
    extra = [path for path in (entry, weights) if path is not None]
    folders = [entry.parent] if entry else []
    try:
        with on_stage(), importing(*folders, root), _blaming(spec):
            model = _model(spec, root)
            if weights is not None:
                _load_weights(model, weights, spec)
            names = [output.name for output in spec.outputs] or None
            states = [State(state.input, state.output) for state in spec.states]
            watch = Watch(model)
            reference = refer(model, calls, states, initial, outputs=names, advance=advance)
            watch.restore()
            digests = sources.used(*extra)
    finally:
        sources.forget()
    return Loaded(model, reference, initial, digests, None if weights is None else digests[sources.name_of(weights)])


@contextlib.contextmanager
def _blaming(spec: Spec) -> Iterator[None]:
    """Report whatever else the user's code raises (in eval(), in a listing of modules) as the entry point's fault."""
    try:
        yield
    except (LucidError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise LoadError(f"the model raised {told(error)}", where=spec.model.entry) from error


def _model(spec: Spec, root: Path) -> Callable[..., Any]:
    """Return what the entry point gives: a class or function is called, a module is taken as it is, in eval()."""
    manual_seed(spec.model.seed)
    random.seed(spec.model.seed)
    np.random.seed(spec.model.seed % 2**32)  # the user's code may draw from it
    found = entry_point(spec.model, root)
    is_ready = hasattr(found, "forward") and not inspect.isclass(found)
    if not is_ready:
        if not callable(found):
            raise LoadError(f"it is a {type(found).__name__}, not a class, function or module.", where=spec.model.entry)
        try:
            found = found(**spec.model.arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise LoadError(f"calling it raised {told(error)}", where=spec.model.entry) from error
        if inspect.isclass(found):
            raise LoadError(
                f"it gives the class {found.__name__}. Return a model: call the class.", where=spec.model.entry
            )
    if not callable(found):
        raise LoadError(
            f"it gives a {type(found).__name__}. Return a model: a module, or a function of tensors.",
            where=spec.model.entry,
        )
    if hasattr(found, "eval"):
        found.eval()
    return found  # type: ignore[no-any-return]


def _load_weights(model: Any, path: Path, spec: Spec) -> None:
    from lucid.serialization import load as load_tensors

    where = f"model.weights: {spec.model.weights}"
    if not hasattr(model, "load_state_dict"):
        raise LoadError(f"{spec.model.entry} gives a {type(model).__name__}, which takes no weights.", where=where)
    try:
        model.load_state_dict(load_tensors(path))
    except LucidError as error:
        raise LoadError(str(error), where=where) from error
