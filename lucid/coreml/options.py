"""What a user chooses when a package is made: states, precision, deployment target, compute units, metadata.

Plain data on the standard library alone, so that a spec can be read without numpy or coremltools.
"""

# ruff: noqa: N815 -- the systems' own spelling

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self

from lucid.errors import UsageError

__all__ = ["ComputeUnits", "DeploymentTarget", "Metadata", "Precision", "State", "opset_of"]


class _Choice(Enum):
    """An option with a closed set of names, found by value or name whatever the case."""

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return the member that `text` names (a member, its value or its name). Raises UsageError otherwise."""
        if isinstance(text, cls):
            return text
        if isinstance(text, str):
            wanted = text.replace("-", "_").replace(" ", "").casefold()
            for member in cls:
                if wanted in (str(member.value).casefold(), member.name.casefold()):
                    return member
        known = ", ".join(str(member.value) for member in cls)
        raise UsageError(f"{_words(cls.__name__)} {text!r}: not known. Use one of {known}.")


class Precision(_Choice):
    """The floating-point type in which the body of a program computes and keeps its weights."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"


class ComputeUnits(_Choice):
    """The processors that Core ML may use; other engines ignore it."""

    ALL = "all"
    CPU_ONLY = "cpu_only"
    CPU_AND_GPU = "cpu_and_gpu"
    CPU_AND_NE = "cpu_and_ne"


class DeploymentTarget(_Choice):
    """The oldest system that can load the package. Targets of one year share a specification version and an opset.

    >>> DeploymentTarget.macOS15.opset, DeploymentTarget.macOS15 >= DeploymentTarget.iOS18
    ('CoreML8', True)
    """

    iOS15 = "iOS15"
    iOS16 = "iOS16"
    iOS17 = "iOS17"
    iOS18 = "iOS18"
    macOS12 = "macOS12"
    macOS13 = "macOS13"
    macOS14 = "macOS14"
    macOS15 = "macOS15"
    watchOS8 = "watchOS8"
    watchOS9 = "watchOS9"
    watchOS10 = "watchOS10"
    watchOS11 = "watchOS11"
    tvOS15 = "tvOS15"
    tvOS16 = "tvOS16"
    tvOS17 = "tvOS17"
    tvOS18 = "tvOS18"

    @property
    def specification_version(self) -> int:
        """The version of Core ML's file format: 6 for iOS15 to 9 for iOS18, and their contemporaries."""
        system = self.value.rstrip("0123456789")
        return int(self.value.removeprefix(system)) - _YEARS[system]

    @property
    def opset(self) -> str:
        """The name of the MIL opset, ``CoreML5`` for iOS15 to ``CoreML8`` for iOS18."""
        return opset_of(self.specification_version)

    @property
    def supports_states(self) -> bool:
        """Whether programs may carry states: iOS18, macOS15, watchOS11, tvOS18."""
        return self.specification_version >= 9

    def __lt__(self, other: DeploymentTarget) -> bool:
        return self.specification_version < other.specification_version

    def __le__(self, other: DeploymentTarget) -> bool:
        return self.specification_version <= other.specification_version

    def __gt__(self, other: DeploymentTarget) -> bool:
        return self.specification_version > other.specification_version

    def __ge__(self, other: DeploymentTarget) -> bool:
        return self.specification_version >= other.specification_version


# A system's release number minus the specification version that came with it.
_YEARS = {"iOS": 9, "macOS": 6, "watchOS": 2, "tvOS": 9}


def opset_of(specification_version: int) -> str:
    """Return the name of the MIL opset that belongs to a version of Core ML's file format."""
    return f"CoreML{specification_version - 1}"


@dataclass(frozen=True)
class Metadata:
    """What a package says about itself; shown by Xcode. ``user_defined`` holds further texts under keys of your own."""

    description: str = ""
    author: str = ""
    license: str = ""
    version: str = ""
    user_defined: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """A value Core ML carries from one prediction to the next: an input the model reads, the output that replaces it.

    The caller neither passes it nor gets it back. It begins at zero; the example's values do not become the start.

    >>> import shutil, tempfile
    >>> import lucid, lucid.nn as nn, lucid.coreml as cml
    >>> class Decoder(nn.Module):
    ...     def forward(self, x, cache):
    ...         cache = cache + x            # what this step writes back
    ...         return cache, cache * 2.0
    >>> token, room = lucid.ones(1, 4) * 3.0, tempfile.mkdtemp()
    >>> package = cml.export(
    ...     Decoder().eval(), {"x": token, "cache": lucid.zeros(1, 4)},
    ...     f"{room}/decoder.mlpackage", precision=cml.Precision.FLOAT16,
    ...     state=[cml.State(input="cache", output="output_0")],
    ... )
    >>> package.input_names
    ['x']
    >>> package.predict(token).tolist(), package.predict(token).tolist()
    ([[6.0, 6.0, 6.0, 6.0]], [[12.0, 12.0, 12.0, 12.0]])
    >>> package.reset_state()            # start a fresh sequence
    >>> package.predict(token).tolist()
    [[6.0, 6.0, 6.0, 6.0]]
    >>> package.close()
    >>> shutil.rmtree(room)
    """

    input: str
    output: str


def _words(name: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
