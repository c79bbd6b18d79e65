"""Loops and conditions converted from PyTorch by coremltools, and what PyTorch computes: ``converted.py FOLDER``."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

logging.disable(logging.WARNING)
warnings.simplefilter("ignore")

import coremltools as ct  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402


class Loop(torch.nn.Module):
    """As many steps as the input says, each of which depends on the sign of what the last one gave."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(1, 4)
        step, steps = 0, int(n[0])
        while step < steps:
            if bool(x.sum() > 0):  # noqa: SIM108 -- a statement of its own becomes a `cond`
                x = torch.tanh(self.layer(x)) - 0.25
            else:
                x = x * x + 0.5
            total = total + x
            step += 1
        return total


def main(folder: Path) -> None:
    torch.manual_seed(3)
    model = torch.jit.script(Loop().eval())
    calls = torch.randn(5, 1, 4)
    steps = [0, 1, 2, 5, 9]
    with torch.no_grad():
        results = [model(x, torch.tensor([n], dtype=torch.int32)).numpy() for x, n in zip(calls, steps, strict=True)]
    np.savez(folder / "loop.npz", x=calls.numpy(), n=np.array(steps, np.int32), result=np.stack(results))
    for precision in (ct.precision.FLOAT32, ct.precision.FLOAT16):
        ct.convert(
            model,
            inputs=[ct.TensorType("x", (1, 4)), ct.TensorType("n", (1,), dtype=np.int32)],
            outputs=[ct.TensorType("result")],
            convert_to="mlprogram",
            compute_precision=precision,
            minimum_deployment_target=ct.target.iOS16,
            skip_model_load=True,
        ).save(str(folder / f"loop_{precision.value}.mlpackage"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
