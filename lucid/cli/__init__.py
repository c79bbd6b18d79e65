"""The command line: arguments in, a function call, rendering out; no logic.

``lucid check`` of plain paths is what editors and hooks call all day, so it goes past the parser of arguments,
whose import alone takes a third of the time that is left.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

_PLAIN_OPTIONS = {"--json", "--quiet", "-q"}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `arguments` (those of the process) and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without UTF-8 is no reason to fail
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush has a place to go
        return 141
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return 130
    return code


def _run(arguments: list[str]) -> int:
    paths = [each for each in arguments[1:] if each not in _PLAIN_OPTIONS]
    if arguments[:1] == ["check"] and paths and not any(each.startswith("-") for each in paths):
        from lucid.cli.check import check
        from lucid.cli.screen import Screen, report

        screen = Screen(json="--json" in arguments, quiet=bool({"--quiet", "-q"} & set(arguments)))
        return report("check", screen, lambda: check(paths, screen))
    from lucid.cli.app import run

    return run(arguments)
