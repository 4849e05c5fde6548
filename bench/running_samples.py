#!/usr/bin/env python3
"""What samples of running threads cost: the same program with the probe, with and without them, in paired runs.

The two runs of a pair take turns in being first. CPU (user + system) is that of the processes that record, read by each of them when it
exits (cpu_meter.c), of all its threads and of its main thread; hostprobe's own line and the CPU of its thread come from the report. A
difference is a median over pairs with the 95 % interval of a bootstrap. Nothing is shed.

  loop    train_loop: one thread launches on the simulated driver
  ddp     train_ddp.py, 2 ranks, PyTorch
  python  two Python functions that compute, in turn

examples:
  bench/running_samples.py --build build loop python
  bench/running_samples.py --build build --pairs 6 --mode trace ddp
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import torch_folder
from environment import clean_environment

SOURCE = Path(__file__).resolve().parents[1]
COMPUTE = """
import time
import sys
def heavy(n):
    x = 0
    for i in range(n): x += i * i
    return x
def light(n):
    x = 0
    for i in range(n): x += i * i
    return x
for _ in range(int(sys.argv[1])):
    heavy(150000); light(50000); time.sleep(0.001)
"""


def workload(name, build):
    """(command, environment)"""
    if name == "python":
        return ["/usr/bin/python3", "-c", COMPUTE, "400"], {"HOSTPROBE_TARGET": "all"}
    if name == "loop":
        return ([build / "examples/train_loop", "--steps", "1500", "--kernels", "200", "--threads", "0"],
                {"LD_LIBRARY_PATH": str(build / "lib/hostprobe/simnode"), "SIMNODE_GPUS": "1"})
    return [torch_folder() / "torchrun", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "600"], {}


def run(options, name, rate):
    """CPU seconds of all threads and of the main ones; own cost in % of wall time and CPU ms of hostprobe's thread, by the report."""
    command, settings = workload(name, options.build)
    with tempfile.TemporaryDirectory(prefix="running-samples.") as folder:
        meter, out = Path(folder) / "meter", Path(folder) / "run"
        environment = clean_environment() | settings | {
            "LD_PRELOAD": f"{options.build}/bench/libcpu_meter.so:{options.build}/lib/libhostprobe.so", "CPU_METER": str(meter),
            "HOSTPROBE_OUT": str(out), "HOSTPROBE_MODE": options.mode, "HOSTPROBE_BUDGET": "0", "HOSTPROBE_SAMPLES": str(rate)}
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"running_samples.py: {command[0]} ended with {done.returncode}:\n{done.stderr}")
        rows = [line.split() for line in meter.read_text().splitlines()]
        report = json.loads(subprocess.run([options.build / "bin/hostprobe", "report", out, "--json"], capture_output=True, text=True,
                                           check=True).stdout)
    recorded = {p["pid"]: p for p in report["processes"] if p["own_cost_pct"] is not None}
    rows = [row for row in rows if int(row[1]) in recorded]
    wall = sum(p["wall_ms"] for p in recorded.values())
    return {"all": sum(int(row[2]) for row in rows) / 1e9, "main": sum(max(0, int(row[3])) for row in rows) / 1e9,
            "own": sum(p["own_cost_pct"] * p["wall_ms"] for p in recorded.values()) / wall,
            "thread": sum(t["cpu_ms"] or 0 for p in recorded.values() for t in p["threads"] if t["role"] == "hostprobe") / wall * 100,
            "samples": sum(t["running_samples"][kind] for p in recorded.values() for t in p["threads"] if "running_samples" in t
                           for kind in ("python", "code"))}


def interval(values):
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return f"{statistics.median(values):.2f} ({medians[50]:.2f} to {medians[1949]:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--mode", default="flight")
    parser.add_argument("names", nargs="+", choices=("loop", "ddp", "python"))
    options = parser.parse_args()
    options.build = options.build.resolve()
    print("| | pairs | samples | CPU of all, % more | CPU of main threads, % more | own cost, points of wall | hostprobe's thread, points |")
    print("|---|---|---|---|---|---|---|")
    for name in options.names:
        pairs = []
        for number in range(options.pairs):
            order = (options.rate, 0) if number % 2 else (0, options.rate)
            by_rate = {rate: run(options, name, rate) for rate in order}
            pairs.append((by_rate[options.rate], by_rate[0]))
        more = lambda key: interval([100 * (a[key] / b[key] - 1) for a, b in pairs])
        points = lambda key: interval([a[key] - b[key] for a, b in pairs])
        samples = statistics.median(a["samples"] for a, _ in pairs)
        print(f"| {name} | {len(pairs)} | {samples:.0f} | {more('all')} | {more('main')} | {points('own')} | {points('thread')} |", flush=True)


if __name__ == "__main__":
    main()
