"""The tables of a spec, one model per table; each key is one field with its description and its default.

Reference, JSON schema and messages are derived from these fields, so that a key is added in this file alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from lucid.pipeline.spec_base import Table
from lucid.pipeline.spec_names import entry_point, file_name, folder_path, interface_name, safetensors_path
from lucid.pipeline.spec_values import Values
from lucid.tolerance import DEFAULTS, STATEFUL_FLOAT32

__all__ = [
    "TARGETS",
    "Build",
    "ComputeUnits",
    "DeploymentTarget",
    "Golden",
    "Input",
    "Lowering",
    "Model",
    "Output",
    "Package",
    "State",
]

DeploymentTarget = Literal[
    "iOS15", "iOS16", "iOS17", "iOS18", "macOS12", "macOS13", "macOS14", "macOS15",
    "watchOS8", "watchOS9", "watchOS10", "watchOS11", "tvOS15", "tvOS16", "tvOS17", "tvOS18",
]  # fmt: skip
ComputeUnits = Literal["all", "cpu_only", "cpu_and_gpu", "cpu_and_ne"]

TARGETS: dict[str, str] = {
    f"{system}{first + step}": f"iOS{15 + step}"
    for system, first in (("iOS", 15), ("macOS", 12), ("watchOS", 8), ("tvOS", 15))
    for step in range(4)
}
"""The iOS release of the same year for each deployment target: they share an opset."""

_UNSET = ", ".join(f"{value:g} at {precision}" for precision, value in DEFAULTS.items())
_UNSET += f" ({STATEFUL_FLOAT32:g} with states)"

InterfaceName = Annotated[str, AfterValidator(interface_name)]
Positive = Annotated[float, Field(gt=0)]


class Package(Table):
    """What the package is called and what it says about itself."""

    name: Annotated[str, AfterValidator(file_name)] = Field(
        description="Name of the package, `<name>.mlpackage`, and of its build folder.", examples=["decoder"]
    )
    description: str = Field(default="", description="What the model does, in a sentence; Xcode shows it.")
    author: str = Field(default="", description="Who made the model.")
    license: str = Field(default="", description="The terms it may be used under.", examples=["MIT"])
    version: str = Field(default="", description="Version of the model, as text.", examples=["1.0"])


class Model(Table):
    """Where the model comes from."""

    entry: Annotated[str, AfterValidator(entry_point)] = Field(
        description="What gives the model: `package.module:attribute`, or `file.py:attribute` with the file relative "
        "to the spec. A class or function is called with `arguments`; a module is taken as it is.",
        examples=["decoder.py:Decoder"],
    )
    arguments: dict[str, Any] = Field(default={}, description="Keyword arguments for the call of the entry.")
    seed: int = Field(
        default=0,
        ge=0,
        lt=2**63,
        description="Seed of the random generators when the entry is called: same seed, same weights.",
    )
    weights: Annotated[str, AfterValidator(safetensors_path)] | None = Field(
        default=None, description="A `.safetensors` file, relative to the spec, that is loaded into the model.",
        examples=["decoder.safetensors"],
    )  # fmt: skip

    @property
    def source(self) -> str:
        """The part of `entry` before the colon: a file or a module."""
        return self.entry.rpartition(":")[0]

    @property
    def attribute(self) -> str:
        """The part of `entry` after the colon, dotted for a member of a member."""
        return self.entry.rpartition(":")[2]

    @property
    def is_file(self) -> bool:
        """Whether `source` is a file rather than a module."""
        return self.source.endswith(".py")


class Input(Table):
    """One argument of the model, in any order: the name is the argument's name."""

    name: InterfaceName = Field(description="Name of the model's argument, and of the package's input.", examples=["x"])
    shape: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        max_length=5, description="Sizes of the axes, at most five; `[]` is a scalar.", examples=[[1, 4]]
    )
    dtype: Literal["float32", "float16", "int32", "bool"] = Field(default="float32", description="Element type.")
    values: Values | None = Field(
        default=None,
        description="How the values of each golden call are made; see below. Required unless the input is a state's, "
        "which begins at zero.",
        examples=["ones"],
    )


class Output(Table):
    """One result of the model, in the order in which the model returns them."""

    name: InterfaceName = Field(description="Name of the package's output.", examples=["logits"])
    atol: Positive | None = Field(
        default=None, description="Absolute tolerance of this output; otherwise `golden.atol`."
    )
    rtol: Positive | None = Field(
        default=None, description="Relative tolerance of this output; otherwise `golden.rtol`."
    )


class State(Table):
    """A value that Core ML carries from one prediction to the next."""

    input: str = Field(description="The input that reads the state.", examples=["cache"])
    output: str = Field(description="The output that is written back to it.", examples=["output_0"])


class Lowering(Table):
    """How the model is lowered to Core ML."""

    precision: Literal["float16", "float32"] = Field(
        default="float16", description="Precision of weights and arithmetic."
    )
    interface: Literal["float16"] | None = Field(
        default=None, description="Element type of the floating inputs and outputs; unset, they keep the model's own."
    )
    float32: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="Values or modules that stay in float32, as glob patterns of their paths.",
        examples=[["layers.*.norm"]],
    )  # fmt: skip
    deployment_target: DeploymentTarget = Field(
        default="iOS18", description="The oldest system that must run the package; targets of one year share an opset."
    )
    compute_units: ComputeUnits = Field(default="all", description="What Core ML may run the package on.")

    @property
    def ios(self) -> int:
        """The iOS release that goes with `deployment_target`: macOS15 gives 18."""
        return int(TARGETS[self.deployment_target][3:])


class Golden(Table):
    """The check of the written package against the original model."""

    calls: int = Field(
        default=8,
        ge=1,
        le=1_000_000,
        description="How many calls are compared, one after the other; at least 3 with states.",
    )
    seed: int = Field(default=0, ge=0, lt=2**63, description="Seed of the random values of the inputs.")
    atol: Positive | None = Field(default=None, description=f"Absolute tolerance of all outputs; unset, {_UNSET}.")
    rtol: Positive | None = Field(default=None, description=f"Relative tolerance of all outputs; unset, {_UNSET}.")


class Build(Table):
    """Where the results go."""

    directory: Annotated[str, Field(min_length=1), AfterValidator(folder_path)] | None = Field(
        default=None,
        description="Folder for the results, relative to the current folder; unset, `build/<package.name>`.",
    )
