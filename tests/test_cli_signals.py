"""Signals that ask lucid to end: all is cleaned up, and the exit code says which it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # stubs are a package of their own
import pytest

import lucid.errors
from lucid.cli.exits import EXITS
from lucid.cli.screen import Outcome, Screen, report
from lucid.cli.signals import Terminated, endings

ROOT = Path(lucid.errors.__file__).parents[1]
SPEC = """\
lucid = 1
package = {name = "slow"}
model = {entry = "slow.py:Slow"}
input = [{name = "x", shape = [2], values = {uniform = {}}}]
golden = {calls = 2}
"""
MODEL = "import lucid.nn\nclass Slow(lucid.nn.Module):\n    def forward(self, x):\n        return x + x\n"
WAITING = """\
import sys, time, pathlib
import lucid.pipeline.build as stage
from lucid.coreml.golden.fresh import FreshProcess
from lucid.coreml.referee import start_referee
def golden(*arguments, **options):
    with FreshProcess() as fresh, start_referee() as referee:
        pathlib.Path("started").touch()
        time.sleep(60)
stage.golden = golden
from lucid.cli import main
sys.exit(main(["build", "slow.toml", *sys.argv[1:]]))
"""


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Return a folder with a spec, and a program that builds it and waits in the golden check, helpers started."""
    (tmp_path / "slow.toml").write_text(SPEC)
    (tmp_path / "slow.py").write_text(MODEL)
    (tmp_path / "waiting.py").write_text(WAITING)
    return tmp_path


def started(room: Path, *arguments: str, before: str = "") -> subprocess.Popen[str]:
    """Return the running program, once it waits in its golden check."""
    command = f"{before} exec {sys.executable} waiting.py {' '.join(arguments)}"
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=room, env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(room)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (room / "started").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGTERM, 143, "Terminated."), (signal.SIGHUP, 129, "The terminal went away.")],
)
def test_a_signal_ends_helpers_and_removes_what_is_unfinished(
    room: Path, number: signal.Signals, code: int, word: str
) -> None:
    process = started(room, "--json")
    helpers = psutil.Process(process.pid).children(recursive=True)
    assert len(helpers) >= 2
    assert any(each.name.endswith(".partial") for each in (room / "build").iterdir())
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert json.loads(out)["error"] == {
        "code": code,
        "kind": "interrupted",
        "message": "interrupted before the end",
        "where": None,
    }
    assert err.splitlines()[-1] == word
    assert "Traceback" not in err
    assert not any(each.is_running() for each in helpers)
    assert list((room / "build").iterdir()) == []
    left = {each.name for each in room.iterdir()} - {"__pycache__"}
    assert left == {"slow.toml", "slow.py", "waiting.py", "build", "started"}
    assert code in EXITS


def test_a_signal_that_is_ignored_stays_ignored(room: Path) -> None:
    process = started(room, before="trap '' HUP;")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143


def test_a_signal_where_the_reader_holds_everything_up(room: Path) -> None:
    reader, writer = os.pipe()
    program = (
        "import sys, lucid.cli\nfrom lucid.cli import streams\n"
        "lucid.cli._run = lambda arguments: streams.say('x' * 1000000) or 0\nsys.exit(lucid.cli.main([]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], cwd=room, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=writer,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(writer)
    assert os.read(reader, 1) == b"x"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    os.close(reader)
    assert (process.returncode, err) == (143, "Terminated.\n")


def test_the_handlers_are_put_back_and_what_is_raised_is_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)

    def body() -> Outcome:
        os.kill(os.getpid(), signal.SIGTERM)
        return Outcome(None)

    with endings() as asked:
        assert report("run", Screen(), body) == 143
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    assert asked.number == signal.SIGTERM
    assert capsys.readouterr().err == "Terminated.\n"
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGHUP)) == before
    assert issubclass(Terminated, KeyboardInterrupt)
