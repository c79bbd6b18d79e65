"""Every record's samples: literal inputs, literal outputs, on arrays and at half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lucid.ops import Kind, Operation, Sample, registry
from lucid.ops.execution import execute
from lucid.ops.lists import TensorList

CASES = [(record, sample) for record in registry.values() for sample in record.samples]


def array(numbers: Any) -> np.ndarray:
    """Return nested numbers as the array they stand for: float32, int32 or bool."""
    found = np.asarray(numbers)
    narrow = {"f": np.float32, "i": np.int32, "u": np.int32}.get(found.dtype.kind)
    return found if isinstance(numbers, np.ndarray) or narrow is None else found.astype(narrow)


def check(output: Any, expected: Any, check_array: Callable[[Any, Any], None]) -> None:
    """Compare two outputs, of which those of lists, labels and dictionaries are no arrays."""
    if isinstance(expected, TensorList):
        assert (output.length, output.shape, output.dtype) == (expected.length, expected.shape, expected.dtype)
        assert (output.is_dynamic, set(output.items)) == (expected.is_dynamic, set(expected.items))
        for index, item in expected.items.items():
            check_array(output.items[index], item)
    elif isinstance(output, str | int | dict):
        assert output == expected
        assert type(output) is type(expected)
    else:
        check_array(output, expected if isinstance(expected, np.ndarray) else array(expected))


def close(output: Any, expected: Any) -> None:
    assert output.dtype == expected.dtype
    assert output.shape == expected.shape
    np.testing.assert_allclose(output, expected, rtol=2e-6, atol=2e-6)


def call(record: Operation, sample: Sample) -> dict[str, Any]:
    inputs = dict(sample.inputs)
    for name, parameter in record.parameters.items():
        if parameter.kind is Kind.ARRAY and inputs.get(name) is not None:
            inputs[name] = array(inputs[name])
        elif parameter.kind is Kind.ARRAYS:
            inputs[name] = [item if isinstance(item, str) else array(item) for item in inputs[name]]
    return record.bind(**inputs)


@pytest.mark.parametrize(("record", "sample"), CASES, ids=[record.name for record, _ in CASES])
def test_sample(record: Operation, sample: Sample) -> None:
    outputs = execute(record, call(record, sample))
    assert len(outputs) == len(sample.gives)
    for output, expected in zip(outputs, sample.gives, strict=True):
        check(output, expected, close)


@pytest.mark.parametrize(("record", "sample"), CASES, ids=[record.name for record, _ in CASES])
def test_sample_at_half_precision(record: Operation, sample: Sample) -> None:
    """Floating inputs at float16 give the float32 result rounded once (the samples' inputs are exact in float16)."""
    arguments = call(record, sample)

    halves = {name: convert(value, np.float32, np.float16) for name, value in arguments.items()}
    widened = {name: convert(value, np.float16, np.float32) for name, value in halves.items()}
    is_half = any(item.dtype == np.float16 for value in halves.values() for item in arrays(value))
    for output, wide in zip(execute(record, halves), execute(record, widened), strict=True):
        if getattr(wide, "dtype", None) == np.float32 and is_half and not record.typed:
            assert output.dtype == np.float16
            wide = wide.astype(np.float16)
        check(output, wide, np.testing.assert_array_equal)


def arrays(value: Any) -> list[np.ndarray]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, np.ndarray)]


def convert(value: Any, old: type, new: type) -> Any:
    if isinstance(value, list):
        return [convert(item, old, new) for item in value]
    return value.astype(new) if getattr(value, "dtype", None) == old else value
