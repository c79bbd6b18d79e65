"""The fresh process: what it is given, what it answers, and that it leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

import lucid
import lucid.coreml as cml
from lucid import Tensor
from lucid.coreml.golden.fresh import FreshProcess, digest
from lucid.coreml.golden.reference import Reference

CALLS = [{"x": np.array([1.0, -2.0], np.float32)}, {"x": np.array([3.5, 0.0], np.float32)}]


def double(x: Tensor) -> Tensor:
    return x * 2.0


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "double.mlpackage"
    cml.export(double, lucid.ones(2), path, precision=cml.Precision.FLOAT32)
    return path


def test_it_computes_the_same_numbers(written: Path) -> None:
    with FreshProcess() as fresh:
        fresh.open(written)
        found = fresh.run(Reference(CALLS, [], {}))
    (name,) = cml.load(written).output_names
    assert found == digest([{name: np.array([2.0, -4.0], np.float32)}, {name: np.array([7.0, 0.0], np.float32)}], {})


def test_no_file_is_written_on_the_way(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither process can make a temporary file: the folder for them does not exist."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with FreshProcess() as fresh:
        fresh.open(written)
        assert len(fresh.run(Reference(CALLS, [], {}))) == 64


def test_it_says_why_it_cannot(tmp_path: Path) -> None:
    with FreshProcess() as fresh:
        fresh.open(tmp_path / "gone.mlpackage")
        said = fresh.run(Reference(CALLS, [], {}))
    assert "PackageError" in said
    assert "gone.mlpackage" in said
