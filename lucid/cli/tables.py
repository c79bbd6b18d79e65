"""Tables and numbers for people."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lucid.cli.screen import Screen, has_colour

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["bytes_text", "console", "folded", "seconds_text", "shape_text", "show_table"]


def console(*, stderr: bool = False) -> Console:
    """Return a rich console on stdout or stderr that colours only where :func:`has_colour` says so."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    coloured = has_colour(stream)
    width = None if stream.isatty() else 160
    return Console(file=stream, no_color=not coloured, force_terminal=coloured, width=width, highlight=False)


def show_table(
    screen: Screen, headers: Sequence[str], rows: Iterable[Sequence[str]], numbers: Iterable[str] = ()
) -> None:
    """Print a table to stdout; the columns called in `numbers` are set to the right."""
    if not screen.speaks:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    right = set(numbers)
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out = console()
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        screen.say(line.rstrip())


def folded(text: str) -> str:
    """Break the lines of a text at blanks to the width of the terminal; where stdout is none, leave them."""
    if not sys.stdout.isatty():
        return text
    width = console().width
    lines = (textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False) for line in text.split("\n"))
    return "\n".join(lines)


def bytes_text(count: int) -> str:
    """Write a number of bytes: ``271 B``, ``3.4 KB``, ``269 MB``; the units are powers of 1000."""
    size, unit = float(count), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 999.5 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.3g} {unit}"


def shape_text(shape: Sequence[int]) -> str:
    """Write a shape: ``[1, 4]``, or ``scalar``."""
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def seconds_text(seconds: float) -> str:
    """Write a duration: ``0.42 ms``, ``3.1 s``, ``2 min 5 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {seconds % 60:.0f} s"
