"""What all tables of a spec share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Table"]


class Table(BaseModel):
    """A table: unknown keys, other types, NaN and infinity are refused, and nothing changes later."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        defer_build=True,  # only the whole spec needs a validator; one per table would cost a third of its import
    )
