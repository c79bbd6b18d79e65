"""safetensors files: what is written, what is read, and what damaged files say."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

import lucid
from lucid import serialization
from lucid.errors import LoadError, UsageError

TENSORS = {
    "b": lucid.tensor([[1.5, -2.0], [0.0, 3.0]]),
    "a": lucid.tensor([1, 2, 3]),
    "half": lucid.ones(3).half(),
    "mask": lucid.tensor([True, False]),
    "scalar": lucid.tensor(2.5),
    "empty": lucid.zeros(0, 3),
    "bytes": lucid.tensor([1, 255], dtype=lucid.uint8),
    "odd": lucid.tensor([1, 2, 3], dtype=lucid.int8),
    "wide": lucid.ones(2).double(),
}


def hand_made(path: Path, header: dict[str, object], data: bytes) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save(TENSORS, path)
    found = lucid.load(path)
    assert set(found) == set(TENSORS)
    for name, box in TENSORS.items():
        assert (found[name].dtype, found[name].shape, found[name].tolist()) == (box.dtype, box.shape, box.tolist())
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.safetensors"]


def test_others_read_what_lucid_writes(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save(TENSORS, path, metadata={"format": "pt"})
    for name, array in safetensors.numpy.load_file(path).items():
        np.testing.assert_array_equal(array, TENSORS[name].numpy())
    assert safetensors.torch.load_file(path)["b"].tolist() == TENSORS["b"].tolist()
    assert serialization.load_metadata(path) == {"format": "pt"}


def test_lucid_reads_what_others_write(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    weights = {"w": torch.randn(3, 4), "n": torch.arange(5), "h": torch.randn(7).half(), "x": torch.randn(9).bfloat16()}
    safetensors.torch.save_file(weights, path)
    found = lucid.load(path)
    assert found["n"].dtype == lucid.int32
    assert found["x"].dtype == lucid.float32
    for name, tensor in weights.items():
        assert found[name].tolist() == tensor.double().tolist()


def test_bfloat16_is_exact(tmp_path: Path) -> None:
    every = torch.arange(-(1 << 15), 1 << 15).short().view(torch.bfloat16)
    path = tmp_path / "t.safetensors"
    safetensors.torch.save_file({"every": every}, path)
    np.testing.assert_array_equal(lucid.load(path)["every"].numpy(), every.float().numpy())


def test_same_tensors_same_bytes(tmp_path: Path) -> None:
    lucid.save(TENSORS, tmp_path / "one")
    lucid.save(dict(reversed(TENSORS.items())), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_arrays_of_any_layout_are_saved(tmp_path: Path) -> None:
    arrays = {"t": np.arange(6, dtype=np.float32).reshape(2, 3).T, "s": np.arange(9, dtype=np.float32)[::2]}
    arrays["r"] = lucid.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3).T[::-1])
    lucid.save(arrays, tmp_path / "t")
    for name, box in lucid.load(tmp_path / "t").items():
        assert box.tolist() == arrays[name].tolist()


def test_reading_maps_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save({"w": lucid.zeros(1000, 1000)}, path)
    value = lucid.load(path)["w"].numpy()
    while isinstance(value, np.ndarray) and not isinstance(value, np.memmap):
        value = value.base
    assert isinstance(value, np.memmap)


def test_saving_replaces_a_file_that_is_in_use(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save({"w": lucid.ones(4)}, path)
    old = lucid.load(path)
    lucid.save({"w": old["w"] + 1}, path)
    assert old["w"].tolist() == [1.0] * 4
    assert lucid.load(path)["w"].tolist() == [2.0] * 4


def test_no_tensors(tmp_path: Path) -> None:
    lucid.save({}, tmp_path / "t")
    assert lucid.load(tmp_path / "t") == {}


def test_a_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save({"w": lucid.ones(2)}, path)
    with pytest.raises(UsageError, match="'v' is str"):
        lucid.save({"w": lucid.zeros(2), "v": "text"}, path)
    assert lucid.load(path)["w"].tolist() == [1.0, 1.0]
    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="cannot write here"):
        lucid.save({}, tmp_path / "no" / "t")
    (tmp_path / "folder").mkdir()
    with pytest.raises(LoadError, match="cannot write the file"):
        lucid.save({}, tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    lucid.save({}, tmp_path / "t")
    (tmp_path / "usual").touch()
    assert (tmp_path / "t").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LoadError) as caught:
        lucid.load(tmp_path / "none.safetensors")
    assert str(caught.value) == f"{tmp_path / 'none.safetensors'}: no such file. Give the path of a safetensors file."
    with pytest.raises(LoadError):
        lucid.load(tmp_path)


@pytest.mark.parametrize("kept", [0, 4, 8, 40, -1])
def test_truncated_file(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "t.safetensors"
    lucid.save({"w": lucid.ones(100)}, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(LoadError, match="not a whole safetensors file"):
        lucid.load(path)


@pytest.mark.parametrize(
    ("header", "data"),
    [
        ({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, b"\0" * 4),
        ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, b"\0" * 8),
        ({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 9),
        ({"w": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
        ({"w": {"dtype": "F32", "shape": [1 << 62, 8], "data_offsets": [0, 4]}}, b"\0" * 4),
        ({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"\0" * 4),
    ],
)
def test_damaged_headers(tmp_path: Path, header: dict[str, object], data: bytes) -> None:
    with pytest.raises(LoadError, match="not a whole safetensors file"):
        lucid.load(hand_made(tmp_path / "t", header, data))


def test_not_safetensors_at_all(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"PK\x03\x04 this is a zip file, or so it says")
    with pytest.raises(LoadError, match="not a whole safetensors file"):
        lucid.load(tmp_path / "t")


def test_a_dtype_without_counterpart(tmp_path: Path) -> None:
    safetensors.torch.save_file({"f8": torch.ones(2).to(torch.float8_e4m3fn)}, tmp_path / "t")
    with pytest.raises(LoadError, match="tensor f8: its type is F8_E4M3, which lucid does not read"):
        lucid.load(tmp_path / "t")


def test_integers_that_do_not_fit(tmp_path: Path) -> None:
    safetensors.torch.save_file({"ids": torch.tensor([1, 1 << 33])}, tmp_path / "t")
    with pytest.raises(LoadError, match="tensor ids: tensor: 8589934592 does not fit int32"):
        lucid.load(tmp_path / "t")


@pytest.mark.parametrize("shift", range(4))
def test_files_of_any_alignment(tmp_path: Path, shift: int) -> None:
    text = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    text += b" " * ((shift - len(text)) % 4)
    assert (8 + len(text)) % 4 == shift
    (tmp_path / "t").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1.5, 2.5))
    value = lucid.load(tmp_path / "t")["w"].numpy()
    assert value.flags.aligned
    assert value.tolist() == [1.5, 2.5]
