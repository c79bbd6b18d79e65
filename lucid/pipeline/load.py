"""Stage 1: the model as its author wrote it, and what it makes of the golden calls."""

from __future__ import annotations

import contextlib
import inspect
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lucid.coreml.golden.reference import Reference, refer
from lucid.coreml.options import State
from lucid.errors import LoadError, LucidError
from lucid.pipeline.calls import make_calls, zeros
from lucid.pipeline.sources import Sources, entry_point, importing
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
    weights = spec.root / spec.model.weights if spec.model.weights else None
    entry = spec.root / spec.model.source if spec.model.is_file else None
    sources = Sources(entry.parent if entry else spec.root, weights)
    extra = [path for path in (entry, weights) if path is not None]
    folders = [entry.parent] if entry else []
    try:
        with importing(*folders, spec.root), contextlib.redirect_stdout(sys.stderr):
            model = _model(spec)
            if weights is not None:
                _load_weights(model, spec)
            names = [output.name for output in spec.outputs] or None
            states = [State(state.input, state.output) for state in spec.states]
            watch = Watch(model)
            reference = refer(model, make_calls(spec), states, zeros(spec), outputs=names, advance=advance)
            watch.restore()
            digests = sources.used(*extra)
    finally:
        sources.forget()
    return Loaded(model, reference, zeros(spec), digests, digests.get(spec.model.weights or ""))


def _model(spec: Spec) -> Callable[..., Any]:
    """Return what the entry point gives: a class or function is called, a module is taken as it is, in eval()."""
    manual_seed(spec.model.seed)
    random.seed(spec.model.seed)
    np.random.seed(spec.model.seed % 2**32)  # the user's code may draw from it
    found = entry_point(spec.model, spec.root)
    is_ready = hasattr(found, "forward") and not inspect.isclass(found)
    if not is_ready:
        if not callable(found):
            raise LoadError(f"it is a {type(found).__name__}, not a class, function or module.", where=spec.model.entry)
        try:
            found = found(**spec.model.arguments)
        except LucidError as error:
            raise LoadError(f"calling it raised {type(error).__name__}: {error}", where=spec.model.entry) from error
        except Exception as error:
            raise LoadError(f"calling it raised {type(error).__name__}: {error}", where=spec.model.entry) from error
    if not callable(found):
        raise LoadError(
            f"it gives a {type(found).__name__}. Return a model: a module, or a function of tensors.",
            where=spec.model.entry,
        )
    if hasattr(found, "eval"):
        found.eval()
    return found  # type: ignore[no-any-return]


def _load_weights(model: Any, spec: Spec) -> None:
    from lucid.serialization import load as load_tensors

    assert spec.model.weights is not None  # noqa: S101  # the caller asks only then
    where = f"model.weights: {spec.model.weights}"
    if not hasattr(model, "load_state_dict"):
        raise LoadError(f"{spec.model.entry} gives a {type(model).__name__}, which takes no weights.", where=where)
    try:
        model.load_state_dict(load_tensors(spec.root / spec.model.weights))
    except LucidError as error:
        raise LoadError(str(error), where=where) from error
