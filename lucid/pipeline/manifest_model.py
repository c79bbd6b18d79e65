"""What a manifest holds: one model per part, each key one field with its description.

Writing, reading and the published schema (``docs/manifest.schema.json``) all follow from these fields. What varies from
run to run stands under ``run``; everything else is the same for the same input.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "FORMAT",
    "Call",
    "Feature",
    "Golden",
    "Manifest",
    "Package",
    "Point",
    "Run",
    "Series",
    "Source",
    "StageCost",
    "schema_text",
]

FORMAT: Literal[1] = 1

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="A SHA-256 in hexadecimal.")]
Digests = Annotated[dict[str, Digest], Field(description="SHA-256 by path, with / between folders.")]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class Part(BaseModel):
    """A part of the manifest: no other keys, no NaN or infinity, and nothing changes later."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Feature(Part):
    """An input, output or state of the package."""

    name: str
    """What callers call it."""
    dtype: str
    """Element type."""
    shape: tuple[Count, ...]
    """Sizes of the axes."""


class Package(Part):
    """The package that was written."""

    path: str
    """Name of the `.mlpackage` folder beside the manifest."""
    files: Digests
    tree: Digest
    """SHA-256 over the sorted `digest  path` lines of `files`."""
    size: Count
    """Bytes of all files."""
    operations: Count
    """Operations of the main function."""
    opset: str
    """The MIL opset of the program."""
    deployment_target: str
    """The oldest system that can load the package."""
    inputs: tuple[Feature, ...]
    """What a caller passes, in order."""
    outputs: tuple[Feature, ...]
    """What a caller gets, in order."""
    states: tuple[Feature, ...]
    """What Core ML carries from one prediction to the next."""
    float32: tuple[str, ...]
    """Values of the body that stayed float32 though the precision is float16."""


class Source(Part):
    """What the package was made from."""

    spec: dict[str, Any]
    """The spec with all defaults filled in."""
    spec_sha256: Digest
    """SHA-256 of the spec's bytes."""
    files: Digests
    weights_sha256: Digest | None
    """SHA-256 of the weights file that the spec names, null where it names none."""


class Call(Part):
    """One output on one call, or one state after the last, against the original model."""

    max_abs: float | None
    """Largest absolute error; null where it is not finite."""
    max_rel: float | None
    """Largest relative error; null where it is not finite."""
    snr_db: float | None
    """Signal-to-noise ratio in decibels; null where both are equal or nothing is left of the signal."""
    top1: float | None
    """Share of rows whose largest element is at the same place; null for outputs that rank fewer than 256 classes."""
    nonfinite: Count
    """Places where one of the two is NaN or infinite."""
    fault: str
    """Why the comparison failed; empty where it passed."""


class Series(Part):
    """One output over all calls, or one state after the last."""

    passed: bool
    """Whether every call is within tolerance."""
    atol: Annotated[float, Field(gt=0)]
    """Absolute tolerance."""
    rtol: Annotated[float, Field(gt=0)]
    """Relative tolerance."""
    calls: tuple[Call, ...]
    """What each call came to."""


class Point(Part):
    """One of the other points of the golden check."""

    passed: bool
    """Whether the point holds."""
    detail: str
    """Why it does not; empty where it does."""


class Golden(Part):
    """The golden check: the package read back from disk, against the original model."""

    path: str
    """The file beside the manifest with the inputs and reference outputs of all calls."""
    sha256: Digest
    """SHA-256 of that file."""
    passed: bool
    """Whether every point holds."""
    calls: Count
    """How many calls were compared."""
    engine: str
    """What ran the package."""
    outputs: dict[str, Series]
    """The outputs by name."""
    states: dict[str, Series]
    """The states by name."""
    checks: dict[str, Point]
    """The other points by name."""
    departure: str | None
    """The first operation that leaves the reference, null where none does."""


class StageCost(Part):
    """What one stage of the build cost."""

    seconds: Seconds
    """Wall-clock time."""
    peak_memory: Count
    """Largest memory that the process had held by the end of the stage, in bytes; 0 where the system does not say."""


class Run(Part):
    """What varies from run to run; nothing else in the manifest does."""

    python: str
    """Version of Python."""
    system: str
    """The system it ran on."""
    seconds: Seconds
    """Wall-clock time of all stages."""
    stages: dict[str, StageCost]
    """The stages by name."""


class Manifest(Part):
    """What was built, from what, with what, and how it compares with the original model."""

    manifest: Literal[1]
    """Version of the manifest's format; this is 1."""
    package: Package
    source: Source
    golden: Golden
    tools: dict[str, str | None]
    """Versions of what wrote the package; null for what is not installed."""
    run: Run


def schema_text() -> str:
    """Return the JSON schema of the manifest."""
    schema = Manifest.model_json_schema()
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "A manifest of lucid"}
    return json.dumps(whole, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
