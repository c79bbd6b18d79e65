"""The layers of docs/design.md hold, imports stay lazy, and the project speaks of itself alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lucid"

# Imports of a higher layer that are meant: importing module, imported unit, reason.
UPWARD = {
    ("lucid.tracing", "lucid.tensor"): "a name in annotations only; a trace never makes a tensor",
    ("lucid.tensor", "lucid.indexing"): "t[...] is syntax of the class, and its rules fill a file of their own",
    ("lucid.indexing", "lucid.functional"): "lucid.ops in the types of tensors, which stands beside its main users",
    ("lucid.tensor", "lucid.functional"): "the last line: the functions are attached as the class's methods",
}
# Modules without public names, so without __all__.
NAMELESS = {
    "lucid": "finds its names lazily; __dir__ lists them, and tests/public_surface.txt holds them",
    "lucid.__main__": "a script",
    "lucid.engines": "a folder of engines, each imported by its own name",
    "lucid.ops.families": "a folder whose files register operations",
    "lucid.pipeline": "a folder of stages, each imported by its own name",
}


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def layers() -> dict[str, int]:
    """Return the rank of each unit in the table of docs/design.md."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| `(lucid[\w.]*)` \|", page, re.MULTILINE)
    return {unit: int(rank) for rank, unit in rows}


def unit_of(module: str) -> str:
    """Return the unit of the table that a module belongs to: itself, or its package directly below lucid."""
    return ".".join(module.split(".")[:2])


def imports(module: str, source: str) -> Iterator[tuple[str, int]]:
    """Yield the modules of lucid that `module` imports anywhere in its source, with the line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((each.name, node.lineno) for each in node.names if each.name.split(".")[0] == "lucid")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if MODULES[module].name == "__init__.py" else module.split(".")[:-1]
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [base])])
            if base.split(".")[0] == "lucid":
                for each in node.names:
                    full = f"{base}.{each.name}"
                    yield (full if full in MODULES else base), node.lineno


def violations(module: str, source: str, ranks: dict[str, int]) -> list[str]:
    """Return the imports of `module` that point upwards and are not among the exceptions."""
    own = unit_of(module)
    return [
        f"{module}:{line} (layer {ranks[own]}) imports {target} (layer {ranks[unit_of(target)]})"
        for target, line in imports(module, source)
        if unit_of(target) != own and ranks[unit_of(target)] > ranks[own] and (module, unit_of(target)) not in UPWARD
    ]


def test_the_table_has_every_unit_once_and_in_order() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \| `(lucid[\w.]*)` \|", page, re.MULTILINE)
    assert [int(rank) for rank, _ in listed] == list(range(1, len(listed) + 1))
    units = [unit for _, unit in listed]
    assert sorted(units) == sorted({unit_of(module) for module in MODULES})


def test_no_module_imports_a_higher_layer() -> None:
    ranks = layers()
    found = [each for module, path in MODULES.items() for each in violations(module, path.read_text("utf-8"), ranks)]
    assert not found, "\n".join(found)


def test_the_exceptions_are_needed() -> None:
    needed = {
        (module, unit_of(target))
        for module, path in MODULES.items()
        for target, _ in imports(module, path.read_text("utf-8"))
    }
    assert set(UPWARD) <= needed


@pytest.mark.parametrize(
    "source",
    [
        "import lucid.coreml.exporting",
        "from lucid.coreml import load",
        "from lucid import coreml",
        "from lucid import Tensor",
        "from ..coreml import load",
        "def late():\n    from lucid.cli import main",
        "if False:\n    import lucid",
    ],
)
def test_the_search_sees_every_form_of_import(source: str) -> None:
    assert len(violations("lucid.graph.model", source, layers())) == 1


def test_a_lower_layer_may_be_imported() -> None:
    assert violations("lucid.graph.model", "from lucid.dtypes import DType\nimport numpy", layers()) == []


def test_every_module_says_what_is_public() -> None:
    without = []
    for module, path in MODULES.items():
        tree = ast.parse(path.read_text("utf-8"))
        targets = [
            target
            for node in tree.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        ]
        if not any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            without.append(module)
    assert sorted(without) == sorted(NAMELESS)


def loaded_after(code: str, tmp_path: Path) -> set[str]:
    """Return the top-level and lucid modules that are loaded after `code` ran in a fresh process."""
    script = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("unit", sorted({unit_of(module) for module in MODULES} - {"lucid.__main__"}))
def test_every_unit_can_be_imported_first(unit: str, tmp_path: Path) -> None:
    assert unit in loaded_after(f"import {unit}", tmp_path)


def test_importing_lucid_loads_no_array_library(tmp_path: Path) -> None:
    loaded = loaded_after("import lucid", tmp_path)
    assert {name for name in loaded if name.split(".")[0] == "lucid"} == {"lucid"}
    assert loaded.isdisjoint({"numpy", "coremltools", "torch", "jax", "pydantic", "typer"})


def test_reading_a_spec_loads_no_array_library(tmp_path: Path) -> None:
    spec = ROOT / "specs" / "decoder.toml"
    loaded = loaded_after(f"from lucid.pipeline.spec import read\nread({str(spec)!r})", tmp_path)
    assert "lucid.pipeline.spec" in loaded
    assert loaded.isdisjoint({"numpy", "coremltools", "torch", "jax", "typer", "rich"})


def test_running_a_package_loads_only_the_runtime(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "import lucid.coreml as cml\n"
        "package = cml.load({path!r})\n"
        "assert package.run({{'x': np.array([1.0, 2.0], np.float32)}})['output_0'].tolist() == [2.0, 4.0]"
    )
    import lucid
    from lucid.coreml import export

    path = tmp_path / "double.mlpackage"
    export(lambda x: x * 2.0, lucid.ones(2), path).close()
    loaded = loaded_after(code.format(path=str(path)), tmp_path)
    assert "lucid.coreml.package" in loaded
    assert loaded.isdisjoint({"pydantic", "typer", "rich", "torch", "coremltools", "jax"})
    assert loaded.isdisjoint({"lucid.nn", "lucid.optim", "lucid.pipeline", "lucid.cli"})


BANNED = {
    r"(?<!scope=\")\b[Ss]essions?\b": "the project has no sessions",
    r"\b[Aa]gents?\b": "nor agents",
    r"\b[Ss]ubagents?\b": "nor subagents",
    r"\b[Ii]ssues? #?\d": "a reader of the code has no list of issues at hand; say what it is about",
    r"(?<![\w&/(])#\d+\b": "as above",
    r"/(work|farm)/": "a path of one machine",
    r"\b(TODO|FIXME|XXX)\b": "finish it, or describe what is missing in docs/design.md",
}


def tracked() -> list[Path]:
    """Return the project's files as git knows them, or all that are there where this is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, check=False, cwd=ROOT)
    if listed.returncode == 0 and listed.stdout:
        return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    folders = ("lucid", "specs", "examples", "tests", "docs", "benchmarks", ".ci")
    return [*ROOT.glob("*.*"), *(path for name in folders for path in (ROOT / name).rglob("*") if path.is_file())]


def test_the_project_speaks_of_itself_alone() -> None:
    found = []
    for path in tracked():
        if path == Path(__file__) or path.suffix not in (".py", ".md", ".toml", ".yaml", ".txt", ".json", ""):
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            found += [f"{path.relative_to(ROOT)}:{number}: {line.strip()} ({why})"
                      for pattern, why in BANNED.items() if re.search(pattern, line)]  # fmt: skip
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", ["in this session", "# see issue 12", "fixes #12", "/work/main", "# TODO: later"])
def test_the_search_finds_what_is_banned(line: str) -> None:
    assert any(re.search(pattern, line) for pattern in BANNED)
