"""Whole builds: what they leave, and that nothing is lost when they fail, are killed or meet each other."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lucid
import lucid.coreml as cml
from lucid.errors import (
    DiffersError,
    GoldenError,
    LoadError,
    LucidError,
    PackageError,
    RefusedError,
    TraceError,
    UsageError,
)
from lucid.pipeline.build import build
from lucid.pipeline.verify import verify

ROOT = Path(__file__).parents[2]


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def change(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


def test_what_a_build_leaves(project: Path) -> None:
    result = build("total.toml")
    assert result.directory == Path("build/total")
    assert sorted(path.name for path in result.directory.iterdir()) == [
        "golden.npz",
        "manifest.json",
        "total.mlpackage",
    ]
    with cml.load(result.package) as package:
        assert (package.input_names, package.output_names, package.state_names) == (["x"], ["scaled"], ["total"])
        outputs = [package.predict(lucid.ones(1, 4) * 3.0) for _ in range(2)]
        assert [each.tolist() for each in outputs] == [[[6.0] * 4], [[12.0] * 4]]
    assert list(verify(result.directory).checks) == ["files", "types", "golden"]


def test_the_manifest_of_a_build(project: Path) -> None:
    manifest = json.loads((build("total.toml").directory / "manifest.json").read_text())
    assert manifest["package"]["states"] == [{"name": "total", "dtype": "float16", "shape": [1, 4]}]
    assert manifest["package"]["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 4]}]
    assert list(manifest["source"]["files"]) == ["total.py"]
    assert manifest["golden"]["passed"]
    assert [call["max_abs"] for call in manifest["golden"]["outputs"]["scaled"]["calls"]] == [0, 0, 0, 0]
    assert set(manifest["run"]["stages"]) == {"load", "trace", "pair", "lower", "package", "golden"}


def test_progress_names_each_stage(project: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    build("total.toml", progress=lambda *step: seen.append(step))
    assert [stage for stage, done, _ in seen if not done] == [
        "load",
        "trace",
        "pair",
        "lower",
        "package",
        "golden",
        "manifest",
    ]
    assert [step for step in seen if step[0] == "golden"] == [("golden", done, 4) for done in range(5)]


@pytest.mark.parametrize(
    ("old", "new", "error", "text"),
    [
        ("class Total", "raise KeyError('gone')\nclass Total", LoadError, "importing it raised KeyError: 'gone'"),
        ("class Total", "class Totol", LoadError, "total has no attribute Total. Did you mean Totol?"),
        ("self.factor = factor", "raise ValueError('no')", LoadError, "calling it raised ValueError: no"),
        ("factor: float", "other: float", LoadError, "unexpected keyword argument 'factor'"),
        (
            "total = total + x",
            "raise OSError('disk')",
            TraceError,
            "call 0 of the original model: the model raised OSError: disk",
        ),
        ("return total * self.factor, total", "return None", TraceError, "is a NoneType"),
        (
            "return total * self.factor, total",
            "return total",
            TraceError,
            "2 names are given (scaled, new_total), the model returns 1",
        ),
        ("total = total + x", "total = total + float('nan') * x", LoadError, "itself gives NaN in scaled at call 0"),
        ("total = total + x", "total += x", RefusedError, "input total is written in place"),
        ("total = total + x", "self.factor += 1.0; total = total + x", RefusedError, "factor was 2.0, is 3.0"),
        (
            "return total * self.factor, total",
            "return x * self.factor, total",
            GoldenError,
            "with the state held at zero all 3 later",
        ),
        (
            "(self, x: Tensor, total: Tensor)",
            "(self, x: Tensor, other: Tensor)",
            TraceError,
            "unexpected keyword argument 'total'",
        ),
    ],
)
def test_a_model_that_fails_loses_nothing(
    project: Path, old: str, new: str, error: type[LucidError], text: str
) -> None:
    before = tree(build("total.toml").directory)
    change("total.py", old, new)
    with pytest.raises(error) as caught:
        build("total.toml")
    assert text in str(caught.value)
    assert tree(Path("build")) == {f"total/{name}": content for name, content in before.items()}


def test_weights_of_another_shape(project: Path) -> None:
    Path("linear.py").write_text("from lucid.nn import Linear\n")
    lucid.save({"weight": lucid.ones(3, 4), "bias": lucid.ones(3)}, "linear.safetensors")
    spec = (
        'lucid = 1\n[package]\nname = "linear"\n[model]\nentry = "linear.py:Linear"\n'
        'arguments = {in_features = 4, out_features = 2}\nweights = "linear.safetensors"\n'
        '[[input]]\nname = "x"\nshape = [1, 4]\nvalues = "index"\n'
    )
    Path("linear.toml").write_text(spec)
    with pytest.raises(LoadError, match=r"model.weights: linear.safetensors: (?s:.*)weight.*\(3, 4\).*\(2, 4\)"):
        build("linear.toml")
    change("linear.toml", "out_features = 2", "out_features = 3")
    digest = hashlib.sha256(Path("linear.safetensors").read_bytes()).hexdigest()
    assert build("linear.toml").manifest.source.weights_sha256 == digest
    Path("linear.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0not safetensors!")
    with pytest.raises(LoadError, match=r"model\.weights: linear\.safetensors"):
        build("linear.toml")


def test_a_package_that_is_not_the_model_is_not_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package has a factor that is a tenth too large: named are the output, the call and the operation."""
    from dataclasses import replace

    from lucid.graph import Constant
    from lucid.pipeline import build as module

    lower = module.lower

    def spoiled(*arguments: object) -> object:
        lowered = lower(*arguments)  # type: ignore[arg-type]
        nodes = []
        for node in lowered.function.nodes:
            inputs = {
                name: replace(value, data=value.data * value.data.dtype.type(1.1))
                if isinstance(value, Constant) and node.op == "mul"
                else value
                for name, value in node.inputs.items()
            }
            nodes.append(replace(node, inputs=inputs))
        return replace(lowered, function=replace(lowered.function, nodes=tuple(nodes)))

    monkeypatch.setattr(module, "lower", spoiled)
    with pytest.raises(GoldenError) as caught:
        build("total.toml")
    message = str(caught.value)
    assert "output scaled, call 1: 2.19921875 at (0, 0), the reference has 2.0: off by 0.199" in message
    assert "It leaves the model at call 1, operation mul -> mul" in message
    assert not Path("build/total").exists()
    assert not list(Path("build").iterdir())


def test_a_check_that_cannot_see_the_state_fails(project: Path) -> None:
    change("total.toml", 'values = "index"', 'values = "zeros"')
    with pytest.raises(GoldenError, match=r"with the state held at zero all 3 later calls give the same outputs"):
        build("total.toml")


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        (lambda: Path("out").write_text("mine"), "it is not a folder"),
        (lambda: (Path("out").mkdir(), Path("out/notes.txt").touch()), "notes.txt, which no build of total made"),
        (lambda: (Path("out").mkdir(), Path("out/other.mlpackage").mkdir()), "holds other.mlpackage"),
        (lambda: Path("out").symlink_to("elsewhere"), "it is not a folder"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_stays(project: Path, prepare: Callable[[], object], text: str) -> None:
    prepare()
    before = tree(Path())
    with pytest.raises(UsageError, match=text):
        build("total.toml", directory="out")
    assert tree(Path()) == before


def test_a_folder_that_cannot_be_written(project: Path) -> None:
    with pytest.raises(UsageError, match="the results cannot be written"):
        build("total.toml", directory="/proc/nowhere/total")
    Path("file").write_text("")
    with pytest.raises(UsageError, match="file is not a folder"):
        build("total.toml", directory="file/total")


def in_process(code: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


def test_a_full_disk_loses_nothing(project: Path) -> None:
    """Files are limited to a size that the package does not fit."""
    before = tree(build("total.toml").directory)
    done = in_process(
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))\n"
        "from lucid.cli import main; sys.exit(main(['build', 'total.toml']))"
    )
    assert done.returncode in (2, 7), done.stderr
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert tree(Path("build")) == {f"total/{name}": content for name, content in before.items()}


STAGES = ["load", "trace", "pair", "lower", "package", "golden", "manifest", "write_manifest"]


@pytest.mark.parametrize("stage", STAGES)
def test_killed_in_any_stage(project: Path, stage: str) -> None:
    before = tree(build("total.toml").directory)
    change("total.toml", "factor = 2.0", "factor = 3.0")
    done = in_process(
        "import os, lucid.pipeline.build as module\n"
        f"stage = module.{stage}\n"
        f"module.{stage} = lambda *arguments: (stage(*arguments), os.kill(os.getpid(), 9))\n"
        "module.build('total.toml')"
    )
    assert done.returncode == -9, done.stderr
    assert tree(Path("build/total")) == before
    build("total.toml")
    assert os.listdir("build") == ["total"]
    with cml.load("build/total/total.mlpackage") as package:
        assert package.predict(lucid.ones(1, 4)).tolist() == [[3.0] * 4]


def test_two_builds_at_once(project: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "lucid", "build", "total.toml", "--quiet"]
    both = [subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, said = process.communicate()
        assert process.returncode == 0, said
    assert os.listdir("build") == ["total"]
    assert verify("build/total").checks


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", ["golden.npz", "total.mlpackage/Manifest.json", "total.mlpackage/Data/com.apple.CoreML/model.mlmodel"]
)
def test_a_flipped_byte_is_found(project: Path, name: str) -> None:
    path = build("total.toml").directory / name
    flip(path, len(path.read_bytes()) // 2)
    with pytest.raises(DiffersError, match=r"ha(s|ve) digest"):
        verify("build/total")


def test_files_that_are_missing_or_too_many_are_found(project: Path) -> None:
    package = build("total.toml").package
    (package / "extra").write_text("")
    with pytest.raises(DiffersError, match="extra: the file is not part of the build"):
        verify("build/total")
    (package / "extra").unlink()
    (package / "Manifest.json").unlink()
    with pytest.raises(DiffersError, match=r"Manifest.json: the file is missing"):
        verify("build/total")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "there is no manifest"),
        ("{", "cannot be read"),
        ("[]", "has format list, expected 1"),
        ('{"manifest": 2}', "has format 2, expected 1"),
        ('{"manifest": 1}', "is not whole"),
    ],
)
def test_a_damaged_manifest(project: Path, content: str | None, text: str) -> None:
    path = build("total.toml").directory / "manifest.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(PackageError, match=text):
        verify("build/total")


def test_the_models_module_is_as_it_was(project: Path) -> None:
    """A module that is an attribute of the entry is built in eval() and left with what it held."""
    change("total.py", "class Total", "class Total")
    Path("ready.py").write_text("from total import Total\nMODEL = Total(2.0)\n")
    change("total.toml", 'entry = "total.py:Total"\narguments = {factor = 2.0}', 'entry = "ready.py:MODEL"')
    assert build("total.toml").manifest.source.files.keys() == {"ready.py", "total.py"}
    assert "ready" not in sys.modules
    assert "total" not in sys.modules


def test_the_same_bytes_from_three_processes(project: Path) -> None:
    trees = []
    for seed, zone, locale in (
        ("0", "UTC", "C"),
        ("1", "Asia/Kathmandu", "de_DE.UTF-8"),
        ("2", "America/St_Johns", "tr_TR"),
    ):
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale}
        command = [sys.executable, "-m", "lucid", "build", "total.toml", "--quiet", "--directory", f"place{seed}/total"]
        subprocess.run(command, env=env, check=True)
        files = tree(Path(f"place{seed}/total"))
        manifest = json.loads(files.pop("manifest.json"))
        del manifest["run"]
        manifest["source"]["spec"]["build"] = None
        trees.append((files, manifest))
    assert trees[0] == trees[1] == trees[2]


def test_the_golden_calls_are_stored(project: Path) -> None:
    build("total.toml")
    with np.load("build/total/golden.npz") as archive:
        assert sorted(archive.files)[:2] == ["call/0/x", "call/1/x"]
        np.testing.assert_array_equal(archive["call/3/x"], np.full((1, 4), 3, np.float32))
        np.testing.assert_array_equal(archive["output/3/scaled"], np.full((1, 4), 12, np.float32))
        np.testing.assert_array_equal(archive["state/total"], np.full((1, 4), 6, np.float32))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("class Total", "import sys; sys.exit(0)\nclass Total", "importing it raised SystemExit: 0"),
        ("self.factor = factor", "raise SystemExit(3)", "calling it raised SystemExit: 3"),
        ("total = total + x", "raise GeneratorExit", "the model raised GeneratorExit"),
        (
            "    def forward",
            "    def eval(self): raise OSError('gone')\n    def forward",
            "the model raised OSError: gone",
        ),
    ],
)
def test_what_user_code_raises_is_its_own_fault(project: Path, old: str, new: str, text: str) -> None:
    change("total.py", old, new)
    with pytest.raises(LucidError) as caught:
        build("total.toml")
    assert text in str(caught.value)
    assert caught.value.code == 4


def test_user_code_may_print_and_change_the_folder(project: Path) -> None:
    change("total.py", "class Total", "import os\nos.system('echo shouted')\nos.chdir('/')\nprint('said')\nclass Total")
    change("total.py", "total = total + x", "os.write(1, b'written'); os.chdir('/tmp'); total = total + x")
    command = [sys.executable, "-m", "lucid", "build", "total.toml", "--json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"]
    assert "shouted" in done.stderr
    assert os.listdir("build") == ["total"]


def test_a_users_own_package_stays(project: Path) -> None:
    """It has the name that the build's package gets, and no manifest stands beside it."""
    cml.export(lambda x: x + 1.0, lucid.ones(2), "out/total.mlpackage")
    before = tree(Path())
    with pytest.raises(UsageError, match=r"out: the folder holds total\.mlpackage, which no build of total made"):
        build("total.toml", directory="out")
    assert tree(Path()) == before


@pytest.mark.parametrize(
    ("name", "content"),
    [("manifest.json", '{"name": "my web app"}'), ("manifest.json", '{"manifest": 1}'), ("golden.npz", "mine")],
)
def test_a_users_own_files_of_the_same_names_stay(project: Path, name: str, content: str) -> None:
    Path("out").mkdir()
    Path("out", name).write_text(content)
    with pytest.raises(UsageError, match=f"out: the folder holds {name}, which no build of total made"):
        build("total.toml", directory="out")
    assert Path("out", name).read_text() == content


@pytest.mark.parametrize(
    "name", ["notes.txt", "total.mlpackage/notes.txt", "total.mlpackage/Data/com.apple.CoreML/model.mlmodel.orig"]
)
def test_a_file_added_to_a_build_stays(project: Path, name: str) -> None:
    path = build("total.toml").directory / name
    path.write_text("mine")
    with pytest.raises(UsageError, match=f"the folder holds {name}, which no build of total made"):
        build("total.toml")
    assert path.read_text() == "mine"


def test_the_build_of_another_package_stays(project: Path) -> None:
    build("total.toml", directory="out")
    before = tree(Path("out"))
    change("total.toml", 'name = "total"\n\n[model]', 'name = "other"\n\n[model]')
    with pytest.raises(UsageError, match=r"holds golden\.npz, manifest\.json, total\.mlpackage, which no build of oth"):
        build("total.toml", directory="out")
    assert tree(Path("out")) == before


def test_what_finder_leaves_is_in_nobodys_way(project: Path) -> None:
    Path("build/total").mkdir(parents=True)
    Path("build/total/.DS_Store").write_bytes(b"\0\0\0\1Bud1")
    build("total.toml")
    for folder in ("build/total", "build/total/total.mlpackage"):
        Path(folder, ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    assert verify("build/total").checks
    build("total.toml")


@pytest.mark.parametrize("name", ["notes.txt", "total.mlpackage/notes.txt", ""])
def test_what_appears_during_a_build_stays(project: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beside or inside the earlier package, or one in the place of the whole folder."""
    import shutil

    from lucid.pipeline import build as module

    build("total.toml")
    path, write = Path("build/total", name), module.write_manifest

    def meanwhile(*arguments: object) -> None:
        write(*arguments)  # type: ignore[arg-type]
        if not name:
            shutil.rmtree(path)
        path.write_text("mine")

    monkeypatch.setattr(module, "write_manifest", meanwhile)
    with pytest.raises(UsageError, match=f"the folder holds {name}, which" if name else "it is not a folder"):
        build("total.toml")
    assert path.read_text() == "mine"
    assert os.listdir("build") == ["total"]
