"""A package at work: predictions, states, and the check against the model it was made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lucid.coreml.fitting import declared, fitted
from lucid.coreml.images import pixels_of
from lucid.coreml.packaged import Feature, PackagedModel
from lucid.coreml.reading import read
from lucid.engines.memory import give_back
from lucid.engines.plan import Observer, Plan
from lucid.errors import PackageError, ShapeError, UsageError
from lucid.tensor import Tensor, from_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lucid.coreml.golden import Verdict

__all__ = ["Package", "StateHandle", "load"]


class StateHandle:
    """The states of one sequence of predictions; independent of every other handle. Begins at zero.

    ``read``, ``write`` and ``reset`` name a state; ``reset()`` without a name resets all.
    """

    def __init__(self, features: Sequence[Feature]) -> None:
        self._features = {feature.name: feature for feature in features}
        self._arrays: MutableMapping[str, NDArray[Any]] = {}
        self.reset()

    @property
    def names(self) -> list[str]:
        """The names of the states."""
        return list(self._features)

    def read(self, name: str) -> NDArray[Any]:
        """Return a copy of a state's value, in the state's dtype."""
        feature = self._feature(name)
        return self._arrays[name].astype(feature.dtype.numpy)

    def write(self, name: str, value: object) -> None:
        """Replace a state's value. Raises ShapeError unless the shape is the state's own."""
        feature = self._feature(name)
        array = np.asarray(value)
        if array.shape != feature.shape:
            raise ShapeError(f"state {name}: the value has shape {array.shape}, the state {feature.shape}.")
        self._arrays[name] = _carried(array.astype(feature.dtype.numpy))

    def reset(self, name: str | None = None) -> None:
        """Set a state, or all of them, to zero."""
        for each in self._features if name is None else (self._feature(name).name,):
            feature = self._features[each]
            self._arrays[each] = _carried(np.zeros(feature.shape, feature.dtype.numpy))

    def _feature(self, name: str) -> Feature:
        if name not in self._features:
            raise UsageError(
                f"state {name}: not a state of this package. It has {', '.join(self._features) or 'none'}."
            )
        return self._features[name]


def _carried(array: NDArray[Any]) -> NDArray[Any]:
    return array.astype(np.float32) if array.dtype == np.float16 else array.copy()


class Package:
    """A Core ML package opened for predictions by lucid's own runtime.

    Use it as a context manager, or call :meth:`close`. A package holds one state of its own, which :meth:`predict`
    advances; :meth:`make_state` gives further, independent ones to :meth:`run`.
    """

    def __init__(self, model: PackagedModel) -> None:
        self._model: PackagedModel | None = model
        self._plan: Plan | None = None
        self._state = StateHandle(model.states)

    # -- what it declares -------------------------------------------------------------------------------------------

    @property
    def model(self) -> PackagedModel:
        """The package as plain data. Raises PackageError once the package is closed."""
        if self._model is None:
            raise PackageError("the package is closed. Load it again with lucid.coreml.load(path).")
        return self._model

    @property
    def path(self) -> Path | None:
        """Where the package was read from."""
        return self.model.path

    @property
    def input_names(self) -> list[str]:
        """The inputs that a caller passes, in order; states are not among them."""
        return [feature.name for feature in self.model.inputs]

    @property
    def output_names(self) -> list[str]:
        """The outputs that a caller gets, in order."""
        return [feature.name for feature in self.model.outputs]

    @property
    def state_names(self) -> list[str]:
        """The states that the package carries from one prediction to the next."""
        return [feature.name for feature in self.model.states]

    @property
    def function_names(self) -> list[str]:
        """The functions of the package; the first is the one that runs."""
        return [self.model.main, *(name for name in self.model.functions if name != self.model.main)]

    def function(self, name: str) -> Package:
        """Return the package opened for its function `name`, with states of its own. Weights are shared.

        Raises UsageError where there is no such function.
        """
        if name not in self.model.functions:
            raise UsageError(f"function {name}: not one of this package. It has {', '.join(self.function_names)}.")
        return Package(replace(self.model, main=name))

    # -- running ----------------------------------------------------------------------------------------------------

    def predict(self, /, *inputs: object, **named: object) -> Tensor | dict[str, Any]:
        """Run one prediction and advance the package's own state.

        Pass the inputs as tensors or arrays in order, as one tuple, as keywords, or as one mapping by name. Returns a
        Tensor, or tensors by name where the package has several outputs; a classifier gives its label as a string or
        whole number, and its probabilities as a dictionary. Optional inputs may be left out; pictures are images of PIL
        or arrays (height, width, 3) in red, green, blue, and so are those that come back. Raises UsageError for missing
        or unknown inputs, ShapeError and DTypeError for inputs that are not as the package declares them.
        """
        outputs = self.run(self._by_name(inputs, named), self._state)
        boxed = {name: from_numpy(each) if isinstance(each, np.ndarray) else each for name, each in outputs.items()}
        return next(iter(boxed.values())) if len(boxed) == 1 else boxed

    def run(self, inputs: Mapping[str, object], state: StateHandle | None = None) -> dict[str, Any]:
        """Run one prediction on arrays by name and return arrays by name (labels and dictionaries as they are).

        `state` is a handle of :meth:`make_state`, advanced in place; without one the prediction starts from zero and
        leaves no trace.
        """
        return self.run_observed(inputs, state, None)

    def run_observed(
        self, inputs: Mapping[str, object], state: StateHandle | None, observe: Observer | None
    ) -> dict[str, Any]:
        """Run one prediction as :meth:`run` does, showing `observe` every value of the program as it is computed."""
        plan = self._compiled()
        arrays = fitted(inputs, self.model.inputs)
        handle = StateHandle(self.model.states) if state is None else state
        outputs = plan.run(arrays, handle._arrays, observe)
        return {feature.name: _given_back(outputs[feature.name], feature) for feature in self.model.outputs}

    def make_state(self) -> StateHandle:
        """Return a new set of states, all zero, for :meth:`run`."""
        return StateHandle(self.model.states)

    def reset_state(self) -> None:
        """Start a fresh sequence: set the package's own states to zero."""
        _ = self.model
        self._state.reset()

    def verify(self, model: Callable[..., Any], example: object, **options: Any) -> Verdict:
        """Check this package against the model it was made from, call by call (see :func:`lucid.coreml.golden.check`).

        `example` is one set of inputs, or a list with one set a call. Raises GoldenError where the two disagree.
        """
        from lucid.coreml.golden import verify_against

        return verify_against(self, model, example, **options)

    def release(self) -> None:
        """Let go of what was prepared to run; the next prediction prepares it again."""
        self._plan = None
        give_back()

    def _compiled(self) -> Plan:
        if self._plan is None:
            self._plan = Plan(self.model.function)
        return self._plan

    def _by_name(self, inputs: tuple[object, ...], named: Mapping[str, object]) -> dict[str, object]:
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            return {**inputs[0], **named}
        if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) and not named:
            inputs = tuple(inputs[0])
        names = self.input_names
        if len(inputs) > len(names):
            raise UsageError(f"inputs: {len(inputs)} are given. The package takes {declared(self.model.inputs)}.")
        given = dict(zip(names, inputs, strict=False))
        twice = [name for name in named if name in given]
        if twice:
            raise UsageError(f"inputs: {twice[0]} is given twice, by position and by name.")
        return {**given, **named}

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the weights and the mapped file; afterwards every use raises PackageError."""
        self._model = None
        self._plan = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._model is None:
            return "<Package, closed>"
        states = f"; states {', '.join(self.state_names)}" if self.state_names else ""
        return f"<Package {self.path}: {', '.join(self.input_names)} -> {', '.join(self.output_names)}{states}>"


def _given_back(value: Any, feature: Feature) -> Any:
    """Return an output as callers know it: an array, but for numbers, labels and dictionaries."""
    if feature.kind == "image":
        return pixels_of(value, feature)
    return {"int64": int, "double": float}.get(feature.kind, lambda same: same)(value)


def load(path: str | Path, function: str | None = None) -> Package:
    """Open a package, whoever made it, to run its main function or the one called `function`.

    Raises PackageError where it is damaged or is no ML Program, UsageError where it has no such function.
    """
    package = Package(read(path))
    return package if function is None else package.function(function)
