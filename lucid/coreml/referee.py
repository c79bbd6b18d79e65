"""The independent referee of a written package: coremltools' own reader of programs, in a process of its own.

It loads the package from disk, type-checks every operation, reads every weight with coremltools' weight library and
compares it with lucid's reading, and compares the names and types of inputs, outputs and states. The process imports
coremltools without the frameworks that coremltools would import, and holds one weight at a time. It can be started
before the package is there, so that its import runs beside other work.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lucid.errors import InternalError, LucidError, PackageError

__all__ = ["Judgement", "Referee", "referee", "start_referee"]

_ROOT = Path(__file__).parents[2]
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); import lucid.coreml.refereeing as child; del sys.path[0]; "
    "child.serve()"
)
_SHOWN = 2000  # characters of what a process that failed has written last
_KINDS: dict[str, type[LucidError]] = {"package": PackageError, "internal": InternalError}


@dataclass(frozen=True)
class Judgement:
    """What the referee looked at and what it took: operations, weights, seconds after import, peak memory in bytes."""

    operations: int
    weights: int
    seconds: float
    peak: int


class Referee:
    """A started referee, for one package. A context manager that ends the process whatever happened."""

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by close()
        self._process = subprocess.Popen(  # noqa: S603 -- this interpreter, a constant program
            [sys.executable, "-P", "-c", _PROGRAM, os.fspath(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def submit(self, path: str | os.PathLike[str]) -> Self:
        """Name the package to judge, once; returns at once."""
        line = json.dumps(os.path.abspath(path)).encode() + b"\n"
        stream = self._process.stdin
        if stream is None or stream.closed:
            raise InternalError("the referee has been given a package already, or is closed.", where=os.fspath(path))
        with contextlib.suppress(BrokenPipeError):  # a dead process is reported by wait()
            stream.write(line)
            stream.close()
        return self

    def wait(self) -> Judgement:
        """Return the judgement when it is there.

        Raises PackageError where the package cannot be read, InternalError where coremltools refuses it or reads
        something else than lucid does.
        """
        stream = self._process.stdout
        answer = stream.read() if stream is not None and not stream.closed else b""
        code = self._process.wait()
        try:
            content = json.loads(answer)
        except ValueError:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace")[-_SHOWN:].strip()
            raise InternalError(f"the referee ended with code {code} and no judgement: {said or 'silent'}.") from None
        finally:
            self.close()
        if "error" in content:
            raise _KINDS[content["error"]](content["message"], where=content["where"])
        return Judgement(**content)

    def close(self) -> None:
        """End the process, if it still runs. Idempotent."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._said.close()


def start_referee(path: str | os.PathLike[str] | None = None) -> Referee:
    """Start a referee, on the package `path` if it is there already."""
    started = Referee()
    return started if path is None else started.submit(path)


def referee(path: str | os.PathLike[str]) -> Judgement:
    """Have the package at `path` judged. Raises as :meth:`Referee.wait` does."""
    with start_referee(path) as started:
        return started.wait()
