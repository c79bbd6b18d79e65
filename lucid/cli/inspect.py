"""``lucid inspect``: what a package takes, gives, keeps and is made of."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucid.cli.screen import Outcome, Screen, paint_on
from lucid.cli.tables import bytes_text, folded, shape_text, show_table

if TYPE_CHECKING:
    from lucid.coreml.packaged import Feature, PackagedModel
    from lucid.graph import Node

__all__ = ["inspect_package"]


def inspect_package(path: Path, screen: Screen) -> Outcome:
    """Read the package at `path` and describe it."""
    from lucid.coreml.reading import read

    model = read(path)
    facts = _facts(path, model)
    _show(facts, screen)
    return Outcome(facts)


def _facts(path: Path, model: PackagedModel) -> dict[str, Any]:
    from lucid.coreml.options import opset_of

    operations = Counter(node.op for node in _nodes(model.function.nodes))
    files = sorted(file for file in path.rglob("*") if file.is_file())
    metadata = {name: getattr(model.metadata, name) for name in ("description", "author", "license", "version")}
    return {
        "path": str(path),
        "size": sum(file.stat().st_size for file in files),
        "specification_version": model.specification_version,
        "opset": model.function.opset or opset_of(model.specification_version),
        "metadata": metadata | {"user_defined": dict(model.metadata.user_defined)},
        "functions": sorted(model.functions),
        "inputs": [_feature(each) for each in model.inputs],
        "outputs": [_feature(each) for each in model.outputs],
        "states": [_feature(each) for each in model.states],
        "operations": dict(sorted(operations.items(), key=lambda item: (-item[1], item[0]))),
        "files": {file.relative_to(path).as_posix(): file.stat().st_size for file in files},
    }


def _nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for block in node.blocks:
            yield from _nodes(block.nodes)


def _feature(feature: Feature) -> dict[str, Any]:
    """Return what a feature is; what only some have (several shapes, a default, a layout of pixels) where it has it."""
    from lucid.coreml.packaged import shape_text as accepted

    facts: dict[str, Any] = {"name": feature.name, "dtype": feature.dtype.name, "shape": list(feature.shape)}
    facts["kind"] = feature.kind
    if feature.ranges or feature.choices:
        facts["accepts"] = accepted(feature)
    if feature.is_optional:
        facts["default"] = feature.default or 0
    if feature.layout:
        facts["layout"] = feature.layout
    return facts


def _shape(facts: dict[str, Any]) -> str:
    shape: str = facts["accepts"] if "accepts" in facts else shape_text(facts["shape"])
    return f"{shape} = {facts['default']:g}" if "default" in facts else shape


def _show(facts: dict[str, Any], screen: Screen) -> None:
    paint = paint_on(sys.stdout)
    screen.say(
        f"{paint('place', facts['path'])}  "
        + paint(
            "dim", f"{bytes_text(facts['size'])} · specification {facts['specification_version']} · {facts['opset']}"
        )
    )
    told = {name: text for name, text in facts["metadata"].items() if text and isinstance(text, str)}
    told |= facts["metadata"]["user_defined"]
    width = max(map(len, told), default=0)
    for name, text in told.items():
        screen.say(f"{paint('dim', f'{name:<{width}}')}  {text}")
    rows = [
        [kind, each["name"], each.get("layout", each["dtype"]), _shape(each)]
        for kind in ("input", "output", "state")
        for each in facts[f"{kind}s"]
    ]
    screen.say("")
    show_table(screen, ["", "name", "dtype", "shape"], rows)
    total = sum(facts["operations"].values())
    listed = ", ".join(f"{count} {name}" for name, count in facts["operations"].items())
    screen.say(folded(f"\n{total} operations, constants not counted{': ' if listed else ''}{listed}"))
    if len(facts["functions"]) > 1:
        screen.say(f"functions: {', '.join(facts['functions'])}")
