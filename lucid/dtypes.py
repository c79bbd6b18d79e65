"""Element types: Core ML's (MIL's) own set under the Array API's names, and the one promotion table.

>>> promote(int32, float16)
float16
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lucid.errors import DTypeError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "DType",
    "as_dtype",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "promote",
    "string",
    "uint8",
    "uint16",
    "uint32",
]


@dataclass(frozen=True)
class DType:
    """An element type: `name` as NumPy and PyTorch write it, `mil` as MIL writes it, `bits` per element.

    ``kind`` is one letter: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` floating, ``s`` string.
    """

    name: str
    mil: str
    kind: str
    bits: int

    def __repr__(self) -> str:
        return self.name

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The NumPy dtype of the same name."""
        import numpy as np

        return np.dtype(self.name)

    @property
    def is_floating_point(self) -> bool:
        """Whether this is float16, float32 or float64."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer (bool is not)."""
        return self.kind in "iu"


bool_ = DType("bool", "bool", "b", 8)
int8 = DType("int8", "int8", "i", 8)
int16 = DType("int16", "int16", "i", 16)
int32 = DType("int32", "int32", "i", 32)
uint8 = DType("uint8", "uint8", "u", 8)
uint16 = DType("uint16", "uint16", "u", 16)
uint32 = DType("uint32", "uint32", "u", 32)
float16 = DType("float16", "fp16", "f", 16)
float32 = DType("float32", "fp32", "f", 32)
float64 = DType("float64", "fp64", "f", 64)
string = DType("string", "string", "s", 0)

_ALL = (bool_, int8, int16, int32, uint8, uint16, uint32, float16, float32, float64, string)
_BY_NAME = {name: dtype for dtype in _ALL for name in (dtype.name, dtype.mil)}


def as_dtype(name: object) -> DType:
    """Return the DType for a DType, a NumPy dtype or scalar type, or a name (``"float16"`` or MIL's ``"fp16"``).

    Raises DTypeError for anything else, int64 included: Core ML has no 64-bit integers.
    """
    if isinstance(name, DType):
        return name
    if not isinstance(name, str):
        builtin: dict[object, DType] = {bool: bool_, int: int32, float: float32}
        if isinstance(name, type) and name in builtin:
            return builtin[name]
        name = str(getattr(name, "name", None) or getattr(name, "__name__", name))
    found = _BY_NAME.get(name.removesuffix("_"))
    if found is None:
        known = ", ".join(dtype.name for dtype in _ALL)
        raise DTypeError(f"dtype {name}: not one of Core ML's types. Use one of {known}.")
    return found


@cache
def promote(first: DType, second: DType) -> DType:
    """Return the dtype of an operation between two tensors, by PyTorch's rule.

    The higher kind wins (bool < integer < floating); within a kind the wider type wins, and a signed with an
    unsigned type gives the next wider signed one. Raises DTypeError where Core ML has no such type.
    """
    if first == second:
        return first
    rank = {"b": 0, "u": 1, "i": 1, "f": 2}
    if first.kind not in rank or second.kind not in rank:
        raise DTypeError(f"dtypes {first} and {second} have no common type. Cast one of them first.")
    low, high = sorted((first, second), key=lambda dtype: (rank[dtype.kind], dtype.bits, dtype.kind == "i"))
    if rank[low.kind] != rank[high.kind] or low.kind == high.kind or (high.kind == "i" and high.bits > low.bits):
        return high
    signed = _BY_NAME.get(f"int{2 * max(low.bits, high.bits)}")
    if signed is None:
        raise DTypeError(f"dtypes {first} and {second} have no common type in Core ML. Cast one of them first.")
    return signed
