"""A package as plain data: the functions of its program, what callers see of them, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lucid.coreml.elements import Layout
from lucid.coreml.options import DeploymentTarget, Metadata
from lucid.dtypes import DType
from lucid.graph import Function, Value

__all__ = ["Feature", "Interface", "PackagedModel", "describe", "package_of", "shape_text"]

Kind = Literal["array", "image", "dictionary", "string", "int64", "double", "sequence"]


@dataclass(frozen=True)
class Feature:
    """An input, output or state as callers see it.

    ``shape`` is the default shape; it is empty for scalars and for outputs whose shape only a run can tell.
    ``ranges`` holds the lowest and highest size of each axis of a flexible input (highest -1: no bound),
    ``choices`` the shapes of an enumerated one. ``default`` is what an optional input holds everywhere where it is not
    given. An image has a ``layout``, the shape (height, width) and, whatever the program takes, the dtype float32.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    kind: Kind = "array"
    description: str = ""
    ranges: tuple[tuple[int, int], ...] = ()
    choices: tuple[tuple[int, ...], ...] = ()
    is_optional: bool = False
    default: float | None = None
    layout: Layout = ""


@dataclass(frozen=True)
class Interface:
    """The features of one function, in the order of its declaration."""

    inputs: tuple[Feature, ...]
    outputs: tuple[Feature, ...]
    states: tuple[Feature, ...] = ()


@dataclass(frozen=True, eq=False)
class PackagedModel:
    """A package, to be written or as it was read.

    ``functions`` and ``interfaces`` have the same keys; ``main`` is the function that runs unless another is asked
    for. ``path`` is where the package was read from. Constants of a read package are views of its mapped weight file.
    """

    functions: Mapping[str, Function]
    interfaces: Mapping[str, Interface]
    main: str
    specification_version: int
    metadata: Metadata
    path: Path | None = None

    @property
    def function(self) -> Function:
        """The main function."""
        return self.functions[self.main]

    @property
    def inputs(self) -> tuple[Feature, ...]:
        """The inputs of the main function; states are not among them."""
        return self.interfaces[self.main].inputs

    @property
    def outputs(self) -> tuple[Feature, ...]:
        """The outputs of the main function."""
        return self.interfaces[self.main].outputs

    @property
    def states(self) -> tuple[Feature, ...]:
        """The states of the main function."""
        return self.interfaces[self.main].states


def shape_text(feature: Feature) -> str:
    """Return the shapes that an input may have: ``(1, 4)``, ``(1, 2 to 8)``, ``(1, 4) or (1, 7)``."""
    if feature.choices:
        return " or ".join(map(str, feature.choices))
    if not feature.ranges:
        return str(feature.shape)
    sizes = [
        str(lowest) if lowest == highest else f"{lowest} or more" if highest < 0 else f"{lowest} to {highest}"
        for lowest, highest in feature.ranges
    ]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def describe(function: Function) -> Interface:
    """Return the features that follow from a function's signature: fixed shapes, arrays, states as states."""
    return Interface(
        tuple(_feature(value.name, value) for value in function.inputs),
        tuple(_feature(name, value) for name, value in function.outputs.items()),
        tuple(_feature(value.name, value) for value in function.states),
    )


def package_of(function: Function, target: DeploymentTarget, metadata: Metadata | None = None) -> PackagedModel:
    """Return a package with `function` alone, called ``main`` there."""
    return PackagedModel(
        functions={"main": function},
        interfaces={"main": describe(function)},
        main="main",
        specification_version=target.specification_version,
        metadata=metadata or Metadata(),
    )


def _feature(name: str, value: Value) -> Feature:
    known = all(size is not None for size in value.shape)
    return Feature(name, value.dtype, tuple(size for size in value.shape if size is not None) if known else ())
