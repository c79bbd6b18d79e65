"""What a manifest says of a package and its golden calls, compared with what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from lucid.coreml.golden.reference import Reference
from lucid.coreml.golden.verdict import Verdict
from lucid.coreml.options import DeploymentTarget, opset_of
from lucid.coreml.packaged import Feature, PackagedModel
from lucid.errors import DiffersError, PackageError
from lucid.pipeline.manifest_model import Feature as Described
from lucid.pipeline.manifest_model import Manifest, Series
from lucid.pipeline.spec import Spec, with_tuples
from lucid.pipeline.spec_tables import Input

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["compare_calls", "compare_checks", "compare_package", "compare_spec", "compare_verdict", "spec_of"]


def spec_of(content: Manifest, where: Path) -> Spec:
    """Return the spec that a manifest holds. Raises PackageError where it is not a spec."""
    try:
        return Spec.model_validate(with_tuples(content.source.spec))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, ("source", "spec", *first["loc"])))
        text = f"the manifest is not whole: {key} is not valid: {first['msg']}. Build again."
        raise PackageError(text, where=str(where)) from None


def compare_spec(content: Manifest, spec: Spec, where: Path) -> None:
    """Compare a manifest with the spec that it holds: the package's name, target, calls and tolerances."""
    package, golden = content.package, content.golden
    _same("package.path", package.path, f"{spec.package.name}.mlpackage", "the spec", where)
    _same("package.deployment_target", package.deployment_target, spec.lowering.deployment_target, "the spec", where)
    _same("golden.calls", golden.calls, spec.golden.calls, "the spec", where)
    for kind, series in (("outputs", golden.outputs), ("states", golden.states)):
        for name, each in series.items():
            asked = spec.tolerance(name)
            _same(f"golden.{kind}.{name}.atol", each.atol, asked.atol, "the spec", where)
            _same(f"golden.{kind}.{name}.rtol", each.rtol, asked.rtol, "the spec", where)


def compare_verdict(content: Manifest, where: Path) -> None:
    """Refuse a manifest whose verdict is not that of a check that passed, point by point and call by call."""
    golden = content.golden
    points: dict[str, bool] = {"passed": golden.passed, "departure": golden.departure is None}
    for kind, calls, series in (("outputs", golden.calls, golden.outputs), ("states", 1, golden.states)):
        for name, each in series.items():
            points[f"{kind}.{name}"] = _passed(each)
            _same(f"golden.{kind}.{name}.calls", len(each.calls), calls, "the check", where)
    points |= {f"checks.{name}": each.passed for name, each in golden.checks.items()}
    for name, passed in points.items():
        if not passed:
            raise DiffersError(
                f"golden.{name} is that of a check that failed; a package that fails is not kept. Build again.",
                where=str(where),
            )


def _passed(series: Series) -> bool:
    return series.passed and not any(call.fault for call in series.calls)


def compare_package(content: Manifest, model: PackagedModel, size: int, where: Path) -> None:
    """Compare a manifest with the package that was read: interface, operations, target, and the `size` of its files."""
    package, golden = content.package, content.golden
    for kind, said, found in (
        ("inputs", package.inputs, model.inputs),
        ("outputs", package.outputs, model.outputs),
        ("states", package.states, model.states),
    ):
        _same(f"package.{kind}", _described(said), _declared(found), "the package", where)
    _same("package.size", package.size, size, "the package", where)
    _same("package.operations", package.operations, len(model.function.nodes), "the package", where)
    _same("package.opset", package.opset, opset_of(model.specification_version), "the package", where)
    versions = {target.value: target.specification_version for target in DeploymentTarget}
    if versions.get(package.deployment_target) != model.specification_version:
        raise DiffersError(
            f"package.deployment_target is {package.deployment_target}, the package has specification "
            f"{model.specification_version}.",
            where=str(where),
        )
    dtypes = {value.name: value.dtype.name for node in model.function.nodes for value in node.outputs}
    for name in package.float32:  # what the target's opset made other operations of has other names
        if dtypes.get(name, "float32") != "float32":
            raise DiffersError(f"package.float32 names {name}, which is {dtypes[name]} there.", where=str(where))
    _same("golden.outputs", sorted(golden.outputs), sorted(each.name for each in model.outputs), "the package", where)
    _same("golden.states", sorted(golden.states), sorted(each.name for each in model.states), "the package", where)


def _described(features: Sequence[Described]) -> str:
    return "; ".join(f"{each.name} {each.dtype} {each.shape}" for each in features) or "none"


def _declared(features: Sequence[Feature]) -> str:
    return "; ".join(f"{each.name} {each.dtype.name} {each.shape}" for each in features) or "none"


def compare_calls(spec: Spec, reference: Reference, model: PackagedModel, where: Path) -> None:
    """Compare the stored calls with what spec and package need: how many, and each array's name, dtype and shape."""
    _counted("calls", len(reference.calls), spec.golden.calls, where)
    _counted("calls with outputs", len(reference.outputs), spec.golden.calls, where)
    held = {state.input for state in spec.states}
    inputs = {each.name: each for each in spec.inputs if each.name not in held}
    for index, call in enumerate(reference.calls):
        _named(f"call {index}", call, inputs, where)
        for name, array in call.items():
            _fits(f"call {index}, input {name}", array, _wanted(inputs[name]), where)
    for index, results in enumerate(reference.outputs):
        _results(f"call {index}", "output", results, model.outputs, where)
    _results("the last call", "state", reference.states, model.states, where)


def _results(
    call: str, kind: str, arrays: Mapping[str, NDArray[Any]], features: Sequence[Feature], where: Path
) -> None:
    _named(f"{kind}s of {call}", arrays, [each.name for each in features], where)
    for each in features:
        array = arrays[each.name]
        found = ("a float" if array.dtype.kind == "f" else "whole", array.shape)
        wanted = ("a float" if each.dtype.name.startswith("float") else "whole", each.shape or array.shape)
        _fits(f"{call}, {kind} {each.name}", array, None if found == wanted else f"{each.dtype} {each.shape}", where)


def _wanted(each: Input) -> str:
    return f"{each.dtype} {each.shape}"


def _fits(what: str, array: NDArray[Any], wanted: str | None, where: Path) -> None:
    found = f"{array.dtype} {array.shape}"
    if wanted is not None and found != wanted:
        raise DiffersError(f"{what}: the golden calls hold {found}, expected {wanted}.", where=str(where))


def _named(what: str, found: Mapping[str, Any], wanted: Iterable[str], where: Path) -> None:
    if set(found) != (names := set(wanted)):
        raise DiffersError(
            f"{what}: the golden calls hold {', '.join(sorted(found)) or 'none'}, expected "
            f"{', '.join(sorted(names)) or 'none'}.",
            where=str(where),
        )


def _counted(what: str, found: int, wanted: int, where: Path) -> None:
    if found != wanted:
        raise DiffersError(f"the golden calls hold {found} {what}, the manifest says {wanted}.", where=str(where))


def compare_checks(content: Manifest, verdict: Verdict, where: Path) -> None:
    """Compare the points of the check that a manifest records with those of the check just made."""
    made = sorted(each.name for each in verdict.checks)
    _same("golden.checks", sorted(content.golden.checks), made, "the check", where)
    _same("golden.engine", content.golden.engine, verdict.engine, "the check", where)


def _same(key: str, said: object, found: object, subject: str, where: Path) -> None:
    if said != found:
        raise DiffersError(f"{key} is {_shown(said)}, {subject} has {_shown(found)}.", where=str(where))


def _shown(value: object) -> str:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
