"""SmolLM2-135M with its real weights, from the spec to tokens."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lucid
import lucid.coreml as cml

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("smollm2")]

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "smollm2.toml"
PROMPT = "The capital of France is"
MARGIN = 0.05


def lucid_command(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run([sys.executable, "-m", "lucid", *arguments], cwd=cwd, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    room = tmp_path_factory.mktemp("smollm2")
    done = lucid_command("build", str(SPEC), cwd=room)
    assert done.returncode == 0, done.stderr
    return room / "build" / "smollm2"


@pytest.fixture(scope="module")
def original() -> lucid.nn.Module:
    from smollm2 import smollm2

    return smollm2()


def test_the_golden_check_passes_over_sixteen_calls(built: Path) -> None:
    manifest = json.loads((built / "manifest.json").read_text())
    golden = manifest["golden"]
    assert golden["passed"]
    assert golden["calls"] == 16
    assert [call["top1"] for call in golden["outputs"]["logits"]["calls"]] == [1.0] * 16
    assert {feature["name"]: feature["dtype"] for feature in manifest["package"]["states"]} == {
        "keys": "float16",
        "values": "float16",
    }


def test_greedy_tokens_are_those_of_the_float32_model(built: Path, original: lucid.nn.Module) -> None:
    """Over 32 positions of the float32 model's own text, wherever its best two logits differ by more than 0.05."""
    from smollm2_weights import tokenizer

    tokens = tokenizer().encode(PROMPT).ids
    keys = values = lucid.zeros(30, 1, 3, 256, 64)
    compared, greedy = 0, []
    with cml.load(built / "smollm2.mlpackage") as package:
        state = package.make_state()
        for position in range(len(tokens) + 32 - 1):
            token, place = lucid.tensor([[tokens[position]]]), lucid.tensor([position])
            step = original(token, place, keys, values)
            keys, values = step["new_keys"], step["new_values"]
            expected = step["logits"].numpy()[0, 0]
            found = package.run({"token": token, "position": place}, state)["logits"][0, 0]
            second, first = np.sort(expected)[-2:]
            if first - second > MARGIN:
                compared += 1
                assert found.argmax() == expected.argmax(), f"position {position}"
            if position >= len(tokens) - 1:
                greedy.append(int(expected.argmax()))
                tokens.append(greedy[-1])
    assert len(greedy) == 32
    assert compared >= 30
    assert tokenizer().decode(greedy).startswith(" Paris.")


def test_the_float32_model_is_the_one_that_pytorch_runs(original: lucid.nn.Module) -> None:
    import torch
    from smollm2_weights import read_config, read_weights, tokenizer

    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from torch_decoder import make_decoder
    finally:
        del sys.path[0]
    peer = make_decoder(read_config(), read_weights())
    keys = values = lucid.zeros(30, 1, 3, 256, 64)
    for position, token in enumerate(tokenizer().encode(PROMPT).ids):
        step = original(lucid.tensor([[token]]), lucid.tensor([position]), keys, values)
        keys, values = step["new_keys"], step["new_values"]
        with torch.no_grad():
            expected = peer(torch.tensor([[token]], dtype=torch.int32), torch.tensor([position], dtype=torch.int32))
        np.testing.assert_allclose(step["logits"].numpy(), expected.numpy(), rtol=1e-4, atol=2e-3)


def test_the_package_alone_continues_a_prompt(built: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "generate.py"), PROMPT, "--tokens", "2"]
    done = subprocess.run(
        [*command, "--package", str(built / "smollm2.mlpackage")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{PROMPT} Paris.\n", done.stderr


def test_run_inspect_and_verify(built: Path) -> None:
    package = str(built / "smollm2.mlpackage")
    run = lucid_command("run", package, "-i", "token=504", "-i", "position=0", "--json", cwd=built)
    assert json.loads(run.stdout)["ok"], run.stderr
    inspected = json.loads(lucid_command("inspect", package, "--json", cwd=built).stdout)["result"]
    assert [each["name"] for each in inspected["inputs"]] == ["token", "position"]
    assert inspected["operations"]["slice_update"] == 60
    assert inspected["operations"]["read_state"] == inspected["operations"]["write_state"] == 2
    verified = lucid_command("verify", str(built), cwd=built)
    assert verified.returncode == 0, verified.stderr


def test_one_flipped_byte_is_found(built: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(built, tmp_path / "copy")
    weights = copy / "smollm2.mlpackage/Data/com.apple.CoreML/weights/weight.bin"
    with weights.open("r+b") as file:
        file.seek(200_000_001)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    done = lucid_command("verify", str(copy), cwd=tmp_path)
    assert done.returncode == 8
    assert "weight.bin: the file has digest" in done.stderr


def test_another_process_folder_zone_and_locale_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    variables = {"PYTHONHASHSEED": "77", "TZ": "Pacific/Chatham", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}
    done = lucid_command("build", str(SPEC), "--directory", "elsewhere", cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    first, second = built, tmp_path / "elsewhere"
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    for name in files:
        if name.name != "manifest.json":
            assert (first / name).read_bytes() == (second / name).read_bytes(), name
    manifests = [json.loads((each / "manifest.json").read_text()) for each in (first, second)]
    for each in manifests:
        del each["run"]
        each["source"]["spec"]["build"]["directory"] = None
    assert manifests[0] == manifests[1]
