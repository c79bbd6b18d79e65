"""What lucid notes in a package's metadata, so that the package can be checked against its model later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from lucid.coreml.options import State
from lucid.coreml.packaged import PackagedModel
from lucid.errors import UsageError

__all__ = ["record", "recorded_pairs"]

_OUTPUTS = "com.lucid.outputs"
_STATES = "com.lucid.states"


def record(outputs: Sequence[str], states: Sequence[State]) -> Mapping[str, str]:
    """Return user-defined metadata that names what the model returns, in order, and its state pairs."""
    return {_OUTPUTS: json.dumps(list(outputs)), _STATES: json.dumps({state.input: state.output for state in states})}


def recorded_pairs(model: PackagedModel) -> tuple[list[State], list[str]]:
    """Return the state pairs and the names of what the model returns. Raises UsageError if lucid did not write it."""
    notes = model.metadata.user_defined
    if _OUTPUTS not in notes or _STATES not in notes:
        raise UsageError(
            "the package carries no record of lucid's, so its states cannot be matched with a model's outputs."
        )
    pairs = json.loads(notes[_STATES])
    return [State(each, output) for each, output in pairs.items()], json.loads(notes[_OUTPUTS])
