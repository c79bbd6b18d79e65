"""The version of lucid that is installed."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

__all__ = ["version"]


def version() -> str:
    """Return the version of the installed distribution, or ``(not installed)`` for a bare source tree."""
    try:
        return installed("lucid-export")
    except PackageNotFoundError:
        return "(not installed)"
