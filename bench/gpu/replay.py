#!/usr/bin/env python3
"""How far the GPU's time by replay is from what PyTorch's profiler saw, in windows that hostprobe opens while the program runs, and what
the report finds first.

Needs a GPU, PyTorch for it, and a build of hostprobe. Prints the table of RESULTS.md.

examples:
  bench/gpu/replay.py --build build
  bench/gpu/replay.py --build build --steps 2000 eager
  bench/gpu/replay.py --build build trainer resnet generate lightning
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from findings import first_finding

HERE = Path(__file__).resolve().parent
STEPS = ("eager", "graph", "triton", "nccl")  # of torch_steps.py
FAULTS = ("busy", "item", "launch", "loader", "decode")  # of faults.py
MODELS = ("trainer", "resnet", "generate", "lightning")  # of models.py
KINDS = STEPS + FAULTS + MODELS
SHORT = ("graph",)  # steps of about a millisecond: more of them, so that windows can be opened


def program(kind, steps):
    """Command line, and how many steps lie between two windows."""
    if kind in STEPS:
        steps *= 5 if kind in SHORT else 1
        return [HERE / "torch_steps.py", "--kind", kind, "--steps", str(steps)], max(20, steps // 6)
    return [HERE / ("models.py" if kind in MODELS else "faults.py"), kind], 20 if kind in MODELS else max(20, steps // 6)


def record(build, kind, steps, folder):
    """The report, and the process that made the steps."""
    words, every = program(kind, steps)
    environment = dict(os.environ, HOSTPROBE_PROFILE=f"every={every},steps=3")
    command = [build / "bin/hostprobe", "run", "-o", folder, "--", sys.executable, *words]
    subprocess.run([str(word) for word in command], env=environment, check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([str(build / "bin/hostprobe"), "report", str(folder), "--json"], check=True, capture_output=True, text=True)
    document = json.loads(report.stdout)
    processes = [p for p in document["processes"] if (p.get("gpu") or {}).get("source") in ("events", "bounds")]
    return document, max(processes, key=lambda p: p["launches"]["kernels"], default=None)


def row(kind, document, process):
    found = first_finding(document)
    if process is None:
        return f"| {kind} | no process with a GPU | | | | | | {found} |"
    gpu = process["gpu"]
    check = gpu.get("profile_check")
    if not check:
        return f"| {kind} | {gpu['source']} | no profile was joined | | | | | {found} |"
    return (f"| {kind} | {gpu['source']} | {check['profiles']}, {check['ms']:.1f} ms | {check['busy_pct']:.1f} % "
            f"| {check['replayed_busy_pct']:.1f} % | {check['worst_points']:.1f} | {check['unknown_pct']:.1f} % | {found} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some of " + ", ".join(KINDS))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--keep", type=Path, help="an empty folder for the runs, which are deleted otherwise")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(KINDS):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(KINDS))
    print("| program | source | windows | busy, profile | busy, replay | points apart at most | not known | first finding |\n"
          "|---|---|---|---|---|---|---|---|")
    for kind in options.kinds or ("eager", "graph"):
        with tempfile.TemporaryDirectory() as folder:
            run = (options.keep or Path(folder)) / f"replay-{kind}"
            print(row(kind, *record(options.build.resolve(), kind, options.steps, run)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
