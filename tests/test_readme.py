"""What the README says holds: its commands, outputs and links, and what it says of coremltools."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
USE = "python -m pip install . && lucid build specs/decoder.toml"
TEST = "python -m pip install '.[test]' && pytest"


@pytest.fixture(scope="module")
def derive() -> ModuleType:
    spec = importlib.util.spec_from_file_location("derive_readme", ROOT / "docs" / "derive.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_two_commands_stand_alone_on_their_lines() -> None:
    lines = README.splitlines()
    assert lines.count(USE) == 1
    assert lines.count(TEST) == 1


def test_the_outputs_of_the_tour_are_those_of_the_commands(derive: ModuleType, tmp_path: Path) -> None:
    fresh = derive.toured(README, tmp_path)
    assert fresh.count("```console\n$ lucid ") == 5
    assert derive.masked(README) == derive.masked(fresh), f"README.md is stale. Run: {derive.COMMAND}"


def test_masking_leaves_what_must_be_the_same(derive: ModuleType) -> None:
    line = "build/decoder  220 KB   5025a245e65f   8 calls agree, off by 0.037 at most   2 min 5 s"
    other = "build/decoder  220 KB  0123456789ab   8 calls agree, off by 4e-05 at most  766 ms".replace("4e-05", "0.04")
    assert derive.masked(line) == derive.masked(other)
    assert derive.masked(line) != derive.masked(line.replace("220", "221"))
    assert derive.masked(line) != derive.masked(line.replace("8 calls", "9 calls"))
    assert derive.masked("float32 [1, 1, 256]") == "float32 [1, 1, 256]"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"(?s)```.*?```", "", text)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists(), f"{page.name} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", found.read_text("utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, f"{page.name} links to {target}"


def test_the_extras_that_pages_name_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(project["optional-dependencies"])
    named = set(re.findall(r"'\.\[(\w+)\]'", " ".join(page.read_text("utf-8") for page in PAGES)))
    assert named <= extras
    assert extras == {"examples", "test", "torch", "xla"}
    assert project["name"] == "lucid-export"


def test_the_version_is_one() -> None:
    import lucid

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == lucid.__version__
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first = re.search(r"^## (\S+)", changes, re.MULTILINE)
    assert first is not None
    assert first[1] == lucid.__version__


def test_no_frontend_and_no_engine_uses_the_extras_that_give_nothing_so_far() -> None:
    files = [path for path in (ROOT / "lucid").rglob("*.py") if "ops" not in path.parts]
    sources = "\n".join(path.read_text("utf-8") for path in files)
    assert re.findall(r"^\s*(?:import|from) (?:torch|jax)\b", sources, re.MULTILINE) == []


CONVERT = """
import hashlib, json, sys
import numpy as np
import coremltools as ct
from coremltools.converters.mil import Builder as mb

@mb.program(input_specs=[mb.TensorSpec(shape=(2,))])
def program(x):
    return mb.mul(x=x, y=2.0, name="doubled")

manifests = []
for name in ("first", "second"):
    model = ct.convert(program, convert_to="mlprogram", minimum_deployment_target=ct.target.iOS16)
    model.save(f"{name}.mlpackage")
    manifests.append(open(f"{name}.mlpackage/Manifest.json", "rb").read())
refusal = ""
if sys.platform != "darwin":
    try:
        model.predict({"x": np.ones(2, np.float32)})
    except Exception as error:
        refusal = str(error)
print(json.dumps({"same": manifests[0] == manifests[1], "refusal": refusal}))
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    import json

    room = tmp_path_factory.mktemp("coremltools")
    done = subprocess.run([sys.executable, "-c", CONVERT], capture_output=True, text=True, check=False, cwd=room)
    assert done.returncode == 0, done.stderr
    return room / "first.mlpackage", json.loads(done.stdout.splitlines()[-1])


def test_coremltools_writes_other_bytes_each_time_and_lucid_the_same(
    converted: tuple[Path, dict[str, object]], tmp_path: Path
) -> None:
    assert converted[1]["same"] is False
    import lucid
    from lucid.coreml import export

    contents = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.mlpackage"
        export(lambda x: x * 2.0, lucid.ones(2), path).close()
        contents.append({file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()})
    assert contents[0] == contents[1]


def test_coremltools_runs_no_package_on_linux_and_lucid_runs_that_of_coremltools(
    converted: tuple[Path, dict[str, object]],
) -> None:
    from lucid.coreml import load

    path, facts = converted
    if sys.platform != "darwin":
        assert "only supported on macOS" in str(facts["refusal"])
    with load(path) as package:
        assert package.predict(x=[1.0, -3.0]).tolist() == [2.0, -6.0]
