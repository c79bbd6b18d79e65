"""Run commands as whole processes and measure each: seconds by the clock, and the peak memory of all its processes.

    python benchmarks/measure.py --repeats 3 -- python benchmarks/coremltools_convert.py smollm2.mlpackage

prints one line of JSON with the medians. Two peaks are taken, since neither is right alone:

* `peak` is the largest sum of the resident sizes of the command and its descendants, sampled every 20 ms. It may miss a
  short peak, and pages that processes share count once for each. (Proportional set sizes would count them once for all,
  but Linux stops a process' page faults while it adds those up: sampling them doubles the time of one that allocates.)
* `largest` is the largest resident size of any single one of them, as the kernel kept it. It misses nothing, but does
  not add processes up; and Linux counts the starting process' own size in, so start it from a small process.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # stubs are a package of their own

__all__ = ["Measurement", "Run", "measure", "run"]

_INTERVAL = 0.02  # seconds between two samples
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Run:
    """One run of a command: seconds by the clock, the two peaks in bytes, and what it printed on stdout."""

    seconds: float
    peak: int
    largest: int
    output: str


@dataclass(frozen=True)
class Measurement:
    """The runs of one command: those that were timed, and the one whose memory was sampled."""

    runs: tuple[Run, ...]
    sampled: Run

    @property
    def seconds(self) -> float:
        """Median seconds by the clock, from start to exit."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def peak(self) -> int:
        """Peak of the memory of all processes together, in bytes."""
        return self.sampled.peak

    @property
    def largest(self) -> int:
        """Median peak of the largest process, in bytes."""
        return int(statistics.median(run.largest for run in self.runs))


def run(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None, sampled: bool = True
) -> Run:
    """Run one command to its end; raises RuntimeError with the end of its stderr where it fails.

    Where it is not `sampled`, `peak` is 0 and nothing takes processor time beside the command.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, cwd=cwd)
        sampler = _Sampler(process.pid)
        if sampled:
            sampler.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        except BaseException:  # Ctrl-C, above all: nothing goes on running unseen
            process.kill()
            process.wait()
            raise
        finally:
            if sampled:
                sampler.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            end = errors.read().decode(errors="replace")[-2000:]
            raise RuntimeError(
                f"{' '.join(command)}: exit code {process.returncode}, expected 0. Its stderr ends:\n{end}"
            )
        return Run(seconds, sampler.peak, usage.ru_maxrss * _MAXRSS_UNIT, output.read().decode(errors="replace"))


def measure(
    commands: Mapping[str, Sequence[str]],
    *,
    repeats: int = 3,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> dict[str, Measurement]:
    """Run all commands in turn, `repeats` rounds of them, so that a busy moment of the machine hits them alike.

    Memory is sampled in one round more: sampling takes a third of a processor, which would slow down a command that
    keeps all of them busy.
    """
    rounds = [
        {name: run(command, env=env, cwd=cwd, sampled=False) for name, command in commands.items()}
        for _ in range(repeats)
    ]
    looked = {name: run(command, env=env, cwd=cwd) for name, command in commands.items()}
    return {name: Measurement(tuple(turn[name] for turn in rounds), looked[name]) for name in commands}


class _Sampler(threading.Thread):
    """Keeps the largest memory of a process and its descendants until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._root = psutil.Process(pid)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(_INTERVAL):
            try:
                family = [self._root, *self._root.children(recursive=True)]
            except psutil.NoSuchProcess:
                return
            self.peak = max(self.peak, sum(_size(process) for process in family))

    def stop(self) -> None:
        self._over.set()
        self.join()


def _size(process: psutil.Process) -> int:
    """Resident bytes of a process; none where it has just ended."""
    try:
        return int(process.memory_info().rss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def main() -> None:
    """Measure the command line's command and print the medians."""
    parser = argparse.ArgumentParser(description="Measure a command as a whole process.")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="how many runs (3)")
    parser.add_argument("command", nargs="+", help="the command, after --")
    arguments = parser.parse_args()
    taken = measure({"command": arguments.command}, repeats=arguments.repeats)["command"]
    print(json.dumps({"seconds": round(taken.seconds, 3), "peak": taken.peak, "largest": taken.largest}))


if __name__ == "__main__":
    main()
