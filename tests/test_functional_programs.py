"""Every function and layer as part of a Core ML program, judged by coremltools' own reader."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_oracle import ours

import lucid
from lucid import nn
from lucid.coreml.interface import fit_interface
from lucid.coreml.options import DeploymentTarget
from lucid.coreml.packaged import package_of
from lucid.coreml.referee import referee
from lucid.coreml.writing import write
from lucid.graph import Function, Value, verify
from lucid.passes import simplify
from lucid.tracing import Trace, recording

sys.path.insert(0, str(Path(__file__).parent / "nn"))

from test_functional import CALLS, EINSUMS
from test_indexing import FORMS, X
from test_nn_layers import LAYERS, pair
from torch_oracle import numbers

_IOS18 = DeploymentTarget.iOS18
_DTYPES = (torch.float32, torch.int32, torch.bool, torch.int8)
_NOT_FIXED = {"allclose", "equal", "masked_select", "nonzero"}  # Python values, or shapes that depend on values


def tensors(value: Any) -> Iterator[lucid.Tensor]:
    if isinstance(value, lucid.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def program(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]]) -> Function:
    """Return one function that makes all calls: tensors among the arguments are its inputs, results its outputs."""
    trace = Trace()
    outputs: dict[str, lucid.Tensor] = {}
    seen: set[Value] = set()
    for place, (call, arguments) in enumerate(calls):
        for number, box in enumerate(tensors(arguments)):
            if box.numel():
                trace.add_input(f"input_{place}_{number}", box)
        with recording(trace):
            results = list(tensors(call(*arguments)))
        for number, box in enumerate(results):
            value = trace.value_of(box)
            if trace.depends_on_inputs(box) and box.numel() and value not in seen and value not in trace.inputs:
                seen.add(value)
                outputs[f"output_{place}_{number}"] = box
    return trace.finish("main", outputs)


def judged(calls: list[tuple[Callable[..., Any], tuple[Any, ...]]], path: Path) -> int:
    """Write the program of all calls, let the referee read it, and return its number of operations."""
    function = program(calls)
    assert len(function.outputs) > 0.8 * len(calls)
    write(package_of(fit_interface(verify(simplify(function)), _IOS18), _IOS18), path)
    return referee(path).operations


def functions() -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    made: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
    for name, arguments, settings in CALLS:
        words = {key: lucid.float16 if key == "dtype" else value for key, value in settings.items()}
        if name not in _NOT_FIXED:
            made.append((partial(getattr(lucid, name), **words), ours(arguments)))
    for equation, *shapes in EINSUMS:
        boxes = ours([numbers(*shape, seed=place) for place, shape in enumerate(shapes)])
        made.append((partial(lucid.einsum, equation), tuple(boxes)))
    return made


def indexing() -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    made: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []

    def read(index: Any, x: lucid.Tensor) -> lucid.Tensor:
        return x[index]

    def written(index: Any, x: lucid.Tensor, value: lucid.Tensor) -> lucid.Tensor:
        box = x.clone()
        box[index] = value
        return box

    for index in FORMS:
        for dtype in _DTYPES:
            x = (X % 3).to(dtype)
            if x[index].numel():
                made.append((partial(read, ours(index)), (ours(x),)))
                made.append((partial(written, ours(index)), (ours(x), ours(x[index]))))
    return made


def layers() -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    made: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (pair(name, args, settings)[1].eval(), (ours(x),)) for name, args, settings, x in LAYERS
    ]
    attention = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    padding = lucid.tensor([[False, False, False, True], [False] * 4])
    made.append((lambda x, mask: attention(x, x, x, key_padding_mask=mask), (lucid.randn(2, 4, 12), padding)))
    product = nn.functional.scaled_dot_product_attention
    made.append((product, (lucid.randn(2, 3, 4, 8), lucid.randn(2, 3, 4, 8), lucid.randn(2, 3, 4, 8))))
    mask = lucid.tensor([[True, False] * 2] * 4)
    made.append((product, (*(lucid.randn(2, 3, 4, 8) for _ in range(3)), mask)))
    made.append((lambda q, k, v: product(q, k, v, is_causal=True), tuple(lucid.randn(2, 3, 4, 8) for _ in range(3))))
    made.append((nn.TransformerEncoder(nn.TransformerEncoderLayer(12, 3, 20), 2).eval(), (lucid.randn(2, 4, 12),)))
    return made


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
@pytest.mark.parametrize("group", [functions, indexing, layers])
def test_coremltools_takes_every_program(group: Any, tmp_path: Path) -> None:
    calls = group()
    assert judged(calls, tmp_path / "all.mlpackage") > len(calls)
