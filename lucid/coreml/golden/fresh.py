"""Running a package in a fresh process: ``python -m lucid.coreml.golden.fresh PACKAGE CALLS`` prints a digest."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucid.coreml.golden.reference import Reference
from lucid.coreml.package import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["digest", "run_fresh"]


def digest(results: Sequence[Mapping[str, NDArray[Any]]], states: Mapping[str, NDArray[Any]]) -> str:
    """Return one SHA-256 over every output of every call and the final states: names, dtypes, shapes and bytes."""
    hasher = hashlib.sha256()
    for arrays in (*results, states):
        for name, array in sorted(arrays.items()):
            hasher.update(f"{name} {array.dtype} {array.shape}\n".encode())
            hasher.update(array.tobytes())
    return hasher.hexdigest()


def run_fresh(package: Path, reference: Reference) -> str:
    """Run the calls of a reference in a new Python process and return the digest it prints, or its complaint."""
    with tempfile.TemporaryDirectory(prefix="lucid-") as room:
        calls = Path(room) / "calls.npz"
        Reference(reference.calls, [], {}).save(calls)
        command = [sys.executable, "-m", "lucid.coreml.golden.fresh", str(package.resolve()), str(calls)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own module
        return done.stdout.strip() if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no output"])[-1]


def _main(package: str, calls: str) -> None:
    reference = Reference.read(Path(calls))
    with load(package) as opened:
        state = opened.make_state()
        results = [opened.run(call, state) for call in reference.calls]
        sys.stdout.write(digest(results, {name: state.read(name) for name in opened.state_names}) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
