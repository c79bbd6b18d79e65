"""The standard streams of the command line: gone, closed or full, buffered or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lucid.errors
from lucid.cli import main
from lucid.cli.build import build_all
from lucid.cli.screen import Outcome, Screen, report

ROOT = Path(lucid.errors.__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "LUCID": f"{sys.executable} -m lucid"}
SPEC = """\
lucid = 1
package = {name = "small"}
model = {entry = "small.py:make"}
input = [{name = "x", shape = [2], values = "ones"}]
"""
FULL = "error: standard output cannot be written: No space left on device\n"
COMMANDS = ["--help", "--version", "run --help", "check small.toml", "check --json small.toml", "check small.toml --"]
needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """Return a folder with a sound spec in it."""
    (tmp_path / "small.py").touch()
    (tmp_path / "small.toml").write_text(SPEC)
    return tmp_path


def shell(room: Path, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell; its exit code is that of lucid, its first command."""
    return subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"],
        cwd=room, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_is_gone_ends_quietly_with_141(room: Path, command: str, unbuffered: str) -> None:
    done = shell(room, f"(sleep 0.2; $LUCID {command}; exit $?) | true", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")


def test_a_reader_that_is_gone_while_a_package_is_inspected(room: Path) -> None:
    (room / "m.py").write_text(
        "import sys\nimport lucid.cli.inspect as i\nfrom lucid.cli.screen import Outcome\n"
        "def fake(path, screen):\n    screen.say('x' * 100000)\n    return Outcome({})\n"
        "i.inspect_package = fake\nfrom lucid.cli import main\nsys.exit(main(['inspect', 'p']))\n"
    )
    done = shell(room, f"(sleep 0.2; {sys.executable} m.py; exit $?) | true")
    assert (done.returncode, done.stdout, done.stderr) == (141, "", "")


@needs_dev_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_one_line_and_2(room: Path, command: str, unbuffered: str) -> None:
    done = shell(room, f"$LUCID {command} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stderr) == (2, FULL)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", [*COMMANDS, "check none.toml", "check --json none.toml", "inspect none", "nothing"])
def test_closed_streams_change_no_exit_code(room: Path, command: str, closed: str) -> None:
    usual = shell(room, f"$LUCID {command}")
    done = shell(room, f"$LUCID {command} {closed}")
    assert done.returncode == usual.returncode
    assert done.stdout == (usual.stdout if closed == "2>&-" else "")
    assert done.stderr == ("" if "2>&-" in closed else usual.stderr)


@needs_dev_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_errors_that_nobody_can_read_change_no_exit_code(room: Path, unbuffered: str) -> None:
    done = shell(room, "$LUCID check small.toml none.toml 2>/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "1 of 2 specs are valid.")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit(), "SystemExit"),
        (GeneratorExit(), "GeneratorExit"),
        (ValueError("\n"), "ValueError"),
        (ValueError("a\r\nb\x0b\u2028\x1b[31mc"), "ValueError: a b \ufffd[31mc"),
    ],
)
def test_nothing_but_lucid_decides_the_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, message: str
) -> None:
    def body() -> Outcome:
        raise error

    assert report("build", Screen(json=True), body) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == {"code": 70, "kind": "internal", "message": message, "where": None}
    assert err == f"internal error: {message} Run it again with --traceback to see where.\n"


def test_an_exception_whose_text_cannot_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    class BadError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def body() -> Outcome:
        raise BadError

    assert report("build", Screen(), body) == 70
    assert capsys.readouterr().err.startswith("internal error: BadError: (its text cannot be made) Run")


def test_an_unexpected_exception_does_not_stop_the_other_specs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import lucid.pipeline.build

    seen = []

    def broken(spec: Path, **_: object) -> None:
        seen.append(str(spec))
        raise SystemExit(0) if spec.name == "a.toml" else ZeroDivisionError("b")

    monkeypatch.setattr(lucid.pipeline.build, "build", broken)
    outcome = build_all(["a.toml", "b.toml"], None, Screen(quiet=True))
    assert seen == ["a.toml", "b.toml"]
    assert [each["error"]["message"] for each in outcome.result["packages"]] == [
        "SystemExit: 0",
        "ZeroDivisionError: b",
    ]
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.kind) == (70, "internal")
    assert main(["build", "-q", "a.toml", "b.toml"]) == 70
    assert capsys.readouterr().err.count("internal error: ") == 4
