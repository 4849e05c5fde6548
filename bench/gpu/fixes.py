#!/usr/bin/env python3
"""Step time of a small PyTorch model on a GPU with each fix and without it, in pairs of alternating order.

Needs a GPU, PyTorch for it, and a build of hostprobe. Prints the table of RESULTS.md.

examples:
  bench/gpu/fixes.py --build build
  bench/gpu/fixes.py --build build --pairs 9 pin spin
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from check import number_after

HERE = Path(__file__).resolve().parent
FIXES = ("gc", "pin", "spin", "timer_slack", "nice", "numa", "batch_launch")


def step_us(build, fix, steps):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, LD_PRELOAD=str(build / "lib/libhostprobe.so"), HOSTPROBE_OUT=folder)
        if fix:
            environment["HOSTPROBE_FIX"] = fix
        done = subprocess.run([sys.executable, str(HERE / "torch_steps.py"), "--time", "--steps", str(steps)], env=environment,
                              capture_output=True, text=True, check=True)
    return number_after(done.stdout, "step_us")


def row(build, fix, pairs, steps):
    off, on = [], []
    for pair in range(pairs):
        for name in (("", fix) if pair % 2 == 0 else (fix, "")):
            (on if name else off).append(step_us(build, name, steps))
    ratios = [b / a for a, b in zip(off, on)]
    return (f"| {fix} | {statistics.median(off):.1f} | {statistics.median(on):.1f} | {statistics.median(ratios):.4f} "
            f"({min(ratios):.4f} – {max(ratios):.4f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fixes", nargs="*", help="some of " + ", ".join(FIXES))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()
    if unknown := set(options.fixes) - set(FIXES):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(FIXES))
    print("| fix | step without, µs | with | ratio, median of pairs (least – greatest) |\n|---|---|---|---|")
    for fix in options.fixes or FIXES:
        print(row(options.build.resolve(), fix, options.pairs, options.steps), flush=True)


if __name__ == "__main__":
    sys.exit(main())
