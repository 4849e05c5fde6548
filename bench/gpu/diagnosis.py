#!/usr/bin/env python3
"""What the report says of programs with a fault, and of their twins without it, on a real GPU.

Each program of faults.py runs once with its fault and once without, both recorded; the truth is how much quicker the twin is.
Needs a GPU, PyTorch for it, and a build of hostprobe. Prints the table of RESULTS.md.

examples:
  bench/gpu/diagnosis.py --build build
  bench/gpu/diagnosis.py --build build --keep runs item loader
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from check import number_after
from faults import CAUSES
from findings import first_finding

HERE = Path(__file__).resolve().parent


def recorded(build, kind, healthy, folder, seconds):
    """Mean step in microseconds, and the report of the run."""
    command = [build / "bin/hostprobe", "run", "-o", folder, "--", sys.executable, HERE / "faults.py", kind, "--seconds", seconds]
    command += ["--healthy"] if healthy else []
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    report = subprocess.run([str(build / "bin/hostprobe"), "report", str(folder), "--json"], check=True, capture_output=True, text=True)
    return number_after(done.stdout, "step_us"), json.loads(report.stdout)


def gpu(report):
    processes = [p for p in report["processes"] if p.get("gpu")]
    if not processes:
        return "no GPU"
    process = max(processes, key=lambda p: p["records"])
    shares = report["step_share_pct"] or {}
    return (f"{process['gpu']['source']}: busy {shares.get('gpu_bound', 0):.0f}, unknown {shares.get('unknown', 0):.0f} % of "
            f"{report['steps']['count']} steps")


def row(build, kind, keep, seconds):
    seen = {}
    for healthy in (False, True):
        seen[healthy] = recorded(build, kind, healthy, keep / f"{kind}-{'healthy' if healthy else 'fault'}", seconds)
    planted, twin = seen[False][0], seen[True][0]
    truth = f"{(planted - twin) / planted * 100:.1f} %" if CAUSES[kind] else "-"
    return (f"| {kind} | {CAUSES[kind] or 'none'} | {planted:.0f} | {twin:.0f} | {truth} | {first_finding(seen[False][1])} "
            f"| {gpu(seen[False][1])} | {first_finding(seen[True][1])} | {gpu(seen[True][1])} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some of " + ", ".join(CAUSES))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--seconds", type=float, default=4, help="that the steps of a run take (default 4)")
    parser.add_argument("--keep", type=Path, help="an empty folder for the runs, which are deleted otherwise")
    options = parser.parse_args()
    if unknown := set(options.kinds) - set(CAUSES):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(CAUSES))
    print("| program | planted | step, µs | twin's | truth | first finding | its GPU | twin's first finding | its GPU |\n"
          "|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds or CAUSES:
            print(row(options.build.resolve(), kind, options.keep or Path(folder), options.seconds), flush=True)


if __name__ == "__main__":
    sys.exit(main())
