"""The weight file of a package: a header, then every blob as 64 bytes about it and its bytes, all aligned to 64.

The layout, little-endian, is that of MIL's blob storage, version 2. Header: count u32, version u32, zeros. Blob: the
sentinel 0xDEADBEEF u32, element type u32, size in bytes u64, where its bytes begin u64, unused bits in the last byte
u64, zeros. The offset by which a program names a blob is that of its 64 bytes.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np

from lucid.coreml.elements import Element, element, element_of_blob
from lucid.dtypes import DType
from lucid.errors import InternalError, PackageError

__all__ = ["WeightFile", "WeightWriter", "digest_of", "pack", "unpack"]

_ALIGNMENT = 64
_VERSION = 2
_SENTINEL = 0xDEADBEEF
_HEADER = struct.Struct("<II56x")
_BLOB = struct.Struct("<IIQQQ32x")
_CHUNK = 1 << 20

Array = np.ndarray[Any, np.dtype[Any]]


class WeightWriter:
    """Writes a weight file, one blob after the other, each distinct content once. Holds no more than a chunk of it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = open(path, "w+b")  # noqa: SIM115 -- closed by close()
        self._file.write(bytes(_HEADER.size))
        self._offsets: dict[tuple[int, bytes], int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def count(self) -> int:
        """The number of blobs written so far."""
        return len(self._offsets)

    def add(self, array: Array, dtype: DType) -> int:
        """Write `array` as `dtype` and return its offset.

        A wider floating array is rounded to `dtype` chunk by chunk; arrays of any strides are written in C order
        without a copy of the whole. Types of less than a byte are given one value a byte and packed. Raises
        InternalError where a finite value has no finite counterpart in `dtype`.
        """
        if dtype.bits < 8:
            return self.add_chunks([pack(array, dtype)], dtype, array.size)
        return self.add_chunks(_chunks(array, dtype.numpy.newbyteorder("<")), dtype, array.size)

    def add_chunks(self, chunks: Iterable[Array], dtype: DType, size: int) -> int:
        """Write the blob of `size` elements whose bytes the chunks hold in turn, and return its offset."""
        row = element(dtype)
        if row.blob is None:
            raise InternalError(f"weights of dtype {dtype} have no place in a weight file.")
        start = self._file.seek(0, os.SEEK_END)
        offset = _aligned(start)
        self._file.write(bytes(offset - start + _BLOB.size))
        digest, length = hashlib.sha256(), 0
        for chunk in chunks:
            data = np.ascontiguousarray(chunk).data.cast("B")
            digest.update(data)
            self._file.write(data)
            length += len(data)
        if length != _length(size, dtype):
            raise InternalError(f"weights of {size} x {dtype} came as {length} bytes, not {_length(size, dtype)}.")
        found = self._offsets.setdefault((row.blob, digest.digest() + bytes([_padding(size, dtype)])), offset)
        if found != offset:
            self._file.truncate(start)
            return found
        self._file.seek(offset)
        self._file.write(_BLOB.pack(_SENTINEL, row.blob, length, offset + _BLOB.size, _padding(size, dtype)))
        return offset

    def close(self) -> None:
        """Write the header and close the file."""
        self._file.seek(0)
        self._file.write(_HEADER.pack(self.count, _VERSION))
        self._file.close()


class WeightFile:
    """A weight file, mapped into memory: arrays are read-only views of it, and keep it mapped for as long as they live.

    Raises PackageError, here and in :meth:`read`, where the file is not what it should be; nothing outside is read.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self._name = name or os.path.basename(path)
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if size < _HEADER.size:
                    raise self._damage(f"it has {size} bytes, a weight file at least {_HEADER.size}")
                self._data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._damage(f"it cannot be read: {error.strerror}") from error
        self._size = size
        _, version = _HEADER.unpack_from(self._data, 0)
        if version != _VERSION:
            raise self._damage(f"its version is {version}, not {_VERSION}")

    def read(self, offset: int, dtype: DType, shape: tuple[int, ...]) -> Array:
        """Return the blob at `offset`, which must hold elements of `dtype` in `shape`.

        A view of the file, but for types of less than a byte, which are unpacked to one value a byte.
        """
        row, start, length, padding = self._blob(offset)
        if row.dtype != dtype:
            raise self._damage(f"the blob at {offset} holds {row.dtype}, the program expects {dtype}")
        size = math.prod(shape)
        if length != _length(size, dtype) or padding != _padding(size, dtype):
            raise self._damage(
                f"the blob at {offset} has {length} bytes with {padding} bits unused, "
                f"the program expects {_length(size, dtype)} bytes for {size} x {dtype}"
            )
        if dtype.bits < 8:
            return unpack(np.frombuffer(self._data, np.uint8, length, start), dtype, size).reshape(shape)
        return np.frombuffer(self._data, dtype.numpy.newbyteorder("<"), size, start).reshape(shape)

    def _blob(self, offset: int) -> tuple[Element, int, int, int]:
        if offset < _HEADER.size or offset % _ALIGNMENT or offset + _BLOB.size > self._size:
            raise self._damage(f"no blob can begin at {offset} of its {self._size} bytes")
        sentinel, number, length, start, padding = _BLOB.unpack_from(self._data, offset)
        if sentinel != _SENTINEL:
            raise self._damage(f"there is no blob at {offset}: found {sentinel:#x}, expected {_SENTINEL:#x}")
        row = element_of_blob(number)
        if row is None:
            raise self._damage(f"the blob at {offset} has the unknown element type {number}")
        if start % _ALIGNMENT or start < _HEADER.size or start + length > self._size:
            raise self._damage(
                f"the blob at {offset} should lie at {start} to {start + length} of the file's {self._size} bytes"
            )
        return row, start, length, padding

    def _damage(self, what: str) -> PackageError:
        return PackageError(f"the weight file is damaged: {what}. Build or fetch the package again.", where=self._name)


def pack(values: Array, dtype: DType) -> Array:
    """Return values of a type of less than a byte as bytes, lowest bits first: uint8 of shape (bytes,)."""
    narrow = values.reshape(-1).astype(np.uint8, casting="unsafe")
    bits = np.unpackbits(narrow[:, None], axis=1, count=dtype.bits, bitorder="little")
    return np.packbits(bits.reshape(-1), bitorder="little")


def unpack(data: Array, dtype: DType, size: int) -> Array:
    """Return `size` values of a type of less than a byte from their bytes: int8 or uint8 of shape (size,)."""
    bits = np.unpackbits(data, count=size * dtype.bits, bitorder="little").reshape(size, dtype.bits)
    values = np.packbits(bits, axis=1, bitorder="little").reshape(-1)
    if dtype.kind == "u":
        return values
    shift = np.int8(8 - dtype.bits)
    return (values.view(np.int8) << shift) >> shift


def digest_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _chunks(array: Array, dtype: np.dtype[Any]) -> Iterator[Array]:
    if array.flags.c_contiguous:
        flat = array.reshape(-1)
        pieces: Iterable[Array] = (flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK))
    else:
        flags: Any = ["external_loop", "buffered", "zerosize_ok"]
        pieces = np.nditer(array, flags=flags, order="C", buffersize=_CHUNK)  # type: ignore[assignment]
    for piece in pieces:
        if piece.dtype == dtype:
            yield piece
            continue
        try:
            with np.errstate(over="raise"):
                yield piece.astype(dtype, casting="same_kind")
        except (FloatingPointError, TypeError) as error:
            raise InternalError(f"weights of {array.dtype} cannot be stored as {dtype.name}: {error}.") from error


def _length(size: int, dtype: DType) -> int:
    return -(-size * dtype.bits // 8)


def _padding(size: int, dtype: DType) -> int:
    return -size * dtype.bits % 8


def _aligned(position: int) -> int:
    return -(-position // _ALIGNMENT) * _ALIGNMENT
