"""Element types as the file formats number them: in MIL's protobuf, in weight files, and at the interface of a model.

MIL knows more element types than lucid computes with. They are DTypes too, so that any program can be read: 64-bit
integers (labels of classifiers), types of less than a byte (palettized and quantized weights), lists and dictionaries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lucid.dtypes import (
    DType,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    string,
    uint8,
    uint16,
    uint32,
)
from lucid.errors import UnsupportedError

__all__ = [
    "LAYOUTS",
    "Element",
    "Layout",
    "dictionary_of",
    "element",
    "element_of_array",
    "element_of_blob",
    "element_of_mil",
    "element_of_name",
    "list_of",
    "parts",
    "storage",
]


Layout = Literal["", "grayscale", "rgb", "bgr", "grayscale_float16"]


@dataclass(frozen=True)
class Element:
    """One element type and what each format calls it; None where a format has no such type.

    ``mil`` is its number in MIL's protobuf, ``field`` the protobuf field of its immediate values, ``blob`` its number
    in weight files, ``array`` its number in model interfaces, ``in_files_since`` the first specification version
    whose programs keep it in weight files.
    """

    dtype: DType
    mil: int
    field: str
    blob: int | None = None
    array: int | None = None
    in_files_since: int = 6


_ELEMENTS = (
    Element(bool_, 1, "bools"),
    Element(string, 2, "strings"),
    Element(float16, 10, "bytes", 1, 65552),
    Element(float32, 11, "floats", 2, 65568),
    Element(float64, 12, "doubles", None, 65600),
    Element(int8, 21, "bytes", 4, 131080),
    Element(int16, 22, "ints", 6, None, 9),
    Element(int32, 23, "ints", 14, 131104, 9),
    Element(DType("int64", "int64", "i", 64), 24, "longInts"),
    Element(DType("int4", "int4", "i", 4), 25, "bytes", 8, None, 9),
    Element(uint8, 31, "bytes", 3),
    Element(uint16, 32, "ints", 7, None, 9),
    Element(uint32, 33, "bytes", 15, None, 9),
    Element(DType("uint64", "uint64", "u", 64), 34, "longInts"),
    Element(DType("uint4", "uint4", "u", 4), 35, "bytes", 11, None, 9),
    Element(DType("uint2", "uint2", "u", 2), 36, "bytes", 10, None, 9),
    Element(DType("uint1", "uint1", "u", 1), 37, "bytes", 9, None, 9),
    Element(DType("uint6", "uint6", "u", 6), 38, "bytes", 13, None, 9),
    Element(DType("uint3", "uint3", "u", 3), 39, "bytes", 12, None, 9),
)
LAYOUTS: dict[int, Layout] = {10: "grayscale", 20: "rgb", 30: "bgr", 40: "grayscale_float16"}
"""What model interfaces call the layouts of pixels."""
_BY_DTYPE = {row.dtype: row for row in _ELEMENTS}
_BY_MIL = {row.mil: row for row in _ELEMENTS}
_BY_BLOB = {row.blob: row for row in _ELEMENTS if row.blob is not None}
_BY_ARRAY = {row.array: row for row in _ELEMENTS if row.array is not None}
_BY_NAME = {name: row for row in _ELEMENTS for name in (row.dtype.name, row.dtype.mil)}


def element(dtype: DType) -> Element:
    """Return the row of a dtype. Raises UnsupportedError for lists, dictionaries and types that MIL does not have."""
    row = _BY_DTYPE.get(dtype)
    if row is None:
        raise UnsupportedError(f"dtype {dtype}: a package has no tensors of it. Cast the value first.")
    return row


def element_of_mil(number: int) -> Element | None:
    """Return the element type that MIL's protobuf gives this number, or None."""
    return _BY_MIL.get(number)


def element_of_blob(number: int) -> Element | None:
    """Return the element type that weight files give this number, or None."""
    return _BY_BLOB.get(number)


def element_of_array(number: int) -> Element | None:
    """Return the element type that model interfaces give this number, or None."""
    return _BY_ARRAY.get(number)


def element_of_name(name: str) -> Element | None:
    """Return the element type that NumPy or MIL calls by this name, or None."""
    return _BY_NAME.get(name)


def storage(dtype: DType) -> DType:
    """Return the dtype of the array that holds values of `dtype`: a byte each for the types of less than a byte."""
    if dtype.kind in "iu" and dtype.bits < 8:
        return int8 if dtype.kind == "i" else uint8
    return dtype


def list_of(dtype: DType) -> DType:
    """Return the dtype of a MIL list; the value's shape is the length (None: it varies) and the elements' shape."""
    return DType(f"list[{dtype.name}]", f"list<{dtype.mil}>", "l", 0)


def dictionary_of(key: DType, value: DType) -> DType:
    """Return the dtype of a MIL dictionary, which only classifiers return."""
    return DType(f"dict[{key.name},{value.name}]", f"dict<{key.mil}, {value.mil}>", "d", 0)


def parts(dtype: DType) -> tuple[DType, ...]:
    """Return the element dtype of a list, the key and value dtypes of a dictionary, nothing for a tensor."""
    if dtype.kind not in "ld":
        return ()
    return tuple(_BY_NAME[name].dtype for name in re.findall(r"\w+", dtype.name)[1:])
