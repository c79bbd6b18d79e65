"""Running a package in a fresh process, which prints a digest of all that it computes."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lucid.coreml.golden.reference import Reference
from lucid.coreml.package import load
from lucid.engines.threads import limited_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FreshProcess", "digest", "serve"]

_ROOT = Path(__file__).parents[3]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "import lucid.coreml.golden.fresh as child; del sys.path[0]; child.serve()"
)


def digest(results: Sequence[Mapping[str, NDArray[Any]]], states: Mapping[str, NDArray[Any]]) -> str:
    """Return one SHA-256 over every output of every call and the final states: names, dtypes, shapes and bytes."""
    hasher = hashlib.sha256()
    for arrays in (*results, states):
        for name, array in sorted(arrays.items()):
            hasher.update(f"{name} {array.dtype} {array.shape}\n".encode())
            hasher.update(array.tobytes())
    return hasher.hexdigest()


class FreshProcess:
    """A new Python process that waits for a package to run. A context manager that ends it whatever happened.

    Start it early: its imports then take their time beside other work.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603  # this interpreter, a constant program
            [sys.executable, "-P", "-c", _PROGRAM, os.fspath(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        with contextlib.suppress(OSError, ValueError):
            self._process.communicate()

    def open(self, package: Path) -> None:
        """Name the package, once: the process reads it while others work, but for its weights."""
        stream = self._process.stdin
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # a dead process is reported by run()
                stream.write(json.dumps(str(package.resolve())).encode() + b"\n")
                stream.flush()

    def run(self, reference: Reference) -> str:
        """Run the calls of a reference on the opened package; return the digest, or the last line of its complaint.

        The calls go through the process's standard input, so that nothing is left behind whatever ends this one.
        """
        calls = io.BytesIO()
        Reference(reference.calls, [], {}).save(calls)
        said, complaint = self._process.communicate(calls.getvalue())
        if self._process.returncode == 0:
            return said.decode().strip()
        lines = complaint.decode(errors="replace").strip().splitlines()
        return (lines or [f"ended with code {self._process.returncode}"])[-1]


def serve() -> None:
    """Read a package's path and then its calls, an ``.npz``, from standard input; run them and print the digest."""
    line = sys.stdin.buffer.readline()
    if not line:
        return
    with limited_threads(), load(json.loads(line)) as opened:
        reference = Reference.read(io.BytesIO(sys.stdin.buffer.read()))
        state = opened.make_state()
        results = [opened.run(call, state) for call in reference.calls]
        sys.stdout.write(digest(results, {name: state.read(name) for name in opened.state_names}) + "\n")
