from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "measure.py"
HOLD = "import sys, time; held = b'x' * (int(sys.argv[1]) << 20); time.sleep(0.3)"
HOLD_WITH_CHILD = (
    "import subprocess, sys; held = b'x' * (60 << 20); "
    f"subprocess.run([sys.executable, '-c', {HOLD!r}, '80'], check=True); print('done')"
)
MIB = 1 << 20


def measured(*command: str) -> dict[str, float]:
    """The line that a process of its own prints: a large one, like a test's, would be counted into `largest`."""
    whole = [sys.executable, str(FILE), "--repeats", "1", "--", *command]
    return json.loads(subprocess.run(whole, capture_output=True, text=True, check=True).stdout)


@pytest.fixture(scope="module")
def measure():
    spec = importlib.util.spec_from_file_location("measure", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["measure"]


def test_one_process():
    taken = measured(sys.executable, "-c", HOLD, "100")
    assert 0.3 <= taken["seconds"] < 10
    assert 100 * MIB < taken["peak"] < 150 * MIB
    assert 100 * MIB < taken["largest"] < 150 * MIB


def test_processes_are_added_up():
    taken = measured(sys.executable, "-c", HOLD_WITH_CHILD)
    assert 140 * MIB < taken["peak"] < 200 * MIB
    assert 80 * MIB < taken["largest"] < 130 * MIB


def test_the_output_is_kept(measure):
    assert measure.run([sys.executable, "-c", "print('told')"]).output == "told\n"


def test_a_failing_command_is_reported_with_its_stderr(measure):
    with pytest.raises(RuntimeError, match=r"exit code 3, expected 0\. Its stderr ends:\nbroken"):
        measure.run([sys.executable, "-c", "import sys; sys.stderr.write('broken'); sys.exit(3)"])


def test_commands_take_turns(measure, tmp_path):
    log = tmp_path / "log"
    commands = {name: [sys.executable, "-c", f"open({str(log)!r}, 'a').write({name!r})"] for name in ("a", "b")}
    taken = measure.measure(commands, repeats=3)
    assert log.read_text() == "abababab"  # three rounds that are timed, one whose memory is sampled
    assert {name: len(measurement.runs) for name, measurement in taken.items()} == {"a": 3, "b": 3}


def test_medians(measure):
    runs = tuple(
        measure.Run(seconds, peak, largest, "") for seconds, peak, largest in [(3, 10, 7), (1, 30, 9), (2, 20, 8)]
    )
    taken = measure.Measurement(runs, runs[1])
    assert (taken.seconds, taken.peak, taken.largest) == (2, 30, 8)
