"""The records' inputs, defaults and first opsets against coremltools' own definitions of MIL."""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lucid.ops import registry

OUTSIDE_MIL = {"write_state"}  # in coremltools a dialect of its own
# MIL's default is "int32" only where the places are asked for.
NONE_STANDS_FOR = {("topk", "output_indices_dtype"): "int32"}


@pytest.fixture(scope="module")
def definitions() -> dict[str, dict[str, Any]]:
    """Return the versions of each operation by opset, oldest first."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from coremltools.converters.mil.mil.ops import defs  # noqa: F401
            from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry
    finally:
        logging.disable(logging.NOTSET)
    return {
        name: {opset.name.replace("iOS13", "iOS15"): found for opset, found in sorted(versions.items(), key=by_opset)}
        for name, versions in SSAOpRegistry.core_ops.items()
    }


def by_opset(item: tuple[Any, Any]) -> int:
    return int(item[0].value)


@pytest.mark.parametrize("name", sorted(set(registry) - OUTSIDE_MIL))
def test_record_is_mils(name: str, definitions: dict[str, dict[str, Any]]) -> None:
    record, versions = registry[name], definitions[name]
    assert record.since == next(iter(versions))

    latest = list(versions.values())[-1]
    inputs = latest.input_spec.input_types
    assert set(record.parameters) == set(inputs)
    defaults = mil_defaults(latest)
    for key, parameter in record.parameters.items():
        assert parameter.required is not inputs[key].optional, key
        if parameter.required:
            continue
        given = NONE_STANDS_FOR.get((name, key)) if (name, key) in NONE_STANDS_FOR else parameter.default
        expected = defaults.get(key)
        if given is None:  # or what MIL makes of the rank
            assert expected is None or np.ndim(list(expected)) == 1, key
        elif isinstance(expected, float | np.floating):
            assert np.float32(given) == np.float32(expected), key
        else:
            assert given == expected, key


def mil_defaults(definition: Any) -> dict[str, Any]:
    """Return the defaults that a definition gives to its inputs, for float32 tensors of rank 4."""
    from coremltools.converters.mil.mil import types

    tensor = SimpleNamespace(dtype=types.fp32, rank=4, shape=(1, 1, 1, 1))
    made = object.__new__(definition)
    for name, kind in definition.input_spec.input_types.items():
        setattr(made, name, None if kind.optional else tensor)
    return dict(made.default_inputs().items())
