"""Convert the PyTorch decoder, with SmolLM2's weights, to a Core ML package with coremltools, as one whole process.

    python benchmarks/coremltools_convert.py smollm2.mlpackage

prints one line of JSON: the seconds of each part (imports, weights, model, trace, convert, save), and the process' peak
memory in bytes, over all and at the moment the weights were loaded. The package is saved as it is and never run.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the parts one after another and print what they took."""
    parser = argparse.ArgumentParser(description="Convert SmolLM2 from PyTorch with coremltools.")
    parser.add_argument("package", type=Path, help="the .mlpackage to write")
    path: Path = parser.parse_args().package
    sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]
    seconds: dict[str, float] = {}

    with _timed(seconds, "import"):
        import coremltools as ct
        import numpy as np
        import smollm2_weights
        import torch
        import torch_decoder
    with _timed(seconds, "weights"):
        sizes, weights = smollm2_weights.read_config(), smollm2_weights.read_weights()
    peak_loaded = _peak()
    with _timed(seconds, "model"):
        decoder = torch_decoder.make_decoder(sizes, weights)
    with _timed(seconds, "trace"), torch.no_grad():
        example = torch.tensor([[1]], dtype=torch.int32), torch.tensor([0], dtype=torch.int32)
        traced = torch.jit.trace(decoder, example)  # type: ignore[no-untyped-call]  # PyTorch leaves it so
        decoder.keys.zero_()
        decoder.values.zero_()
    with _timed(seconds, "convert"):
        caches = {"keys": decoder.keys, "values": decoder.values}
        model = ct.convert(
            traced,
            inputs=[
                ct.TensorType("token", shape=(1, 1), dtype=np.int32),
                ct.TensorType("position", shape=(1,), dtype=np.int32),
            ],
            outputs=[ct.TensorType("logits", dtype=np.float32)],
            states=[
                ct.StateType(ct.TensorType(shape=tuple(cache.shape), dtype=np.float16), name=name)
                for name, cache in caches.items()
            ],
            minimum_deployment_target=ct.target.iOS18,
            compute_precision=ct.precision.FLOAT16,
            compute_units=ct.ComputeUnit.CPU_ONLY,
            skip_model_load=True,
        )
    with _timed(seconds, "save"):
        model.save(str(path))
    size = sum(member.stat().st_size for member in path.rglob("*") if member.is_file())
    print(json.dumps({"seconds": seconds, "peak": _peak(), "peak_loaded": peak_loaded, "package": size}))


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[part] = round(time.perf_counter() - start, 3)


def _peak() -> int:
    """Largest resident size of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main()
