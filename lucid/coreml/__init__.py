"""Core ML packages: write a model as one, open any, run it anywhere, check it against its source."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lucid.coreml.options import ComputeUnits, DeploymentTarget, Metadata, Precision, State

if TYPE_CHECKING:
    from lucid.coreml.exporting import export
    from lucid.coreml.package import Package, StateHandle, load

__all__ = [
    "ComputeUnits",
    "DeploymentTarget",
    "Metadata",
    "Package",
    "Precision",
    "State",
    "StateHandle",
    "export",
    "load",
]

_HOMES = {"Package": "package", "StateHandle": "package", "export": "exporting", "load": "package"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
