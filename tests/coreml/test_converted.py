"""A loop with conditions that coremltools converted from PyTorch, against PyTorch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lucid.coreml as cml
from lucid.coreml.reading import read
from lucid.graph import walk


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("converted")
    script = Path(__file__).with_name("converted.py")
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("float16", 1e-2)])
def test_a_loop_with_conditions(converted: Path, precision: str, tolerance: float) -> None:
    path = converted / f"loop_{precision}.mlpackage"
    assert {"while_loop", "cond"} <= {node.op for node in walk(read(path).function.nodes)}
    with np.load(converted / "loop.npz") as calls, cml.load(path) as package:
        assert np.abs(calls["result"][1:]).min() > 0.01
        for x, n, expected in zip(calls["x"], calls["n"], calls["result"], strict=True):
            result = package.run({"x": x, "n": n[None]})["result"]
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
