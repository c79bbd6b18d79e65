"""Reproducible builds: the same bytes everywhere, the sources as they were read, the package as it was checked."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.errors
from faults.project import HEAD, built, packaged, spec_text
from lucid.coreml import Metadata, export, load
from lucid.errors import LoadError
from lucid.pipeline.build import build

ROOT = Path(lucid.errors.__file__).parents[1]
MODEL = """
class Model(nn.Module):
    def __init__(self, width=8, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])

    def forward(self, x, s):
        for layer in self.layers:
            x = F.gelu(layer(x))
        s = s + x
        return {"y": s * 0.5, "new_s": s}
"""
INPUTS = {"x": "shape = [1, 8]; values = {normal = {}}", "s": "shape = [1, 8]"}
SPEC = spec_text(INPUTS, states={"s": "new_s"}, precision="float16", more="seed = 3")


def started(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start lucid in a new process, with `folder` as the current one."""
    return subprocess.Popen(
        [sys.executable, "-m", "lucid", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def content(directory: Path) -> dict[str, Any]:
    """Return the digest of every file of a build; of the manifest, what is not about the run."""
    found: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            found[path.relative_to(directory).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = json.loads((directory / "manifest.json").read_text())
    del manifest["run"]
    return {**found, "manifest.json": manifest}


def test_f11_f12_three_processes_give_the_same_bytes(tmp_path: Path) -> None:
    """Random identifiers and unordered maps made every save another one. Three processes that differ in hash seed,
    folder, time zone and locale give the same whole build; the manifest pins what wrote it."""
    surroundings = [
        {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
        {"PYTHONHASHSEED": "31337", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
    ]
    folders = []
    for number in range(len(surroundings)):
        folder = tmp_path / ("other place " * number).strip() / f"p{number}"
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(HEAD + MODEL)
        (folder / "model.toml").write_text(SPEC)
        folders.append(folder)
    running = [
        started(folder, "build", "model.toml", **each) for folder, each in zip(folders, surroundings, strict=True)
    ]
    for process in running:
        _, complaint = process.communicate()
        assert process.returncode == 0, complaint
    results = [content(folder / "build" / "model") for folder in folders]
    assert results[0] == results[1] == results[2]
    assert len(results[0]) == 5
    assert set(results[0]["manifest.json"]["tools"]) >= {"lucid-export", "numpy", "coremltools", "protobuf"}


def test_f11_the_same_process_twice(tmp_path: Path) -> None:
    """Twice in one process, in two folders: every file is equal."""
    assert content(built(tmp_path / "a", MODEL, SPEC).directory) == content(
        built(tmp_path / "b", MODEL, SPEC).directory
    )


def test_f11_an_export_is_reproducible_too(tmp_path: Path) -> None:
    """One layer, two folders, equal files; one number of its weight changed, other files."""
    layer = lucid.nn.Linear(4, 4).eval()
    trees = []
    for name in ("one", "two", "three"):
        if name == "three":
            layer.weight = lucid.nn.Parameter(layer.weight + lucid.tensor(np.eye(4, dtype=np.float32)[:1] * 0.5))
        export(layer, lucid.ones(1, 4), tmp_path / name / "m.mlpackage")
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        trees.append({path.name: path.read_bytes() for path in files})
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]


WEIGHTY = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)
"""
TOUCH = """
from pathlib import Path

HERE = Path(__file__).parent
NEW = {"layer.weight": lucid.ones(4, 4), "layer.bias": lucid.ones(4)}
"""
REWRITES = {
    "its weights at import": f"{TOUCH}lucid.save({{**NEW}}, HERE / 'w.safetensors')\n",
    "its source at import": f"{TOUCH}with open(__file__, 'a') as file: file.write('# more')\n",
    "an imported module": f"{TOUCH}import part\n(HERE / 'part.py').write_text('NUMBER = 2')\n",
    "its source on a call": None,
}


@pytest.mark.parametrize("what", REWRITES)
def test_f36_files_that_change_while_they_are_read_are_refused(tmp_path: Path, what: str) -> None:
    """Digests were taken after the run, of files that were not those that had been read."""
    lucid.save({"layer.weight": lucid.zeros(4, 4), "layer.bias": lucid.zeros(4)}, tmp_path / "w.safetensors")
    (tmp_path / "part.py").write_text("NUMBER = 1\n")
    rewrite = REWRITES[what]
    model = WEIGHTY + (rewrite or "")
    if rewrite is None:
        model = WEIGHTY.replace("        return", "        open(__file__, 'a').close()\n        return")
        model = model.replace("open(__file__, 'a').close()", "__import__('pathlib').Path(__file__).write_text('')")
    spec = spec_text({"x": "shape = [1, 4]; values = {normal = {}}"}, more='weights = "w.safetensors"')
    with pytest.raises(LoadError, match="the file changed while the model was being loaded"):
        built(tmp_path, model, spec)
    assert not (tmp_path / "result").exists()


def test_f36_the_manifest_holds_the_digests_of_what_was_read(tmp_path: Path) -> None:
    """Sources, what they import, and the weights; a file that changes after the build is another one."""
    lucid.save({"layer.weight": lucid.ones(4, 4), "layer.bias": lucid.zeros(4)}, tmp_path / "w.safetensors")
    (tmp_path / "part.py").write_text("NUMBER = 1\n")
    (tmp_path / "unused.py").write_text("raise RuntimeError\n")
    spec = spec_text({"x": "shape = [1, 4]; values = {normal = {}}"}, more='weights = "w.safetensors"')
    source = built(tmp_path, "import part\n" + WEIGHTY, spec).manifest.source
    digests = {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        for name in ("model.py", "part.py", "w.safetensors")
    }
    assert dict(source.files) == digests
    assert source.weights_sha256 == digests["w.safetensors"]
    assert source.spec_sha256 == hashlib.sha256((tmp_path / "model.toml").read_bytes()).hexdigest()


STACK = """
class Model(nn.Module):
    def __init__(self, depth=1):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(1024, 1024, bias=False) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_f49_memory_stays_below_three_times_the_weights(tmp_path: Path) -> None:
    """Several full copies of the weights were alive at once. 24 layers of 1024 x 1024 are 100 MB in float32.

    One process builds one layer, then 25: what its peak grows by is the layers' share.
    """
    (tmp_path / "model.py").write_text(HEAD + STACK)
    program = "import sys; from lucid.pipeline.build import build; build(sys.argv[1]); build(sys.argv[2])"
    specs = []
    for depth in (1, 25):
        specs.append(tmp_path / f"{depth}.toml")
        more = f"arguments = {{depth = {depth}}}"
        text = spec_text({"x": "shape = [1, 1024]; values = {normal = {}}"}, precision="float16", calls=2, more=more)
        specs[-1].write_text(text.replace('name = "model"', f'name = "stack{depth}"'))
    subprocess.run(
        [sys.executable, "-c", program, *map(str, specs)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
    )
    small, large = (
        max(stage["peak_memory"] for stage in json.loads(path.read_text())["run"]["stages"].values())
        for path in (tmp_path / "build/stack1/manifest.json", tmp_path / "build/stack25/manifest.json")
    )
    assert 0 < large - small < 3 * 24 * 1024 * 1024 * 4


def test_f52_what_the_spec_says_is_in_the_saved_package(tmp_path: Path) -> None:
    """Fields that were set in memory were not in the saved file. Read back in a new process."""
    about = {"author": "A. Müller", "description": 'Zwei Lagen, "gelu"', "license": "MIT", "version": "1.2.3"}
    lines = "\n".join(f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in about.items())
    result = built(tmp_path, MODEL, SPEC.replace("[model]", f"{lines}\n[model]", 1))
    program = (
        "import json, sys; from lucid.coreml import load; p = load(sys.argv[1]); m = p.model.metadata; "
        "names = [p.input_names, p.output_names, p.state_names]; "
        "print(json.dumps([m.author, m.description, m.license, m.version, *names, "
        "p.predict(x=[[1.0] * 8]).tolist()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(result.package)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    read = json.loads(done.stdout)
    assert read[:4] == list(about.values())
    assert read[4:7] == [["x"], ["y"], ["s"]]
    with load(result.package) as package:
        assert read[7] == package.predict(np.ones((1, 8), np.float32)).tolist()


def test_f52_a_package_over_an_older_larger_one_leaves_nothing_of_it(tmp_path: Path) -> None:
    """The old weights were left behind, or the new ones missing. Larger, then without any weights, then larger."""
    path = tmp_path / "m.mlpackage"
    export(lucid.nn.Linear(64, 64).eval(), lucid.ones(1, 64), path)
    large = sorted(each.relative_to(path).as_posix() for each in path.rglob("*"))
    (path / "Data" / "stray.bin").write_bytes(b"old")
    export(lambda x: x * 2.0, lucid.ones(1, 4), path)
    assert sorted(each.relative_to(path).as_posix() for each in path.rglob("*")) == [
        each for each in large if "weight" not in each
    ]
    export(lucid.nn.Linear(64, 64).eval(), lucid.ones(1, 64), path, metadata=Metadata("one", "two"))
    assert sorted(each.relative_to(path).as_posix() for each in path.rglob("*")) == large
    with load(path) as package:
        assert (package.model.metadata.description, package.model.metadata.author) == ("one", "two")


def test_f52_a_build_over_an_older_one_holds_its_own_files_only(tmp_path: Path) -> None:
    """The folder of a build is replaced whole, and an aborted one leaves the older as it was."""
    large = built(tmp_path, MODEL, SPEC)
    assert (large.package / "Data/com.apple.CoreML/weights/weight.bin").exists()
    before = content(large.directory)
    (tmp_path / "model.py").write_text(HEAD + MODEL.replace("s * 0.5", "undefined"))
    with pytest.raises(lucid.errors.LucidError, match="undefined"):
        build(tmp_path / "model.toml", directory=tmp_path / "result")
    assert content(large.directory) == before
    small = built(tmp_path, MODEL, SPEC.replace("seed = 3", "arguments = {depth = 0}"))
    files = {each.relative_to(small.package).as_posix() for each in small.package.rglob("*") if each.is_file()}
    assert files == set(small.manifest.package.files) == {"Manifest.json", "Data/com.apple.CoreML/model.mlmodel"}
    shutil.rmtree(small.directory)


def test_f52_the_package_that_was_checked_is_the_one_that_is_returned() -> None:
    """What ``export`` gives back is read from disk, so its numbers are the file's."""
    package = packaged(lambda x: x * 3.0, lucid.ones(2))
    assert package.path is not None
    with load(package.path) as again:
        assert again.predict(np.ones(2, np.float32)).tolist() == package.predict(np.ones(2, np.float32)).tolist()
