"""Bring every page and file that follows from the code up to date: ``python docs/derive.py``.

A page keeps its own words; what stands between the two markers is derived. In the README it is the spec and what the
commands of the tour print.
"""

# ruff: noqa: E402 -- the checkout is put on the path before lucid is imported, whatever is installed

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from typer.models import ArgumentInfo, OptionInfo

import lucid
from lucid import errors
from lucid.cli.exits import EXITS
from lucid.pipeline.manifest_model import schema_text as manifest_schema
from lucid.pipeline.spec_reference import BEGIN, END
from lucid.pipeline.spec_reference import refreshed as spec_page
from lucid.pipeline.spec_reference import schema_text as spec_schema

COMMAND = "python docs/derive.py"
SURFACES = ("lucid", "lucid.coreml", "lucid.functional", "lucid.nn", "lucid.nn.functional")


def error_table() -> str:
    """Return the classes of lucid.errors, in the order of their definition."""
    classes = [each for each in vars(errors).values() if inspect.isclass(each) and issubclass(each, errors.LucidError)]
    return table(
        ["class", "kind", "exit code", "is also", "meaning"],
        (
            [
                f"`{each.__name__}`",
                f"`{each.kind}`",
                str(each.code),
                ", ".join(f"`{base.__name__}`" for base in each.__bases__ if base is not Exception),
                first_line(each),
            ]
            for each in classes
        ),
    )


def command_line() -> str:
    """Return the exit codes, then each command with its arguments and options."""
    from lucid.cli.app import app

    parts = ["## Exit codes\n", table(["code", "meaning"], ([str(code), text] for code, text in EXITS.items()))]
    for command, function in ((each, each.callback) for each in app.registered_commands if each.callback):
        taken = parameters(function)
        positional = [info.metavar for info, _, _ in taken if isinstance(info, ArgumentInfo)]
        usage = " ".join(["lucid", command.name or function.__name__, *positional, "[OPTIONS]"])
        rows = ([written(info, name, default), meaning(info, default)] for info, name, default in taken)
        parts += [f"## `{usage}`\n", f"{inspect.cleandoc(function.__doc__ or '')}\n", table(["", "meaning"], rows)]
    return "\n".join(parts)


Parameter = tuple[ArgumentInfo | OptionInfo, str, Any]


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return what typer knows of each parameter of a command, with its name and default."""
    found = inspect.signature(function, eval_str=True).parameters.values()
    return [(each.annotation.__metadata__[0], each.name, each.default) for each in found]


def written(info: ArgumentInfo | OptionInfo, name: str, default: Any) -> str:
    """Return how a parameter is written on the command line."""
    if isinstance(info, ArgumentInfo):
        return f"`{info.metavar}`"
    takes = "" if isinstance(default, bool) else f" {info.metavar or 'N'}"
    first = (
        info.default if isinstance(info.default, str) else f"--{name}"
    )  # in an annotation typer takes it for a default
    options = [first, *(info.param_decls or ())]
    return ", ".join(f"`{option}{takes}`" for option in options)


def meaning(info: ArgumentInfo | OptionInfo, default: Any) -> str:
    """Return what a parameter means, and its default where it is a number."""
    is_number = isinstance(default, int) and not isinstance(default, bool)
    return f"{info.help} Default: {default}." if is_number else str(info.help)


def operation_tables() -> str:
    """Return one table of operations per family."""
    from lucid.ops import registry

    records = sorted(registry.values(), key=lambda each: (each.family, each.name))
    parts = [f"{len(records)} operations in {len({each.family for each in records})} families.\n"]
    for family in dict.fromkeys(each.family for each in records):
        rows = (
            [
                f"`{each.name}`",
                "; ".join(
                    [
                        each.since,
                        *(f"`{what}` {opset}" for what, opset in each.later.items()),
                        *(f"`{what}` until {opset}" for what, opset in each.until.items()),
                    ]
                ),
                str(len(each.samples)),
                ", ".join(word for word in ("exact", "typed") if getattr(each, word)),
                first_line(each),
            ]
            for each in records
            if each.family == family
        )
        parts += [f"## {family}\n", table(["operation", "since", "samples", "kind", "meaning"], rows)]
    return "\n".join(parts)


def public_surface() -> str:
    """Return the public names of the packages that users import from, one a line."""
    from importlib import import_module

    lines = []
    for name in SURFACES:
        module = import_module(name)
        names = dir(lucid) if module is lucid else module.__all__
        lines += [f"{name}.{each}" for each in sorted(names)]
    return "\n".join(lines) + "\n"


def first_line(subject: Any) -> str:
    """Return the first sentence of a docstring, on one line, fit for a cell of a table."""
    first = inspect.cleandoc(subject.__doc__).split("\n\n")[0]
    return re.sub(r":\w+:`", "`", " ".join(first.split()).replace("|", "\\|").replace("``", "`"))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, with a line break at its end."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def spliced(page: str, content: str) -> str:
    """Return `page` with what stands between the markers replaced by `content`."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"the page lacks its markers: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{content}\n{END}{after}"


def derived() -> Iterator[tuple[Path, str]]:
    """Yield each derived file and what it should hold."""
    pages = {"errors": error_table, "cli": command_line, "operations": operation_tables}
    for name, content in pages.items():
        path = ROOT / "docs" / f"{name}.md"
        yield path, spliced(path.read_text(encoding="utf-8"), content())
    spec = ROOT / "docs" / "spec.md"
    yield spec, spec_page(spec.read_text(encoding="utf-8"))
    yield ROOT / "docs" / "spec.schema.json", spec_schema()
    yield ROOT / "docs" / "manifest.schema.json", manifest_schema()
    yield ROOT / "tests" / "public_surface.txt", public_surface()


def toured(page: str, room: Path) -> str:
    """Return the README with the spec as it is and the outputs that its commands give in the folder `room`."""
    for folder in ("specs", "examples"):
        shutil.copytree(ROOT / folder, room / folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = (ROOT / "specs" / "decoder.toml").read_text(encoding="utf-8")
    page = re.sub(r"(?s)```toml\n.*?```", lambda _: f"```toml\n{spec}```", page)
    return re.sub(r"(?s)```console\n\$ (lucid [^\n]*)\n.*?```", lambda found: _answered(found[1], room), page)


def _answered(command: str, room: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=room, env=environment, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"{command} ends with {done.returncode}: {done.stderr}")
    return f"```console\n$ {command}\n{done.stdout.rstrip()}\n```"


def masked(page: str) -> str:
    """Return a page without what differs from machine to machine: times, digests, the last digits of numbers."""
    page = re.sub(r"\b[0-9a-f]{12}\b", "DIGEST", page)
    page = re.sub(r"-?\b\d+(\.\d+)?(e-?\d+)? (ms|s|min \d+ s)\b", "TIME", page)
    return re.sub(r" +", " ", re.sub(r"-?\b\d+\.\d+(e-?\d+)?\b", "NUMBER", page))


def main() -> None:
    """Write what is stale and say so."""
    for path, content in derived():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)} is refreshed\n")
    readme = ROOT / "README.md"
    page = readme.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as room:
        fresh = toured(page, Path(room))
    if masked(fresh) != masked(page):
        readme.write_text(fresh, encoding="utf-8")
        sys.stdout.write("README.md is refreshed\n")


if __name__ == "__main__":
    main()
