"""``lucid check``: read specs, and nothing but specs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from lucid.cli.screen import Outcome, Screen, paint_on
from lucid.errors import SpecError
from lucid.pipeline.spec import Spec, read

__all__ = ["check"]


def check(paths: Sequence[str], screen: Screen) -> Outcome:
    """Check the specs at `paths`, all of them, and say of each what it is or what is wrong with it."""
    paint = paint_on(sys.stdout)
    column = min(60, max(map(len, paths)))
    results: list[dict[str, Any]] = []
    first: SpecError | None = None
    for path in paths:
        try:
            spec = read(path)
        except SpecError as error:
            first = first or error
            screen.complain(error)
            results.append({"path": path, "ok": False, "digest": None, "spec": None, "findings": _findings(error)})
        else:
            screen.say(f"{paint('good', '✓')} {path:<{column}}  {paint('dim', _summary(spec))}")
            resolved = spec.resolved() if screen.json else None
            results.append({"path": path, "ok": True, "digest": spec.digest, "spec": resolved, "findings": []})
    valid = sum(each["ok"] for each in results)
    if len(paths) > 1:
        screen.say(f"{valid} of {len(paths)} specs are valid.")
    return Outcome({"specs": results}, first)


def _summary(spec: Spec) -> str:
    parts = [spec.package.name, _count(len(spec.inputs), "input")]
    if spec.outputs:
        parts.append(_count(len(spec.outputs), "output"))
    if spec.states:
        parts.append(_count(len(spec.states), "state"))
    parts += [spec.lowering.precision, spec.lowering.deployment_target, _count(spec.golden.calls, "golden call")]
    return " · ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _findings(error: SpecError) -> list[dict[str, Any]]:
    if not error.findings:
        whole = {"line": None, "column": None, "length": None, "key": None}
        return [{"file": error.where, **whole, "message": error.message}]
    return [
        {name: getattr(each, name) for name in ("file", "line", "column", "length", "key", "message")}
        for each in error.findings
    ]
