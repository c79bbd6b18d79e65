"""The records' inputs, defaults and first opsets against coremltools' own definitions of MIL."""

from __future__ import annotations

import logging
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lucid.ops import registry
from lucid.ops.record import OPSETS

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
    inputs = inputs_of(latest)
    assert set(record.parameters) - set(record.until) == set(inputs)
    assert record.until == mil_removals(versions)
    defaults = mil_defaults(latest)
    for key, parameter in record.parameters.items():
        if key in record.until:
            assert parameter.default is None, key
            continue
        if record.until and key in record.later and not inputs[key].optional:  # the older form does without
            assert parameter.default is None, key
            continue
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


@pytest.mark.parametrize("name", sorted(set(registry) - OUTSIDE_MIL))
def test_additions_are_mils(name: str, definitions: dict[str, dict[str, Any]]) -> None:
    recorded = {key: opset for key, opset in registry[name].later.items() if "=" not in key}
    assert recorded == mil_additions(definitions[name])


def inputs_of(definition: Any) -> dict[str, Any]:
    """Return the inputs of a definition; ``_existing_blocks`` is there for coremltools' own use."""
    found = definition.input_spec.input_types
    return {name: kind for name, kind in found.items() if name != "_existing_blocks"}


def mil_additions(versions: dict[str, Any]) -> dict[str, str]:
    """Return what later versions of an operation added to the first, under the keys of ``Operation.later``."""
    first, *_ = versions
    added: dict[str, str] = {}
    for name in inputs_of(list(versions.values())[-1]):
        having = {opset: each for opset, each in versions.items() if name in inputs_of(each)}
        start, *_ = having
        if start != first:
            added[name] = start
        facets = {opset: facets_of(each, name) for opset, each in having.items()}
        for facet in ("dtype", "variable", "integers", "bytes", "bool", "half"):
            since = next((opset for opset, found in facets.items() if facet in found), start)
            if since != start:
                added[f"{name}:{facet}"] = since
        if added.get(f"{name}:bytes") == added.get(f"{name}:integers"):
            added.pop(f"{name}:bytes", None)
    return added


def mil_removals(versions: dict[str, Any]) -> dict[str, str]:
    """Return the inputs that the latest version of an operation lacks, each with the last opset that has it."""
    latest = set(inputs_of(list(versions.values())[-1]))
    removed: dict[str, str] = {}
    for opset in OPSETS:
        current = [each for start, each in versions.items() if start <= opset]
        if current:
            removed |= dict.fromkeys(set(inputs_of(current[-1])) - latest, opset)
    return removed


def facets_of(definition: Any, name: str) -> set[str]:
    """Return what a definition lets an input be."""
    from coremltools.converters.mil.mil import types

    kind = definition.input_spec.input_types[name]
    if type(kind).__name__ != "TensorInputType":
        return set()
    symbol = getattr(kind, "type_domain_id", None)
    domain = definition.type_domains[symbol] if symbol else kind.type_domain
    domain = set(domain) if isinstance(domain, tuple | list | set | frozenset) else {domain}
    found = {
        "dtype": symbol != "T",
        "variable": not kind.const,
        "integers": domain & {types.int8, types.uint8, types.int16, types.uint16},
        "bytes": domain & {types.int8, types.uint8},
        "bool": types.bool in domain,
        "half": types.fp16 in domain,
    }
    return {facet for facet, holds in found.items() if holds}


def test_same_lower_is_of_ios16() -> None:
    """The one value of an attribute that came later, which the definitions refuse in code."""
    import coremltools as ct
    from coremltools.converters.mil.mil import Builder as mb  # noqa: N813

    def pooling(name: str) -> Any:
        return lambda x: getattr(mb, name)(x=x, kernel_sizes=[2, 2], pad_type="same_lower")

    weight = np.ones((1, 1, 2, 2), np.float32)
    apply = {name: pooling(name) for name in ("avg_pool", "l2_pool", "max_pool")}
    apply["conv"] = lambda x: mb.conv(x=x, weight=weight, pad_type="same_lower")
    recorded = {name: record.later for name, record in registry.items() if any("=" in key for key in record.later)}
    assert {name: later["pad_type=same_lower"] for name, later in recorded.items()} == dict.fromkeys(apply, "iOS16")
    for call in apply.values():
        program = mb.program([mb.TensorSpec((1, 1, 4, 4))], opset_version=ct.target.iOS16)(call)
        assert len(program.functions["main"].outputs) == 1
        with pytest.raises(ValueError, match="same_lower"):
            mb.program([mb.TensorSpec((1, 1, 4, 4))], opset_version=ct.target.iOS15)(call)


def mil_defaults(definition: Any) -> dict[str, Any]:
    """Return the defaults that a definition gives to its inputs, for float32 tensors of rank 4."""
    from coremltools.converters.mil.mil import types

    tensor = SimpleNamespace(dtype=types.fp32, rank=4, shape=(1, 1, 1, 1))
    made = object.__new__(definition)
    for name, kind in definition.input_spec.input_types.items():
        setattr(made, name, None if kind.optional else tensor)
    return dict(made.default_inputs().items())
