"""``lucid build``: progress per stage while packages are built, then a table of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lucid.cli import streams
from lucid.cli.screen import Outcome, Screen, failure
from lucid.cli.tables import bytes_text, console, seconds_text, show_table
from lucid.errors import LucidError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from lucid.pipeline.build import BuildResult, Progress

__all__ = ["build_all"]


def build_all(specs: Sequence[str], directory: Path | None, screen: Screen) -> Outcome:
    """Build each of `specs`, go on after one that fails, and report the first failure at the end."""
    from lucid.pipeline.build import build

    built: list[BuildResult] = []
    entries: list[dict[str, object]] = []
    first: LucidError | None = None
    for spec in specs:
        try:
            with _progress(spec, screen) as progress:
                result = build(Path(spec), directory=directory, progress=progress)
        except LucidError as error:
            first = first or error
            screen.complain(error)
            entries.append({"spec": spec, "ok": False, "error": failure(error)})
        except (KeyboardInterrupt, streams.OutputError):
            raise
        except BaseException as error:
            internal = screen.unexpected(error)
            first = first or internal
            entries.append({"spec": spec, "ok": False, "error": failure(internal)})
        else:
            built.append(result)
            entries.append({"spec": spec, "ok": True, **result.as_json()})
    if built:
        show_table(
            screen,
            ["package", "size", "SHA-256", "golden check", "time"],  # the path has a line of its own: it may be long
            [
                [each.package.stem, bytes_text(each.size), each.sha256[:12], each.verdict, seconds_text(each.seconds)]
                for each in built
            ],
            numbers=["size", "time"],
        )
        for each in built:
            screen.say(str(each.package))
    if len(specs) > 1:
        screen.say(f"{len(built)} of {len(specs)} packages are built.")
    return Outcome({"packages": entries}, first)


@contextmanager
def _progress(spec: str, screen: Screen) -> Iterator[Progress]:
    """Show the stages of a build on stderr: as a moving line on a terminal, else as a line per stage."""
    if screen.quiet:
        yield lambda stage, done, total: None  # noqa: ARG005
    elif not sys.stderr.isatty():
        yield lambda stage, done, total: streams.tell(f"{spec}: {stage}") if not done else None  # noqa: ARG005
    else:
        with _moving_line(spec) as progress:
            yield progress


@contextmanager
def _moving_line(spec: str) -> Iterator[Progress]:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), TimeElapsedColumn())
    with Bars(*columns, console=console(stderr=True), transient=True) as bars:
        task: TaskID = bars.add_task(spec, total=None)

        def progress(stage: str, done: int, total: int) -> None:
            bars.update(task, description=f"{spec}  {stage}", completed=done, total=total or None)

        yield progress
