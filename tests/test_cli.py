"""The command line: what it prints, where, and with which exit code it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lucid.cli
import lucid.errors
from lucid.cli import main
from lucid.cli.exits import EXITS
from lucid.cli.screen import Outcome, Screen, report

ROOT = Path(lucid.errors.__file__).parents[1]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
GOOD = """\
lucid = 1
[package]
name = "small"
[model]
entry = "small.py:make"
[[input]]
name = "x"
shape = [2]
values = "ones"
"""
BAD = GOOD.replace("entry", "entri")
LINE = "small · 1 input · float16 · iOS18 · 8 golden calls"


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, the current one, with a good and a bad spec and an entry point that must not be run."""
    (tmp_path / "small.py").write_text("raise SystemExit('a check must not import this')")
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lucid_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lucid", *arguments]
    return subprocess.run(command, env=ENVIRONMENT | environment, capture_output=True, text=True, check=False)


BAD_TEXT = """\
bad.toml:5:1: model.entri: unknown key. Did you mean "entry"?
    5 | entri = "small.py:make"
      | ^^^^^
"""


def test_check_of_a_good_spec(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.toml"]) == 0
    assert capsys.readouterr() == (f"✓ good.toml  {LINE}\n", "")


def test_check_of_a_bad_spec(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "bad.toml"]) == 3
    assert capsys.readouterr() == ("", BAD_TEXT)


def test_check_reports_all_specs_and_ends_with_the_first_failure(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "none.toml", "good.toml", "bad.toml"]) == 3
    out, err = capsys.readouterr()
    assert out == f"✓ good.toml  {LINE}\n1 of 3 specs are valid.\n"
    assert err == f"error: none.toml: there is no such file.\n{BAD_TEXT}"


@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet_leaves_the_errors(room: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert main(["check", option, "good.toml", "bad.toml"]) == 3
    assert capsys.readouterr() == ("", BAD_TEXT)


def test_the_way_past_the_parser_prints_what_the_parser_s_way_prints(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["good.toml"], ["bad.toml", "good.toml"], ["--json", "bad.toml"], ["-q", "bad.toml"]):
        short = (main(["check", *arguments]), capsys.readouterr())
        parsed = (main(["check", *arguments, "--"]), capsys.readouterr())
        assert short == parsed


def test_the_envelope_of_a_check(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "good.toml", "bad.toml"]) == 3
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert list(told) == ["command", "ok", "result", "error"]
    assert (told["command"], told["ok"]) == ("check", False)
    assert told["error"] == {
        "code": 3,
        "kind": "spec",
        "message": 'model.entri: unknown key. Did you mean "entry"?',
        "where": "bad.toml:5:1",
    }
    good, bad = told["result"]["specs"]
    assert (good["path"], good["ok"], good["findings"], len(good["digest"])) == ("good.toml", True, [], 64)
    assert good["spec"]["golden"]["calls"] == 8
    assert (bad["ok"], bad["spec"]) == (False, None)
    assert bad["findings"] == [
        {
            "file": "bad.toml",
            "line": 5,
            "column": 1,
            "length": 5,
            "key": "model.entri",
            "message": 'unknown key. Did you mean "entry"?',
        }
    ]
    assert err == BAD_TEXT


def test_the_envelope_of_a_success(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.toml", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["ok"], json.loads(out)["error"], err) == (True, None, "")


@pytest.mark.parametrize(
    ("arguments", "command", "message"),
    [
        (["check"], "check", "Missing argument 'SPEC...'."),
        (["run", "--json"], "run", "Missing argument 'PACKAGE'."),
        (["check", "--colour", "a.toml"], "check", "No such option: --colour"),
        (["run", "x", "--calls", "0"], "run", "Invalid value for '--calls' / '-n': "),
        (
            ["build", "a.toml", "b.toml", "-d", "x"],
            "build",
            "--directory holds the results of one spec, and 2 are given.",
        ),
        (["biuld", "a.toml"], None, "No such command 'biuld'. Did you mean 'build'?"),
    ],
)
def test_usage_errors(
    capsys: pytest.CaptureFixture[str], arguments: list[str], command: str | None, message: str
) -> None:
    assert main([*arguments, "--json"] if "--json" not in arguments else arguments) == 2
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["command"] == command
    assert told["error"]["code"] == 2
    assert told["error"]["kind"] == "usage"
    assert told["error"]["message"].startswith(message)
    assert f"error: {message}" in err
    assert main([each for each in arguments if each != "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_no_command_shows_the_help_and_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out.count("Usage: lucid") == 1
    assert err == ""


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for command in ("build", "check", "run", "inspect", "verify"):
        assert re.search(rf"^│ {command} ", out, re.MULTILINE)
    for code, meaning in EXITS.items():
        assert re.search(rf"^ *{code}  {re.escape(meaning)}", out, re.MULTILINE)


def test_every_error_class_has_an_exit_code_of_the_table() -> None:
    def classes(base: type[lucid.errors.LucidError]) -> set[type[lucid.errors.LucidError]]:
        return {base}.union(*map(classes, base.__subclasses__()))

    for each in classes(lucid.errors.LucidError):
        assert each.code in EXITS


@pytest.mark.parametrize("command", ["build", "check", "run", "inspect", "verify"])
def test_every_command_has_help_and_the_common_options(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--json", "--quiet", "--traceback", "--help"):
        assert option in out


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"lucid (\d+\.\d+\.\d+.*|\(not installed\))\n", capsys.readouterr().out)


@pytest.mark.parametrize("arguments", [["check", "good.toml"], ["check", "bad.toml"], ["nothing"], ["--version"]])
def test_exit_codes_of_the_process(room: Path, arguments: list[str]) -> None:
    expected = {"good.toml": 0, "bad.toml": 3, "nothing": 2, "--version": 0}[arguments[-1]]
    assert lucid_process(*arguments).returncode == expected


ERRORS = [each for each in vars(lucid.errors).values() if isinstance(each, type) and issubclass(each, Exception)]


@pytest.mark.parametrize("kind", ERRORS)
def test_each_error_ends_with_its_own_code(
    kind: type[lucid.errors.LucidError], capsys: pytest.CaptureFixture[str]
) -> None:
    def body() -> Outcome:
        raise kind("the subject is wrong.", where="a.b")

    assert report("build", Screen(json=True), body) == kind.code
    out, err = capsys.readouterr()
    assert json.loads(out)["error"] == {
        "code": kind.code,
        "kind": kind.kind,
        "message": "the subject is wrong.",
        "where": "a.b",
    }
    assert err == "error: a.b: the subject is wrong.\n"


def test_an_unexpected_exception_is_one_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> Outcome:
        raise ZeroDivisionError("by\nzero")

    assert report("run", Screen(), body) == 70
    hint = "Run it again with --traceback to see where."
    assert capsys.readouterr() == ("", f"internal error: ZeroDivisionError: by zero {hint}\n")
    assert report("run", Screen(traceback=True, json=True), body) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["message"] == "ZeroDivisionError: by zero"
    assert err.startswith("internal error: ZeroDivisionError: by zero\nTraceback (most recent call last):\n")


def test_an_interrupt_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def body() -> Outcome:
        raise KeyboardInterrupt

    assert report("build", Screen(json=True), body) == 130
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == 130
    assert err == "Interrupted.\n"


def test_ctrl_c_during_a_build_ends_with_130_and_leaves_nothing(room: Path) -> None:
    (room / "small.py").write_text("import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "lucid", "build", "good.toml"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (room / "started").exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err
    assert [each for each in room.rglob("*") if each.suffix in (".mlpackage", ".npz", ".json")] == []


def test_a_reader_that_goes_away_is_no_traceback(room: Path) -> None:
    command = f"{sys.executable} -m lucid check --json {'good.toml ' * 300} | head -c 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (141, "{", "")


def on_terminal(arguments: list[str], **environment: str) -> str:
    """Return what a lucid process writes to a terminal of its own."""
    reader, terminal = pty.openpty()
    plain = {name: value for name, value in ENVIRONMENT.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "lucid", *arguments],
        env=plain | {"TERM": "xterm-256color"} | environment,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    written = b""
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        written += part
    os.close(reader)
    process.wait(timeout=60)
    return written.decode().replace("\r\n", "\n")


def test_a_terminal_gets_the_same_text_in_colour(room: Path) -> None:
    coloured = on_terminal(["check", "bad.toml", "good.toml"])
    assert "\x1b[1mbad.toml:5:1\x1b[0m" in coloured
    assert "\x1b[1;31m^^^^^\x1b[0m" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert plain == f"{BAD_TEXT}✓ good.toml  {LINE}\n1 of 2 specs are valid.\n"


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("arguments", [["check", "bad.toml"], ["inspect", "none.mlpackage"]])
def test_no_colour_where_none_is_wanted(room: Path, environment: dict[str, str], arguments: list[str]) -> None:
    assert "\x1b[" not in on_terminal(arguments, **environment)


def test_a_terminal_without_utf_8_is_no_reason_to_fail(room: Path) -> None:
    done = lucid_process("check", "good.toml", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, f"\\u2713 good.toml  {LINE}\n".replace("·", "\\xb7"))


def test_completion_knows_the_commands(room: Path) -> None:
    done = lucid_process(_LUCID_COMPLETE="complete_bash", COMP_WORDS="lucid b", COMP_CWORD="1")
    assert done.stdout.split() == ["build"]


def test_check_loads_neither_typer_nor_rich_nor_array_libraries(room: Path) -> None:
    heavy = {"typer", "click", "rich", "numpy", "coremltools", "torch", "jax", "small", "json"}
    code = (
        "import sys\nfrom lucid.cli import main\n"
        f"main(['check', 'good.toml', 'bad.toml'])\nprint(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
