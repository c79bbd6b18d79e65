"""What all tests share. Its folder is on the path, so that tests can import the oracles that stand beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

SPEC = """\
lucid = 1

[package]
name = "total"

[model]
entry = "total.py:Total"
arguments = {factor = 2.0}

[[input]]
name = "x"
shape = [1, 4]
values = "index"

[[input]]
name = "total"
shape = [1, 4]

[[output]]
name = "scaled"

[[output]]
name = "new_total"

[[state]]
input = "total"
output = "new_total"

[golden]
calls = 4
"""
MODEL = '''\
"""A running total: what came so far, scaled."""

from lucid import Tensor, nn


class Total(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        total = total + x
        return total * self.factor, total
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, a new one: ``total.toml`` and ``total.py``, a model with one state."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "total.toml").write_text(SPEC)
    (folder / "total.py").write_text(MODEL)
    monkeypatch.chdir(folder)
    return folder
