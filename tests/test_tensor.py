"""The tensor itself: what it is made of, what comes out of it, and the lazy package around it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import lucid
from lucid.errors import DTypeError, LucidError, ShapeError

ROOT = Path(__file__).parents[1]


def run(code: str) -> str:
    """Return what a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_is_lazy() -> None:
    code = "import sys, lucid; print([m for m in ('numpy', 'coremltools', 'torch', 'pydantic') if m in sys.modules])"
    assert run(code) == "[]"


def test_dtypes_do_not_need_numpy() -> None:
    code = "import sys, lucid; lucid.float16, lucid.bool, lucid.no_grad; print('numpy' in sys.modules)"
    assert run(code) == "False"


@pytest.mark.parametrize("first", ["lucid.tensor", "lucid.functional", "lucid.indexing", "lucid.nn", "lucid.random"])
def test_any_module_may_be_imported_first(first: str) -> None:
    code = f"import {first}, lucid; print((lucid.tensor([1.0, 2.0])[1:] + 1).tolist(), type(lucid.nn).__name__)"
    assert run(code) == "[3.0] module"


def test_every_public_name_is_found() -> None:
    for name in dir(lucid):
        if name not in ("__main__", "cli"):
            assert getattr(lucid, name) is not None, name
    for name in lucid.functional.__all__:
        assert getattr(lucid, name) is getattr(lucid.functional, name)
    assert lucid.bool is lucid.dtypes.bool_
    assert lucid.half is lucid.float16


def test_names_that_are_missing() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        lucid.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="no 64-bit integers"):
        lucid.int64  # noqa: B018


def test_version_is_the_projects() -> None:
    assert lucid.__version__ == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1.5, "float32", ()),
        (3, "int32", ()),
        (True, "bool", ()),
        ([1, 2], "int32", (2,)),
        ([1, 2.5], "float32", (2,)),
        ([[True], [False]], "bool", (2, 1)),
        ([], "float32", (0,)),
        (np.float64(1.5), "float64", ()),
        (np.arange(3), "int32", (3,)),
        (np.arange(3, dtype=np.uint8), "uint8", (3,)),
        (np.zeros((2, 0), np.float16), "float16", (2, 0)),
        (torch.ones(2, dtype=torch.float16), "float16", (2,)),
        (torch.arange(3), "int32", (3,)),
        (range(3), "int32", (3,)),
        ((1, (2)), "int32", (2,)),
    ],
)
def test_made_of(data: Any, dtype: str, shape: tuple[int, ...]) -> None:
    box = lucid.tensor(data)
    assert (box.dtype.name, box.shape) == (dtype, shape)
    np.testing.assert_array_equal(box.numpy(), np.asarray(data))


def test_made_of_tensors() -> None:
    assert lucid.tensor([lucid.tensor(1.0), lucid.tensor(2.0)]).tolist() == [1.0, 2.0]
    assert lucid.tensor([1.7, -1.7], dtype=lucid.int32).tolist() == [1, -1]
    assert lucid.tensor([0, 2], dtype=lucid.bool).tolist() == [False, True]
    assert lucid.tensor([1], dtype=torch.float32.__str__().removeprefix("torch.")).dtype == lucid.float32


def test_a_copy_is_made_of_the_data() -> None:
    array = np.ones(2, np.float32)
    box = lucid.tensor(array)
    array[0] = 7.0
    assert box.tolist() == [1.0, 1.0]


def test_a_tensor_made_of_a_tensor_has_a_box_of_its_own() -> None:
    x = lucid.ones(2)
    y = lucid.tensor(x)
    x[0] = 3.0
    assert y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (1 << 31, DTypeError, "2147483648 does not fit int32"),
        (np.array([0, -(1 << 40)]), DTypeError, "-1099511627776 does not fit int32"),
        ([[1], [1, 2]], ShapeError, "ragged"),
        ("text", DTypeError, "cannot hold"),
        ([None], DTypeError, "cannot hold"),
        (1j, DTypeError, "cannot hold"),
        (1 << 80, DTypeError, "cannot hold"),
    ],
)
def test_refused(data: Any, kind: type[LucidError], text: str) -> None:
    with pytest.raises(kind) as caught:
        lucid.tensor(data)
    assert text in str(caught.value)


def test_integers_out_of_range_of_a_given_dtype() -> None:
    with pytest.raises(DTypeError, match="does not fit int32"):
        lucid.tensor([1 << 31], dtype=lucid.int32)
    with pytest.raises(DTypeError, match="int64"):
        lucid.zeros(2, dtype="int64")


def test_from_numpy_shares_and_from_dlpack_too() -> None:
    array = np.arange(4, dtype=np.float32)
    assert np.shares_memory(lucid.from_numpy(array).numpy(), array)
    assert np.shares_memory(lucid.from_dlpack(array).numpy(), array)
    theirs = torch.arange(4.0)
    assert lucid.from_dlpack(theirs).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert torch.from_dlpack(lucid.ones(2, 3)).shape == (2, 3)
    assert lucid.from_dlpack(torch.arange(3)).dtype == lucid.int32
    assert np.from_dlpack(lucid.ones(2)).tolist() == [1.0, 1.0]


def test_numpy_out_is_read_only() -> None:
    x = lucid.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 2.0
    assert np.asarray(x).tolist() == [1.0, 1.0]
    assert np.asarray(x, dtype=np.float64).dtype == np.float64


def test_no_way_out_leads_back_in() -> None:
    """What NumPy and DLPack hand out cannot be written to so that the tensor changes behind its box."""
    x = lucid.ones(2)
    y = x.reshape(2)
    out = np.array(x)
    out[0] = 5.0
    torch.from_dlpack(lucid.ones(2)).mul_(3)
    assert x.tolist() == y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("box", "text"),
    [
        (lucid.tensor([1.0, 2.5]), "tensor([1. , 2.5])"),
        (lucid.tensor(3), "tensor(3)"),
        (lucid.tensor([True]), "tensor([ True])"),
        (lucid.zeros(2).half(), "tensor([0., 0.], dtype=float16)"),
        (lucid.zeros(2, 0), "tensor([], shape=(2, 0))"),
        (lucid.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    ],
)
def test_repr(box: Any, text: str) -> None:
    assert repr(box) == text


def test_format() -> None:
    assert f"{lucid.tensor(1.25):.1f}" == "1.2"
    assert f"{lucid.tensor([1])}" == "tensor([1])"


def test_numbers_out() -> None:
    x = lucid.tensor([[2.0]])
    assert (x.item(), float(x), int(x), bool(x)) == (2.0, 2.0, 2, True)
    assert [10, 20, 30][lucid.tensor(2)] == 30
    assert len(lucid.zeros(3, 2)) == 3
    assert [row.tolist() for row in lucid.tensor([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert x.size() == (1, 1)
    assert (x.ndim, x.dim(), x.numel()) == (2, 2, 1)
    with pytest.raises(ShapeError, match="item: the tensor has 2 elements"):
        lucid.zeros(2).item()
    with pytest.raises(ShapeError):
        bool(lucid.zeros(2))
    with pytest.raises(DTypeError, match="Only integers"):
        [1, 2][lucid.tensor(1.0)]
    with pytest.raises(ShapeError, match="rank 0 has no length"):
        len(lucid.tensor(1))


def test_tensors_are_hashed_by_identity() -> None:
    x, y = lucid.ones(1), lucid.ones(1)
    assert len({x, y, x}) == 2


def test_casts_are_pytorchs() -> None:
    values = [-3.7, -0.5, 0.0, 0.5, 2.5, 300.0]
    for name in ("int32", "float16", "bool", "float64"):
        theirs = torch.tensor(values).to(getattr(torch, name))
        mine = lucid.tensor(values).to(getattr(lucid, name))
        assert (mine.dtype.name, mine.tolist()) == (name, theirs.tolist())
    x = lucid.ones(2)
    assert x.to(lucid.float32) is x


def test_requires_grad_follows_the_operations() -> None:
    x, y = lucid.ones(2, requires_grad=True), lucid.ones(2)
    assert (x * y).requires_grad
    assert not (y * y).requires_grad
    assert not (x > y).requires_grad
    assert not x.detach().requires_grad
    with lucid.no_grad():
        assert not (x * y).requires_grad
        with lucid.enable_grad():
            assert (x * y).requires_grad
    assert lucid.is_grad_enabled()
    assert not y.requires_grad_(False).requires_grad
    with pytest.raises(DTypeError, match="only floating"):
        lucid.arange(2).requires_grad_()


def test_a_written_value_brings_its_mark_along() -> None:
    x, y = lucid.zeros(2), lucid.ones(2, requires_grad=True)
    x[0] = y[1]
    assert x.requires_grad
    z = lucid.zeros(2)
    with lucid.no_grad():
        z += y
    assert not z.requires_grad
    z += y
    assert z.requires_grad
    assert y.copy_(lucid.zeros(2)).requires_grad


def test_no_grad_is_a_decorator_too() -> None:
    @lucid.no_grad()
    def double(x: Any) -> Any:
        return x * 2

    assert not double(lucid.ones(2, requires_grad=True)).requires_grad


def test_copy_casts_and_broadcasts() -> None:
    x = lucid.zeros(2, 2)
    x.copy_(lucid.tensor([1, 2]))
    assert x.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    with pytest.raises(ShapeError):
        lucid.zeros(2).copy_(lucid.ones(3, 2))


def test_operations_on_empty_tensors() -> None:
    x = lucid.zeros(0, 3)
    assert (x + 1).shape == (0, 3)
    assert x.sum().item() == 0.0
    assert x.sum(0).tolist() == [0.0, 0.0, 0.0]
    assert x.reshape(3, 0).shape == (3, 0)
    assert x.expand(2, 0, 3).shape == (2, 0, 3)
    assert lucid.cat([x, lucid.ones(2, 3)]).shape == (2, 3)


def test_a_write_is_never_seen_through_another_box() -> None:
    """Writes may use the box's own memory, but only where no other tensor, array or view could tell."""
    kept = lucid.arange(6).float().reshape(2, 3)
    before = kept.numpy().copy()
    copy, view, row = kept.clone(), kept.reshape(6), kept[0]
    outside = np.asarray(kept)
    kept[0, 1] = 9.0
    kept[1] = lucid.tensor([7.0, 7.0, 7.0])
    kept[lucid.tensor([0]), 2] = 8.0
    for other in (copy.numpy(), view.numpy().reshape(2, 3), outside):
        np.testing.assert_array_equal(other, before)
    np.testing.assert_array_equal(row.numpy(), before[0])
    np.testing.assert_array_equal(kept.numpy(), [[0, 9, 8], [7, 7, 7]])


def test_a_write_does_not_reach_an_array_that_a_tensor_was_made_from() -> None:
    given = np.zeros((2, 3), np.float32)
    box = lucid.from_numpy(given)
    box[0] = 1.0
    box[1, 1] = 2.0
    assert not given.any()
    assert box.tolist() == [[1, 1, 1], [0, 2, 0]]


def test_overlapping_reads_and_writes() -> None:
    box = lucid.arange(5) * 1
    box[0] = 5
    box[1:] = box[:-1]
    assert box.tolist() == [5, 5, 1, 2, 3]


def test_functions_that_replace_leave_their_input() -> None:
    box = lucid.zeros(3, 2) + 0.0
    written = box.slice_scatter(lucid.ones(1, 2), dim=0, start=1, end=2)
    assert box.tolist() == [[0, 0]] * 3
    assert written.tolist() == [[0, 0], [1, 1], [0, 0]]
