"""The record of an operation under an interpreter that strips docstrings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lucid.errors

ROOT = Path(lucid.errors.__file__).parents[1]
EXPORT = """
import lucid, lucid.coreml
class Twice(lucid.nn.Module):
    def forward(self, x):
        return x + x
package = lucid.coreml.export(Twice().eval(), lucid.tensor([1.0, 2.0]), path="twice.mlpackage")
print(package.run({"x": [3.0, -1.5]})["output_0"].tolist())
"""


@pytest.mark.parametrize("optimize", ["1", "2"])
def test_lucid_works_without_docstrings_and_assertions(tmp_path: Path, optimize: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONOPTIMIZE": optimize}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    checked = run("-m", "lucid", "check", "--json", str(ROOT / "specs" / "decoder.toml"))
    assert json.loads(checked)["ok"] is True
    assert run("-c", EXPORT) == "[6.0, -3.0]\n"
    assert "1 add" in run("-m", "lucid", "inspect", "twice.mlpackage")
