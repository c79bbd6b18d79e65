"""The inputs of the golden calls: files of values, what fits an input and what is refused."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from lucid.errors import LoadError
from lucid.pipeline.calls import make_calls
from lucid.pipeline.spec import Spec

RECORD = np.dtype([("a", "f4"), ("b", "i4")])


def spec_of(values: object, dtype: str = "float32", shape: tuple[int, ...] = (2,)) -> Spec:
    """Return a spec with one input, three calls, and the current folder as its root."""
    return Spec.model_validate(
        {
            "lucid": 1,
            "package": {"name": "any"},
            "model": {"entry": "any.py:Any"},
            "input": ({"name": "x", "shape": shape, "dtype": dtype, "values": values},),
            "golden": {"calls": 3},
        }
    )


def calls_of(values: object, dtype: str = "float32", shape: tuple[int, ...] = (2,)) -> list[Any]:
    calls = [call["x"] for call in make_calls(spec_of(values, dtype, shape))]
    assert all((call.dtype, call.shape) == (np.dtype(dtype), shape) for call in calls)
    return [call.tolist() for call in calls]


def from_array(array: Any, dtype: str = "float32") -> list[Any]:
    np.save("values.npy", array)
    return calls_of({"file": "values.npy"}, dtype)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (np.array([[1, 2], [3, 4], [5, 6]], np.float64), "float32", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        (np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.uint8), "float16", [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        (np.array([[np.inf, -np.inf]] * 3), "float32", [[np.inf, -np.inf]] * 3),
        (np.array([[2**31 - 1, -(2**31)]] * 3), "int32", [[2**31 - 1, -(2**31)]] * 3),
        (np.array([[0, 1]] * 3, np.uint64), "bool", [[False, True]] * 3),
        (np.array([[True, False]] * 3), "bool", [[True, False]] * 3),
        (np.array([[True, False]] * 3), "float32", [[1.0, 0.0]] * 3),
        (np.array([[True, False]] * 3), "int32", [[1, 0]] * 3),
    ],
)
def test_what_fits(array: Any, dtype: str, expected: list[Any]) -> None:
    assert from_array(array, dtype) == expected


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.ones((3, 2), np.complex64), "complex numbers (complex64)"),
        (np.array([["1", "2"]] * 3), "text (<U1)"),
        (np.array([[b"1", b"2"]] * 3), "bytes (|S1)"),
        (np.zeros((3, 2), "datetime64[s]"), "dates (datetime64[s])"),
        (np.zeros((3, 2), "timedelta64[s]"), "time spans (timedelta64[s])"),
        (np.zeros((3, 2), RECORD), "records ([('a', '<f4'), ('b', '<i4')])"),
    ],
)
def test_other_kinds_are_refused(array: Any, found: str, dtype: str) -> None:
    with pytest.raises(LoadError, match=re.escape(f"the elements are {found}; expected ")) as caught:
        from_array(array, dtype)
    assert caught.value.where == "input x: values.npy"
    assert f"as the input is {dtype}." in str(caught.value)


@pytest.mark.parametrize(
    ("array", "dtype", "message"),
    [
        ([[1.0, 1e300]] * 3, "float32", "the value 1e+300 is not possible: float32 cannot hold that."),
        ([[1.0, 70000.0]] * 3, "float16", "the value 70000.0 is not possible: float16 cannot hold that."),
        ([[1.0, np.nan]] * 3, "float32", "the value nan is not possible: nothing can be compared with NaN."),
        ([[1, 2**31]] * 3, "int32", "the value 2147483648 is not possible: int32 cannot hold that."),
        (np.array([[1, 2**64 - 1]] * 3, np.uint64), "int32", "the value 18446744073709551615 is not possible"),
        ([[0, 7]] * 3, "bool", "the value 7 is not possible: bool cannot hold that."),
        ([[0.0, 1.0]] * 3, "int32", "the elements are float64; expected whole numbers, as the input is int32."),
        ([[0.0, 1.0]] * 3, "bool", "expected true and false, or the whole numbers 0 and 1, as the input is bool."),
        ([[1.0, 2.0]] * 2, "float32", "the array has shape (2, 2); expected (3, 2), one entry a call"),
        ([1.0, 2.0, 3.0], "float32", "the array has shape (3,); expected (3, 2)"),
        ([[1.0]] * 3, "float32", "the array has shape (3, 1); expected (3, 2)"),
    ],
)
def test_what_does_not_fit_is_named(array: Any, dtype: str, message: str) -> None:
    with pytest.raises(LoadError, match=re.escape(message)) as caught:
        from_array(np.asarray(array), dtype)
    assert str(caught.value).startswith("input x: values.npy: ")


@pytest.mark.parametrize(
    ("values", "dtype", "message"),
    [
        ({"constant": 1e300}, "float32", "the value 1e+300 is not possible: float32 cannot hold that."),
        ({"normal": {"std": 1e300}}, "float32", "the values that the spec describes are beyond float32."),
        ({"normal": {"std": 1e30}}, "float16", "is not possible: float16 cannot hold that."),
        ({"uniform": {"low": -3e38, "high": 3e38}}, "float32", "the values that the spec describes are beyond float32"),
    ],
)
def test_numbers_that_are_made_fit_too(values: object, dtype: str, message: str) -> None:
    with pytest.raises(LoadError, match=re.escape(message)) as caught:
        calls_of(values, dtype)
    assert caught.value.where == "input x: call 0"


def test_values_in_the_spec() -> None:
    assert calls_of({"list": (1, 2.5, (3, 4))}) == [[1.0, 1.0], [2.5, 2.5], [3.0, 4.0]]
    assert calls_of({"list": (True, False, (True, False))}, "bool") == [[True] * 2, [False] * 2, [True, False]]
    assert calls_of("index", "int32") == [[0, 0], [1, 1], [2, 2]]
    assert calls_of({"list": (1, 2, 3)}, shape=()) == [1.0, 2.0, 3.0]


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


WHOLE = npy(np.ones((3, 2), np.float32))
FLIPPED = bytearray(archive(x=b"0123456789" * 9))
FLIPPED[60] ^= 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.npy", b"", "this is not an array of NumPy's format .npy. Write it with numpy.save."),
        ("v.npy", b"garbage that is no array", "this is not an array of NumPy's format .npy."),
        ("v.npy", archive(**{"x.npy": WHOLE}), "this is an archive of arrays. Give it the ending .npz."),
        ("v.npy", WHOLE[:-4], "the file is damaged: "),
        ("v.npy", WHOLE[:20], "the file is damaged: "),
        ("v.npz", WHOLE, "this is a single array. Give it the ending .npy."),
        ("v.npz", b"garbage", "this is not an archive of NumPy's format .npz."),
        ("v.npz", archive(), "the file holds no arrays."),
        ("v.npz", archive(**{"x.npy": WHOLE, "y.npy": WHOLE}), "the file holds 2 arrays: x, y. Name one with key."),
        ("v.npz", archive(note=b"text"), "this member of the archive is not an array."),
        ("v.npz", bytes(FLIPPED), "the file is damaged: Bad CRC-32 for file 'x'. Write it again."),
        ("v.safetensors", b"garbage", "the file is damaged: "),
        ("v.safetensors", b"", "the file is damaged: "),
    ],
)
def test_damaged_and_misnamed_files(name: str, content: bytes, message: str) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(LoadError) as caught:
        calls_of({"file": name})
    assert caught.value.where == f"input x: {name}"
    assert caught.value.message.startswith(message)


def test_python_objects_are_not_loaded() -> None:
    np.save("values.npy", np.array([[{}, 1]] * 3, object), allow_pickle=True)
    with pytest.raises(LoadError, match=r"input x: values\.npy: the file holds Python objects, which are not loaded"):
        calls_of({"file": "values.npy"})


def test_arrays_by_name() -> None:
    arrays = {"one": np.ones((3, 2), np.float32), "two": np.full((3, 2), 2, np.float32)}
    np.savez("v.npz", **arrays)
    save_file(arrays, "v.safetensors")
    for file in ("v.npz", "v.safetensors"):
        assert calls_of({"file": file, "key": "two"}) == [[2.0, 2.0]] * 3
        with pytest.raises(LoadError) as caught:
            calls_of({"file": file, "key": "three"})
        assert str(caught.value) == f'input x: {file}: there is no array "three". The file holds one, two.'
        with pytest.raises(LoadError) as caught:
            calls_of({"file": file})
        assert str(caught.value) == f"input x: {file}: the file holds 2 arrays: one, two. Name one with key."


def test_a_missing_file() -> None:
    for name in ("gone.npy", "gone.npz", "gone.safetensors"):
        with pytest.raises(LoadError, match=f"input x: {name}: the file cannot be read: No such file"):
            calls_of({"file": name})
