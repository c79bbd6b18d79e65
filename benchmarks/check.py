"""How fast `lucid check` is: 100 specs in one process, and one spec in a cold process.

Both limits are on whole processes, medians of `--repeat` runs, both sides in one run of this file:

- 100 valid specs are checked in under 1 s in all;
- a cold `lucid check spec.toml` takes at most 3 times a bare ``python -c "import pydantic"``.

Where the floor of the cold check is: ``import pydantic`` is lazy and loads half of pydantic. Declaring one model
loads the other half and its search for plugins (through importlib.metadata), which together with tomli is 2.2 to 2.5
times the bare import before lucid has done anything; the line "floor" measures it. The tables of the spec add what
is left. That is why the check of plain paths does not load typer, and no check loads rich. Bytecode is cached for all
sides, as it is for installed packages.

    python benchmarks/check.py
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPECS = 100
SECONDS_FOR_ALL = 1.0
RATIO_TO_PYDANTIC = 3.0

FLOOR = """
from pydantic import BaseModel
import tomli
class Model(BaseModel):
    name: str
"""

SPEC = """\
lucid = 1

[package]
name = "decoder_{number}"
description = "A decoder with a key and value cache"
version = "1.0"

[model]
entry = "decoder.py:Decoder"
arguments = {{layers = 2, width = 64, heads = 4}}
seed = {number}

[[input]]
name = "token"
shape = [1, 1]
dtype = "int32"
values = {{integers = {{low = 0, high = 256}}}}

[[input]]
name = "position"
shape = [1]
dtype = "int32"
values = "index"

[[input]]
name = "keys"
shape = [2, 4, 64, 16]

[[input]]
name = "values"
shape = [2, 4, 64, 16]

[[output]]
name = "logits"
atol = 0.05

[[output]]
name = "keys_out"

[[output]]
name = "values_out"

[[state]]
input = "keys"
output = "keys_out"

[[state]]
input = "values"
output = "values_out"

[lowering]
precision = "float16"
float32 = ["*.norm"]
deployment_target = "iOS18"
compute_units = "cpu_and_ne"

[golden]
calls = 16
"""


def write_specs(folder: Path, count: int) -> list[str]:
    """Write `count` valid specs and the file they name to `folder`, and return their paths."""
    (folder / "decoder.py").write_text("raise SystemExit('a check must not import this')\n")
    paths = [folder / f"decoder_{number}.toml" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(SPEC.format(number=number))
    return [str(path) for path in paths]


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Return how long the process `command` takes, from start to end."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - started


def main() -> int:
    """Measure, print and return 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description="How fast `lucid check` is.")
    parser.add_argument("--repeat", type=int, default=15, help="runs of each process")
    repeat = parser.parse_args().repeat
    with tempfile.TemporaryDirectory() as room:
        specs = write_specs(Path(room), SPECS)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": f"{room}/bytecode"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        cli = [sys.executable, "-c", "import sys; from lucid.cli import main; sys.exit(main())", "check"]
        commands = {
            "import pydantic": [sys.executable, "-c", "import pydantic"],
            "floor: one model and tomli": [sys.executable, "-c", FLOOR],
            "lucid check, 1 spec": [*cli, specs[0]],
            f"lucid check, {SPECS} specs": [*cli, *specs],
        }
        # The processes take turns, so that a busy moment of the machine falls on all of them.
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(repeat + 1):
            for name, command in commands.items():
                time_taken = seconds(command, environment)
                if turn:  # the first turn fills the cache of bytecode
                    times[name].append(time_taken)
    medians = {name: statistics.median(each) for name, each in times.items()}
    bare, _, cold, everything = medians.values()
    for name, median in medians.items():
        print(f"{name:<28} {median * 1000:7.1f} ms   {median / bare:5.2f} x import pydantic")
    failed = False
    for name, value, limit, unit in (
        (f"{SPECS} specs", everything, SECONDS_FOR_ALL, "s"),
        ("a cold check", cold / bare, RATIO_TO_PYDANTIC, "x import pydantic"),
    ):
        failed |= value > limit
        print(f"{'FAILED' if value > limit else 'ok'}: {name}: {value:.2f} {unit}, limit {limit:.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
