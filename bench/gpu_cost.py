#!/usr/bin/env python3
"""What timing events of hostprobe's own cost the steps: pairs of runs with and without them, which take turns in being first.

The figure of a run is the mean step as the program measures it. A workload's is the median of the pairs' ratios, with the 95 % interval of a
bootstrap; at most 0.1 % is wanted.

  decode      a loop of 2 us kernels that the host feeds one by one
  graphs      the same as graphs of 25 kernels
  sharded     four ranks, tensor and pipeline parallel
  ddp         two ranks of PyTorch on the CPU: no events are made there, so this is what looking for them costs

examples:
  bench/gpu_cost.py --pairs 20
  bench/gpu_cost.py decode --pairs 40
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "diagnosis"))

WANTED_PCT = 0.1


def workloads(build):
    import scenarios
    examples = build / "examples"
    return {"decode": (1, (examples / "train_loop", "--steps", 3000, "--kernel-us", 2)),
            "graphs": (1, (examples / "train_loop", "--steps", 2000, "--kernel-us", 2, "--graph", 25)),
            "sharded": (4, (examples / "train_parallel", "--ranks", 4, "--tensor", 2, "--pipeline", 2, "--steps", 150)),
            "ddp": (0, scenarios.torch())}


def step_ms(build, gpus, command, setting):
    with tempfile.TemporaryDirectory(prefix="hostprobe-gpu-cost.") as folder:
        simulated = ("--simgpu", gpus) if gpus else ()
        words = (build / "bin" / "hostprobe", "run", "-o", Path(folder) / "run", *simulated, "--", *command)
        out = subprocess.run([str(word) for word in words], env={**os.environ, "HOSTPROBE_GPU": setting}, capture_output=True,
                             text=True, check=True)
    return float(re.search(r"step ms:.* mean ([\d.]+)", out.stdout)[1])


def interval(ratios, random_from):
    medians = sorted(statistics.median(random_from.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[50], medians[-50]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="workloads; none: all")
    parser.add_argument("--build", type=Path, default=REPOSITORY / "build", help="build folder (default %(default)s)")
    parser.add_argument("--pairs", type=int, default=10, help="of each (default %(default)s)")
    options = parser.parse_args()
    os.environ.setdefault("HOSTPROBE_TEST_BUILD", str(options.build))
    random_from = random.Random(1)
    for name, (gpus, command) in workloads(options.build).items():
        if options.names and name not in options.names:
            continue
        ratios = []
        for pair in range(options.pairs):
            order = ("off", "auto") if pair % 2 else ("auto", "off")
            ms = {setting: step_ms(options.build, gpus, command, setting) for setting in order}
            ratios.append(ms["auto"] / ms["off"])
            print(f"{name} {pair + 1} of {options.pairs}: {100 * (ratios[-1] - 1):+.2f} %", file=sys.stderr, flush=True)
        low, high = interval(ratios, random_from)
        more = 100 * (statistics.median(ratios) - 1)
        print(f"{name:8} {more:+.2f} % of the steps ({100 * (low - 1):+.2f} to {100 * (high - 1):+.2f}), wanted at most {WANTED_PCT}")


if __name__ == "__main__":
    main()
