"""The referee: coremltools' reader accepts what is sound and refuses what is not, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hand_made import cache, const, every_kind, linear, node

from lucid.coreml.interface import fit_interface
from lucid.coreml.options import DeploymentTarget, State
from lucid.coreml.packaged import package_of
from lucid.coreml.protobuf import model
from lucid.coreml.referee import Referee, referee, start_referee
from lucid.coreml.states import check_states, make_stateful
from lucid.coreml.writing import write
from lucid.dtypes import DType, float16, float32
from lucid.errors import InternalError, PackageError
from lucid.graph import Function, Value

_IOS18 = DeploymentTarget.iOS18
_MODEL = "Data/com.apple.CoreML/model.mlmodel"


def _written(path: Path, function: Function, target: DeploymentTarget = _IOS18) -> Path:
    write(package_of(fit_interface(function, target), target), path)
    return path


def _stateful(dtype: DType, *, returned: bool) -> Function:
    function = cache(dtype)
    new = function.outputs["output_0"]
    flat = node("reshape", "flat", (8,), dtype, x=new, shape=const(np.array([8], np.int32)))
    if returned:
        outputs = {**function.outputs, "copy": new, "flat": flat.output}
        function = replace(function, nodes=(*function.nodes, flat), outputs=outputs)
    return make_stateful(replace(function, pairs=check_states([State("cache", "output_0")], function, _IOS18)))


@pytest.mark.parametrize("target", [DeploymentTarget.iOS15, DeploymentTarget.iOS17, _IOS18])
def test_sound_program_is_accepted(tmp_path: Path, target: DeploymentTarget) -> None:
    judged = referee(_written(tmp_path / "p.mlpackage", linear(), target))
    assert (judged.operations, judged.weights) == (5, 1)
    assert 0 < judged.seconds < 60
    assert 2**25 < judged.peak < 2**31


@pytest.mark.parametrize(
    "function",
    [every_kind()]
    + [_stateful(dtype, returned=returned) for dtype in (float16, float32) for returned in (False, True)],
)
def test_fitted_interfaces_and_states_are_accepted(tmp_path: Path, function: Function) -> None:
    assert referee(_written(tmp_path / "p.mlpackage", function)).operations > 4


def test_coremltools_itself_loads_the_package_and_its_states(tmp_path: Path) -> None:
    path = _written(tmp_path / "p.mlpackage", _stateful(float16, returned=True))
    program = (
        "import logging, sys, warnings; logging.disable(logging.WARNING); warnings.simplefilter('ignore')\n"
        "sys.modules['torch'] = None\nimport coremltools as ct\n"
        "loaded = ct.models.MLModel(sys.argv[1], skip_model_load=True)\n"
        "from coremltools.converters.mil.frontend.milproto.load import load\n"
        "program = load(loaded.get_spec(), 9, loaded.weights_dir)\n"
        "print([op.op_type for op in program.functions['main'].operations if op.op_type != 'const'])\n"
        "print([state.name for state in loaded.get_spec().description.state])"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    # its reader merges a write_state and the read_state after it into one coreml_update_state
    operations = ["read_state", "slice_update", "coreml_update_state", "mul", "reshape"]
    operations += ["identity", "reshape", "identity"]  # the outputs, taken of what was read back
    assert done.stdout.splitlines() == [repr(operations), "['cache']"]


def _wrong(dtype: DType = float32, shape: tuple[int, ...] = (2, 4)) -> Function:
    function = linear()
    first, second = function.nodes
    value = Value("z", dtype, shape)
    return replace(function, nodes=(first, replace(second, outputs=(value,))), outputs={"z": value})


def _nonsense() -> Function:
    function = linear()
    last = node("nonsense", "z", (2, 4), x=function.nodes[0].output)
    return replace(function, nodes=(function.nodes[0], last), outputs={"z": last.output})


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_wrong(shape=(2, 5)), "add -> z: AssertionError: Mismatch between var types"),
        (_wrong(dtype=float16), "add -> z: AssertionError: Mismatch between var types"),
        (_nonsense(), "nonsense -> z: "),
    ],
)
def test_wrong_program_is_refused_by_operation(tmp_path: Path, function: Function, message: str) -> None:
    path = tmp_path / "p.mlpackage"
    write(package_of(function, _IOS18), path)
    with pytest.raises(InternalError) as caught:
        referee(path)
    assert str(caught.value).startswith(f"{path}: coremltools does not take the operation {message}")


def test_operation_newer_than_the_opset_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path / "p.mlpackage", _stateful(float16, returned=False))
    spec = model().Model.FromString((path / _MODEL).read_bytes())
    spec.specificationVersion = 8
    (path / _MODEL).write_bytes(spec.SerializeToString())
    with pytest.raises(InternalError, match="read_state"):
        referee(path)


def test_damage_is_the_packages_fault(tmp_path: Path) -> None:
    path = _written(tmp_path / "p.mlpackage", linear())
    shutil.rmtree(path / "Data/com.apple.CoreML/weights")
    with pytest.raises(PackageError, match="the weight file is missing"):
        referee(path)


def test_missing_package_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackageError, match="there is no such package"):
        referee(tmp_path / "nowhere.mlpackage")


def test_referee_can_be_started_before_the_package_is_there(tmp_path: Path) -> None:
    with start_referee() as waiting:
        path = _written(tmp_path / "p.mlpackage", linear())
        assert waiting.submit(path).wait().operations == 5
        with pytest.raises(InternalError, match="has been given a package already"):
            waiting.submit(path)


def test_relative_paths_are_those_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = start_referee()
    _written(tmp_path / "p.mlpackage", linear())
    monkeypatch.chdir(tmp_path)
    assert waiting.submit("p.mlpackage").wait().operations == 5


def test_killed_referee_is_an_error(tmp_path: Path) -> None:
    waiting = start_referee()
    waiting._process.kill()
    with pytest.raises(InternalError, match=r"the referee ended with code -9 and no judgement: silent\."):
        waiting.submit(_written(tmp_path / "p.mlpackage", linear())).wait()


def test_referee_that_is_not_needed_ends(tmp_path: Path) -> None:
    with Referee() as waiting:
        process = waiting._process
        assert process.poll() is None
    assert process.returncode is not None
    waiting.close()


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    referee(_written(tmp_path / "p.mlpackage", linear()))
    assert capfd.readouterr() == ("", "")


def test_referee_imports_no_framework(tmp_path: Path) -> None:
    for name in ("torch", "tensorflow"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    path = _written(tmp_path / "p.mlpackage", linear())
    program = "import sys\nfrom lucid.coreml.referee import referee\nprint(referee(sys.argv[1]).operations)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "5"


def test_memory_holds_one_weight_at_a_time(tmp_path: Path) -> None:
    x = Value("x", float16, (1, 2048))
    random = np.random.default_rng(0)
    nodes, last = [], x
    for layer in range(12):
        weight = const(random.standard_normal((2048, 2048), np.float32).astype(np.float16))
        bias = const(np.zeros(2048, np.float16))
        nodes.append(node("linear", f"y{layer}", (1, 2048), float16, x=last, weight=weight, bias=bias))
        last = nodes[-1].output
    big = referee(_written(tmp_path / "big.mlpackage", Function("main", (x,), tuple(nodes), {"y": last})))
    small = referee(_written(tmp_path / "small.mlpackage", linear()))
    assert big.weights == 13
    assert big.peak - small.peak < 6 * 2 * 2048**2  # half of what the twelve weights take
