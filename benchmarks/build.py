"""SmolLM2-135M from weights to package: lucid's build, golden check included, beside coremltools' conversion.

    python benchmarks/build.py

Both read the same GGUF file and write a float16 package of the same decoder with its caches as states; each runs as a
whole process, in turn. The target is a quarter of coremltools' time, and a peak memory of all processes together that
is at most 1.5 package sizes above the loaded float32 weights (538 MB).

The floor of lucid's time: the weights pass through memory once per model call (538 MB, 28 ms at 19 GB/s), and there are
16 reference calls, 2 to trace, 16 to see ranges, 31 in the check and 16 in the fresh process: 81 calls, 2.3 s; reading
the GGUF file takes 0.7 s, rounding and writing 135 million weights 0.5 s, making them float32 again in two processes
0.7 s, starting Python and importing 0.4 s: 4.6 s in all.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from measure import Measurement, measure, run

HERE = Path(__file__).resolve().parent
WEIGHTS = 134_515_008 * 4
MEGABYTE = 1e6


def main() -> None:
    """Measure both and print medians and ratios; exit with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description="Build SmolLM2 with lucid and with coremltools.")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="how many rounds (3)")
    repeats: int = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as room:
        spec = HERE.parent / "specs" / "smollm2.toml"
        commands = {
            "lucid": [sys.executable, "-m", "lucid", "build", str(spec), "--directory", f"{room}/lucid", "--quiet"],
            "coremltools": [sys.executable, str(HERE / "coremltools_convert.py"), f"{room}/peer.mlpackage"],
        }
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        run(commands["lucid"], env=environment)  # caches the bytecode, as installing does
        taken = measure(commands, repeats=repeats, env=environment)
        manifest = json.loads((Path(room) / "lucid" / "manifest.json").read_text())
    size = manifest["package"]["size"]
    for name, each in taken.items():
        print(_row(name, each))
    ratio = taken["lucid"].seconds / taken["coremltools"].seconds
    above = (taken["lucid"].peak - WEIGHTS) / size
    stages = ", ".join(f"{name} {stage['seconds']:.1f}" for name, stage in manifest["run"]["stages"].items())
    print(f"lucid's stages in the last run, seconds: {stages}")
    print(f"time: {ratio:.3f} of coremltools' (target at most 0.25)")
    sizes = f"{above:.2f} package sizes of {size / MEGABYTE:.0f} MB"
    print(f"peak of all processes above the float32 weights: {sizes} (target at most 1.5)")
    sys.exit(ratio > 0.25 or above > 1.5)


def _row(name: str, taken: Measurement) -> str:
    runs = ", ".join(f"{run.seconds:.1f}" for run in taken.runs)
    return (
        f"{name:<12} {taken.seconds:6.2f} s (runs {runs})   peak of all processes {taken.peak / MEGABYTE:5.0f} MB, "
        f"of the largest {taken.largest / MEGABYTE:5.0f} MB"
    )


if __name__ == "__main__":
    main()
