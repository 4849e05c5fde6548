#!/usr/bin/env python3
"""How far the GPU's time by replay is from what PyTorch's profiler saw, in windows that hostprobe opens while the program runs.

Needs a GPU, PyTorch for it, and a build of hostprobe. Prints the table of RESULTS.md.

examples:
  bench/gpu/replay.py --build build
  bench/gpu/replay.py --build build --steps 2000 eager
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STEPS = ("eager", "graph", "triton", "nccl")  # of torch_steps.py
FAULTS = ("busy", "item", "launch", "loader", "decode")  # of faults.py
KINDS = STEPS + FAULTS


def record(build, kind, steps, folder):
    """The process that made the steps, of the report."""
    environment = dict(os.environ, HOSTPROBE_PROFILE=f"every={max(20, steps // 6)},steps=3")
    program = [HERE / "torch_steps.py", "--kind", kind, "--steps", str(steps)] if kind in STEPS else [HERE / "faults.py", kind]
    command = [build / "bin/hostprobe", "run", "-o", folder, "--", sys.executable, *program]
    subprocess.run([str(word) for word in command], env=environment, check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([str(build / "bin/hostprobe"), "report", str(folder), "--json"], check=True, capture_output=True, text=True)
    processes = [p for p in json.loads(report.stdout)["processes"] if (p.get("gpu") or {}).get("source") in ("events", "bounds")]
    return max(processes, key=lambda p: p["launches"]["kernels"], default=None)


def row(kind, process):
    if process is None:
        return f"| PyTorch, {kind} | no process with a GPU | | | | | |"
    gpu = process["gpu"]
    check = gpu.get("profile_check")
    if not check:
        return f"| PyTorch, {kind} | {gpu['source']} | no profile was joined | | | | |"
    return (f"| PyTorch, {kind} | {gpu['source']} | {check['profiles']}, {check['ms']:.1f} ms | {check['busy_pct']:.1f} % "
            f"| {check['replayed_busy_pct']:.1f} % | {check['worst_points']:.1f} | {check['unknown_pct']:.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some of " + ", ".join(KINDS))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--keep", type=Path, help="an empty folder for the runs, which are deleted otherwise")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(KINDS))
    print("| program | source | windows | busy, profile | busy, replay | points apart at most | not known |\n|---|---|---|---|---|---|---|")
    for kind in options.kinds or ("eager", "graph"):
        with tempfile.TemporaryDirectory() as folder:
            run = (options.keep or Path(folder)) / f"replay-{kind}"
            print(row(kind, record(options.build.resolve(), kind, options.steps, run)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
