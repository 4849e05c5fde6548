#!/usr/bin/env python3
"""How far the steps that a running process finds (`hostprobe ctl PID status`) are from those that the report finds afterwards.

Examples on the simulated node, none of which marks a step; told are source, count and median of both, and the difference of the medians:
without a budget, because sheds would leave the report other steps;
of the report's over all steps, of the live ones over those that status told, twice a second, of the 31 steps before."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

EXAMPLES = {
    "train_loop": ["train_loop", "--steps", "{steps}"],
    "train_loop, bound by launches": ["train_loop", "--steps", "{steps}", "--kernel-us", "1", "--host-us", "5"],
    "train_parallel, data": ["train_parallel", "--ranks", "2", "--tensor", "1", "--pipeline", "1", "--steps", "{steps}"],
    "train_parallel, pipeline": ["train_parallel", "--ranks", "2", "--tensor", "1", "--pipeline", "2", "--steps", "{steps}"],
}


def latest(build, run, before):
    """Of each traced process what it said of its steps, each time."""
    told = dict(before)
    for trace in run.glob("*.hptrace"):
        pid = trace.name.split("-")[-2]
        done = subprocess.run([build / "bin/hostprobe", "ctl", pid, "status", "--json"], capture_output=True, text=True)
        if done.returncode == 0:
            told[pid] = [*told.get(pid, []), json.loads(done.stdout)["steps"]]
    return told


def once(build, name, steps):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = [word.format(steps=steps) for word in EXAMPLES[name]]
        process = subprocess.Popen([build / "bin/hostprobe", "run", "--simgpu", "2", "-o", run, "--mode", "trace", "--fix", "auto:gc", "--",
                                    build / "examples" / words[0], *words[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "HOSTPROBE_BUDGET": "0"})
        told = {}
        while process.poll() is None:
            time.sleep(0.5)
            told = latest(build, run, told)
        report = json.loads(subprocess.run([build / "bin/hostprobe", "report", run, "--json"], capture_output=True, text=True).stdout)
    live = max(told.values(), key=lambda said: said[-1]["count"], default=[{"source": "?", "count": 0, "median_ms": 0}])
    medians = [said["median_ms"] for said in live if said["count"] > 0]
    return {**live[-1], "median_ms": statistics.median(medians) if medians else 0}, report["steps"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--steps", type=int, default=4000)
    options = parser.parse_args()
    print("| example | live | steps | median, ms | report | steps | median, ms | difference, % |\n|---|---|---|---|---|---|---|---|")
    for name in EXAMPLES:
        live, report = once(options.build.absolute(), name, options.steps)
        after = report["median_ms"] or 0
        difference = f"{100 * (live['median_ms'] / after - 1):.2f}" if after and live["count"] else "-"
        print(f"| {name} | {live['source']} | {live['count']} | {live['median_ms']:.3f} | {report['source']} | {report['count']} | "
              f"{after:.3f} | {difference} |", flush=True)


if __name__ == "__main__":
    main()
