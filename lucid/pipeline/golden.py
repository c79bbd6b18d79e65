"""Stage 6: the written package against the original model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lucid.coreml.golden.checking import check
from lucid.coreml.golden.fresh import FreshProcess
from lucid.coreml.golden.verdict import Verdict
from lucid.coreml.package import load
from lucid.coreml.referee import Referee, start_referee
from lucid.dtypes import float16
from lucid.errors import GoldenError
from lucid.pipeline.package import Packaged
from lucid.pipeline.spec import Spec

__all__ = ["Checked", "Witnesses", "explain", "golden", "witnesses"]


@dataclass(frozen=True)
class Checked:
    """A package that passed, and the verdict with its figures."""

    packaged: Packaged
    verdict: Verdict


@dataclass(frozen=True)
class Witnesses:
    """Two processes that a check needs: a fresh one that runs the package again, and coremltools' own reader."""

    fresh: FreshProcess
    referee: Referee


@contextmanager
def witnesses() -> Iterator[Witnesses]:
    """Start both, so that their imports take their time beside other work, and end them whatever happens."""
    with FreshProcess() as fresh, start_referee() as referee:
        yield Witnesses(fresh, referee)


def golden(packaged: Packaged, spec: Spec, called: Witnesses, advance: Callable[[int], None] | None = None) -> Checked:
    """Run the golden check on the package read back from disk, while coremltools' own reader type-checks it.

    Raises GoldenError naming output, call and the first operation that leaves the reference, and PackageError where
    coremltools' reader refuses the package.
    """
    called.referee.submit(packaged.path)
    with load(packaged.path) as opened:
        tolerances = {name: spec.tolerance(name) for name in (*opened.output_names, *opened.state_names)}
        verdict = check(
            opened, packaged.reference, tolerances=tolerances, seen=packaged.seen, fresh=called.fresh, advance=advance
        )
    called.referee.wait()
    if not verdict.passed:
        statement = "the package does not do what the model does, and is not kept"
        raise GoldenError(explain(verdict, statement), where=str(spec.path))
    return Checked(packaged, verdict)


def explain(verdict: Verdict, statement: str) -> str:
    """Return a statement and why the golden check failed, in a few lines."""
    lines = [f"{statement}:", *(f"  {fault}" for fault in verdict.faults())]
    if verdict.departure is not None:
        lines.append(f"  It leaves the model at {verdict.departure}.")
    if verdict.departure is not None and verdict.departure.dtype == float16:
        lines.append(
            f'  Keep that value in float32 (lowering.float32 = ["{verdict.departure.value}"]), '
            "or change the model there."
        )
    return "\n".join(lines)
