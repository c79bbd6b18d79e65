"""The stored golden calls: what is read back, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from lucid.coreml.golden.reference import Reference
from lucid.errors import PackageError

X = np.array([1.0, 2.0], np.float32)


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "golden.npz"
    Reference([{"x": X}, {"x": 2 * X}], [{"y": 3 * X}, {"y": 6 * X}], {"s": 9 * X}).save(path)
    found = Reference.read(path)
    assert [call["x"].tolist() for call in found.calls] == [[1, 2], [2, 4]]
    assert [each["y"].tolist() for each in found.outputs] == [[3, 6], [6, 12]]
    assert found.states["s"].tolist() == [9, 18]
    Reference([{"x": X}], [], {}).save(path)
    assert Reference.read(path).outputs == []


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"x": X}, "not whole: 'x' is none of call/0/x, output/0/y and state/z"),
        ({"call/one/x": X}, "'call/one/x' is none of"),
        ({"call/0/": X}, "'call/0/' is none of"),
        ({f"call/{'9' * 5000}/x": X}, "is none of"),
        ({"call/1/x": X}, "call has the numbers 1, expected 0 to 0"),
        ({"call/0/x": X, "call/2/x": X}, "call has the numbers 0, 2, expected 0 to 1"),
        ({"call/0/x": X, "call/1/x": X, "output/0/y": X}, "output has the numbers 0, expected 0 to 1"),
        ({"call/0/x": np.array(["a"])}, "'call/0/x' is not an array of numbers"),
        ({"call/0/x": np.array([{}], object)}, "Object arrays cannot be loaded"),
    ],
)
def test_other_archives_are_refused(tmp_path: Path, arrays: dict[str, np.ndarray], text: str) -> None:
    path = tmp_path / "golden.npz"
    np.savez(path, **arrays)
    with pytest.raises(PackageError, match=re.escape(text)) as caught:
        Reference.read(path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "golden.npz"
    path.write_bytes(content)
    with pytest.raises(PackageError, match=r"the golden calls cannot be read: this is not an \.npz archive"):
        Reference.read(path)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="there are no golden calls"):
        Reference.read(tmp_path / "golden.npz")
    with pytest.raises(PackageError, match="the golden calls cannot be read"):
        Reference.read(tmp_path)
