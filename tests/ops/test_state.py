"""Reading and writing a state pass the value through, and nothing else fits."""

from __future__ import annotations

import numpy as np
import pytest

from lucid import ops
from lucid.errors import DTypeError, ShapeError


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
@pytest.mark.parametrize("shape", [(), (4,), (1, 0, 3), (1, 2, 3, 4)])
def test_values_pass_through(shape: tuple[int, ...], dtype: type) -> None:
    old, new = np.zeros(shape, dtype), np.ones(shape, dtype)
    np.testing.assert_array_equal(ops.read_state(new), new, strict=True)
    np.testing.assert_array_equal(ops.write_state(old, new), new, strict=True)
    assert not old.any()


def test_a_state_keeps_its_shape_and_dtype() -> None:
    state = np.zeros((1, 4), np.float16)
    with pytest.raises(ShapeError) as caught:
        ops.write_state(state, np.zeros((3, 4), np.float16))
    assert str(caught.value) == (
        "write_state: data has shape (3, 4), expected (1, 4) = the state's. Write the whole state."
    )
    with pytest.raises(DTypeError) as refused:
        ops.write_state(state, np.zeros((1, 4), np.float32))
    assert str(refused.value) == "write_state: data is float32, expected float16 = the state's. Cast it first."


def test_states_are_not_pure() -> None:
    assert not ops.read_state.pure
    assert not ops.write_state.pure
    assert (ops.read_state.since, ops.write_state.since) == ("iOS18", "iOS18")
