"""Reading and writing a state: what Core ML carries from one prediction to the next.

Graphs before the writer and after the reader know states as pairs of an input and an output, so these kernels only pass
the value through; which value a state holds at which time is the engine's part.
"""

from __future__ import annotations

from lucid.errors import DTypeError, ShapeError
from lucid.ops.array import Array
from lucid.ops.record import operation, sample

__all__ = ["read_state", "write_state"]


@operation(sample([1.0, 2.0], input=[1.0, 2.0]), sample([[]], input=[[]]), since="iOS18", exact=True, pure=False)
def read_state(input: Array) -> Array:  # noqa: A002 - MIL's name
    """Return the value that the state ``input`` holds. Core ML's states are float16 and of rank 1 to 5."""
    return input[...]


@operation(sample([3.0, 4.0], input=[1.0, 2.0], data=[3.0, 4.0]), since="iOS18", exact=True, pure=False)
def write_state(input: Array, data: Array) -> Array:  # noqa: A002 - MIL's name
    """Put ``data`` into the state ``input`` and return what it holds then: ``data``.

    In a package the operation has no output; what is read afterwards is. ``data`` has the shape and dtype of the state,
    or ShapeError or DTypeError is raised.
    """
    if data.shape != input.shape:
        raise ShapeError(
            f"write_state: data has shape {data.shape}, expected {input.shape} = the state's. Write the whole state."
        )
    if data.dtype != input.dtype:
        raise DTypeError(f"write_state: data is {data.dtype}, expected {input.dtype} = the state's. Cast it first.")
    return data[...]
