"""What the commands need from the results of the pipeline and of packages, to render them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

__all__ = ["BuildResult", "Progress", "RunnablePackage", "VerifyResult"]

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``: a stage begins with ``done = 0``; ``total`` is 0 where nobody knows it."""


class BuildResult(Protocol):
    """A built package."""

    @property
    def package(self) -> Path:
        """The ``.mlpackage`` folder."""

    @property
    def size(self) -> int:
        """Bytes of all files of the package."""

    @property
    def sha256(self) -> str:
        """Digest of the package's tree."""

    @property
    def verdict(self) -> str:
        """The golden check in a few words."""

    @property
    def seconds(self) -> float:
        """How long the build took."""

    def as_json(self) -> Mapping[str, Any]:
        """Everything as JSON-able data."""


class VerifyResult(Protocol):
    """A build that agrees with its manifest."""

    @property
    def package(self) -> Path:
        """The ``.mlpackage`` folder."""

    @property
    def checks(self) -> Mapping[str, str]:
        """What was compared, in order, and what came of it in a few words."""

    def as_json(self) -> Mapping[str, Any]:
        """Everything as JSON-able data."""


class RunnablePackage(Protocol):
    """A loaded package."""

    @property
    def state_names(self) -> Sequence[str]:
        """The names of its states."""

    def run(self, inputs: Mapping[str, Any], state: Any = None) -> Mapping[str, Any]:
        """Run the program once."""

    def make_state(self) -> Any:
        """Return a state of its own, at zero."""

    def close(self) -> None:
        """Give back what the package holds."""
