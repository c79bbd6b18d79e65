"""``lucid verify``: a build against its manifest, its golden check repeated."""

from __future__ import annotations

import sys
from pathlib import Path

from lucid.cli.screen import Outcome, Screen, paint_on

__all__ = ["verify_build"]


def verify_build(directory: Path, screen: Screen) -> Outcome:
    """Verify the build in `directory`; what differs is raised by the pipeline."""
    from lucid.pipeline.verify import verify

    result = verify(directory)
    paint = paint_on(sys.stdout)
    width = max(map(len, result.checks), default=0)
    for name, detail in result.checks.items():
        screen.say(f"{paint('good', '✓')} {name:<{width}}  {paint('dim', detail)}")
    screen.say(f"{result.package} is what its manifest says.")
    return Outcome(dict(result.as_json()))
