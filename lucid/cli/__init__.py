"""The command line: arguments in, a function call, rendering out; no logic.

``lucid check`` of plain paths is what editors and hooks call all day, so it goes past the parser of arguments:
to import typer and to set up five commands would take longer than to check a hundred specs.
"""

from __future__ import annotations

import gc
import sys

from lucid.cli import streams
from lucid.cli.signals import code_of, endings, word_of

__all__ = ["main"]

_PLAIN_OPTIONS = {"--json", "--quiet", "-q"}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `arguments` (those of the process) and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    streams.give_all()
    with endings() as asked:
        try:
            code = _run(arguments)
            streams.flush()
        except streams.OutputError as error:
            streams.discard(sys.stdout)
            code = 141 if error.reader_is_gone else _unwritten(error)
        except KeyboardInterrupt as error:
            streams.discard(sys.stdout)  # its reader may be what the process was waiting for
            streams.tell(word_of(error))
            code = code_of(error)
    return 128 + asked.number if code and asked.number else code


def _unwritten(error: streams.OutputError) -> int:
    from lucid.cli.screen import Screen

    Screen().complain(error.fault)
    return error.fault.code


def _run(arguments: list[str]) -> int:
    paths = [each for each in arguments[1:] if each not in _PLAIN_OPTIONS]
    if arguments[:1] == ["check"] and paths and not any(each.startswith("-") for each in paths):
        return _check(paths, as_json="--json" in arguments, quiet=not {"--quiet", "-q"}.isdisjoint(arguments))
    from lucid.cli.app import run

    return run(arguments)


def _check(paths: list[str], *, as_json: bool, quiet: bool) -> int:
    collects = gc.isenabled()
    gc.disable()  # imports make many objects and no garbage: looking for it costs a twelfth of the time
    try:
        from lucid.cli.check import check
        from lucid.cli.screen import Screen, report

        screen = Screen(json=as_json, quiet=quiet)
        return report("check", screen, lambda: check(paths, screen))
    finally:
        if collects:
            gc.enable()
