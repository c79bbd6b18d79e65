"""The weight file: equal to what coremltools' own library reads and writes, and safe to read when damaged."""

from __future__ import annotations

import hashlib
import struct
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hand_made import weight_library

from lucid.coreml.blobs import WeightFile, WeightWriter, digest_of, pack, unpack
from lucid.coreml.elements import element_of_name
from lucid.dtypes import DType, as_dtype, float16, float32, int8, int32, uint8
from lucid.errors import InternalError, PackageError

_WHOLE = ("float16", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32")
_PARTS = ("int4", "uint1", "uint2", "uint3", "uint4", "uint6")


def _dtype(name: str) -> DType:
    row = element_of_name(name)
    assert row is not None
    return row.dtype


def _values(dtype: DType, size: int = 13) -> np.ndarray:
    if dtype.kind == "f":
        return np.linspace(-3, 3, size).astype(dtype.numpy)
    low = -(2 ** (dtype.bits - 1)) if dtype.kind == "i" else 0
    high = low + 2**dtype.bits
    numbers = np.random.default_rng(size).integers(low, high, size)
    numbers[:2] = low, high - 1
    return numbers.astype(dtype.name if dtype.bits >= 8 else ("int8" if dtype.kind == "i" else "uint8"))


def _theirs(dtype: DType) -> str:
    return {"float16": "fp16", "float32": "float"}.get(dtype.name, dtype.name)


@pytest.mark.parametrize("name", _WHOLE + _PARTS)
def test_coremltools_reads_what_lucid_writes(tmp_path: Path, name: str) -> None:
    dtype = _dtype(name)
    first, second = _values(dtype), _values(dtype, 66)
    with WeightWriter(tmp_path / "w.bin") as writer:
        offsets = [writer.add(values, dtype) for values in (first, second)]
        writer.close()
    reader = weight_library()._BlobStorageReader(str(tmp_path / "w.bin"))
    for offset, values in zip(offsets, (first, second), strict=True):
        read = getattr(reader, f"read_{_theirs(dtype)}_data")(offset)
        np.testing.assert_array_equal(read.view(values.dtype), values)


@pytest.mark.parametrize("name", _WHOLE + _PARTS)
def test_lucid_reads_what_coremltools_writes(tmp_path: Path, name: str) -> None:
    dtype = _dtype(name)
    values = _values(dtype, 14).reshape(2, 7)
    writer = weight_library()._BlobStorageWriter(str(tmp_path / "w.bin"))
    raw = values.reshape(-1).view(np.uint16) if dtype == float16 else values.reshape(-1)
    offset = getattr(writer, f"write_{_theirs(dtype)}_data")(np.ascontiguousarray(raw))
    del writer
    read = WeightFile(tmp_path / "w.bin").read(offset, dtype, (2, 7))
    assert read.dtype == values.dtype
    np.testing.assert_array_equal(read, values)


def test_both_write_the_same_bytes(tmp_path: Path) -> None:
    arrays = [(_values(_dtype(name), size), _dtype(name)) for size in (13, 64) for name in _WHOLE]
    with WeightWriter(tmp_path / "ours.bin") as ours:
        for values, dtype in arrays:
            ours.add(values, dtype)
        ours.close()
    theirs = weight_library()._BlobStorageWriter(str(tmp_path / "theirs.bin"))
    for values, dtype in arrays:
        raw = values.view(np.uint16) if dtype == float16 else values
        getattr(theirs, f"write_{_theirs(dtype)}_data")(raw)
    del theirs
    assert (tmp_path / "ours.bin").read_bytes() == (tmp_path / "theirs.bin").read_bytes()


def test_layout_of_one_blob(tmp_path: Path) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        assert writer.add(np.array([1, 2, 3], np.uint8), uint8) == 64
        writer.close()
    data = (tmp_path / "w.bin").read_bytes()
    assert data[:8] == struct.pack("<II", 1, 2)
    assert data[64:96] == struct.pack("<IIQQQ", 0xDEADBEEF, 3, 3, 128, 0)
    assert data[128:] == b"\1\2\3"
    assert digest_of(tmp_path / "w.bin") == hashlib.sha256(data).hexdigest()


def test_bits_are_packed_lowest_first() -> None:
    assert pack(np.array([1, 2, 15], np.uint8), _dtype("uint4")).tolist() == [0x21, 0x0F]
    assert pack(np.array([-1, -8, 7], np.int8), _dtype("int4")).tolist() == [0x8F, 0x07]
    assert unpack(np.array([0x8F, 0x07], np.uint8), _dtype("int4"), 3).tolist() == [-1, -8, 7]
    assert unpack(np.array([0b10101001], np.uint8), _dtype("uint3"), 2).tolist() == [1, 5]


def test_equal_contents_are_stored_once(tmp_path: Path) -> None:
    same = np.ones(1000, np.float32)
    with WeightWriter(tmp_path / "w.bin") as writer:
        first = writer.add(same, float32)
        other = writer.add(np.zeros(1000, np.float32), float32)
        assert writer.add(same.copy(), float32) == first
        assert writer.add(same.view(np.int32), int32) not in (first, other)
        assert writer.count == 3
        writer.close()
    assert (tmp_path / "w.bin").stat().st_size == 64 + 3 * 64 + 2 * 4032 + 4000


def test_blobs_of_other_lengths_in_one_byte_are_different(tmp_path: Path) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        three = writer.add(np.array([0, 0, 0], np.uint8), _dtype("uint2"))
        four = writer.add(np.array([0, 0, 0, 0], np.uint8), _dtype("uint2"))
        writer.close()
    assert three != four
    assert WeightFile(tmp_path / "w.bin").read(three, _dtype("uint2"), (3,)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "view",
    [lambda a: a.T, lambda a: a[::2, ::-1], lambda a: np.broadcast_to(a[0], (7, 300)), lambda a: a.astype(">f4")],
    ids=["transposed", "strided", "broadcast", "big-endian"],
)
def test_arrays_of_any_strides_are_written_in_order(tmp_path: Path, view: Callable[[np.ndarray], np.ndarray]) -> None:
    values = view(np.arange(60000, dtype=np.float32).reshape(200, 300))
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add(values, float32)
        writer.close()
    np.testing.assert_array_equal(WeightFile(tmp_path / "w.bin").read(offset, float32, values.shape), values)


def test_float32_is_rounded_to_float16_while_it_is_written(tmp_path: Path) -> None:
    values = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65504, np.inf, -np.inf, 1e-8], np.float32)
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add(values, float16)
        writer.close()
    read = WeightFile(tmp_path / "w.bin").read(offset, float16, (6,))
    assert read.tolist() == [1.0, 1 + 2**-9, 65504, np.inf, -np.inf, 0.0]


@pytest.mark.parametrize("value", [65520.0, -1e9, float(np.finfo(np.float32).min)])
def test_finite_weight_that_would_become_infinite_is_refused(tmp_path: Path, value: float) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer, pytest.raises(InternalError, match="float32 cannot be stored as"):
        writer.add(np.array([1.0, value], np.float32), float16)


def test_weights_may_come_in_chunks(tmp_path: Path) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add_chunks((np.full(5, number, np.int8) for number in range(4)), int8, 20)
        with pytest.raises(InternalError, match=r"weights of 3 x int8 came as 2 bytes, not 3\."):
            writer.add_chunks([np.zeros(2, np.int8)], int8, 3)
        writer.close()
    read = WeightFile(tmp_path / "w.bin").read(offset, int8, (4, 5))
    assert read.tolist() == [[number] * 5 for number in range(4)]


def test_writer_holds_no_copy_of_a_weight(tmp_path: Path) -> None:
    values = np.ones((4096, 4096), np.float32)
    tracemalloc.start()
    with WeightWriter(tmp_path / "w.bin") as writer:
        writer.add(values, float16)
        writer.close()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes / 8


def test_reader_maps_the_file(tmp_path: Path) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add(np.ones(1 << 22, np.float32), float32)
        writer.close()
    tracemalloc.start()
    read = WeightFile(tmp_path / "w.bin").read(offset, float32, (1 << 22,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 16
    assert not read.flags.writeable
    assert read[-1] == 1.0


def _damaged(change: Callable[[bytearray], object]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)

    return damage


def _pack_into(offset: int, form: str, value: int) -> Callable[[Path], None]:
    return _damaged(lambda data: struct.pack_into(form, data, offset, value))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(b""), "it has 0 bytes, a weight file at least 64"),
        (lambda path: path.write_bytes(b"\0" * 63), "it has 63 bytes"),
        (lambda path: path.unlink(), "it cannot be read: No such file or directory"),
        (_pack_into(4, "<I", 1), "its version is 1, not 2"),
        (_pack_into(64, "<I", 0xDEADBEEE), "there is no blob at 64: found 0xdeadbeee"),
        (_pack_into(68, "<I", 99), "the blob at 64 has the unknown element type 99"),
        (_pack_into(68, "<I", 1), "the blob at 64 holds float16, the program expects float32"),
        (_pack_into(72, "<Q", 36), "the blob at 64 has 36 bytes with 0 bits unused"),
        (_pack_into(72, "<Q", 2**63), "the blob at 64 should lie at 128"),
        (_pack_into(80, "<Q", 130), "the blob at 64 should lie at 130"),
        (_pack_into(80, "<Q", 0), "the blob at 64 should lie at 0"),
        (_pack_into(80, "<Q", 2**40), "the blob at 64 should lie at 1099511627776"),
        (_pack_into(88, "<Q", 3), "with 3 bits unused"),
        (_damaged(lambda data: data.__delitem__(slice(-1, None))), "the blob at 64 should lie at 128 to 168"),
        (_damaged(lambda data: data.__delitem__(slice(100, None))), "no blob can begin at 64 of its 100 bytes"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "w.bin"
    with WeightWriter(path) as writer:
        writer.add(np.arange(10, dtype=np.float32), float32)
        writer.close()
    damage(path)
    with pytest.raises(PackageError) as caught:
        WeightFile(path).read(64, float32, (10,))
    assert message in str(caught.value)
    assert str(caught.value).startswith("w.bin: the weight file is damaged: ")


@pytest.mark.parametrize("offset", [0, 1, 63, 65, 128, 192, 2**70, -64])
def test_no_other_place_is_a_blob(tmp_path: Path, offset: int) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        writer.add(np.arange(10, dtype=np.float32), float32)
        writer.close()
    with pytest.raises(PackageError, match="no blob"):
        WeightFile(tmp_path / "w.bin").read(offset, float32, (10,))


@pytest.mark.parametrize("shape", [(9,), (11,), (2**60,), ()])
def test_shape_must_fit(tmp_path: Path, shape: tuple[int, ...]) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add(np.arange(10, dtype=np.float32), float32)
        writer.close()
    with pytest.raises(PackageError, match="the program expects"):
        WeightFile(tmp_path / "w.bin").read(offset, float32, shape)


@pytest.mark.parametrize("dtype", [as_dtype("bool"), as_dtype("float64"), as_dtype("string")])
def test_dtypes_without_a_place_in_the_file_are_refused(tmp_path: Path, dtype: DType) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer, pytest.raises(InternalError, match="no place in a weight file"):
        writer.add_chunks([], dtype, 0)


@pytest.mark.skipif(sys.byteorder != "little", reason="views of the file have the file's byte order")
def test_views_have_the_native_dtype(tmp_path: Path) -> None:
    with WeightWriter(tmp_path / "w.bin") as writer:
        offset = writer.add(np.arange(10, dtype=np.float32), float32)
        writer.close()
    assert WeightFile(tmp_path / "w.bin").read(offset, float32, (10,)).dtype == np.float32
