#!/usr/bin/env python3
"""What it costs that the kernel notes the switches of a process's threads (HOSTPROBE_SCHED).

ping: two threads on one CPU that do nothing but wake each other (bench/ping_pong.cpp), as many switches a second as there can be; their
CPU time.
loop: examples/train_loop on the simulated node, its median step. Rounds with and without take turns; what is printed is the median
of the ratios of the pairs, and the range of the middle half. Beside ping stands what hostprobe's own-cost line says of the same runs.

example: bench/switches.py --build build --rounds 9"""

import argparse
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from environment import clean_environment


def probed(build, folder, mode, sched, *command, **more):
    environment = clean_environment(LD_PRELOAD=str(build / "lib/libhostprobe.so"), HOSTPROBE_OUT=str(folder), HOSTPROBE_MODE=mode,
                                    HOSTPROBE_SCHED=sched, HOSTPROBE_TARGET="all", HOSTPROBE_BUDGET="0", **more)
    return subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=True).stdout


def report(build, folder):
    text = subprocess.run([build / "bin/hostprobe", "report", folder, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(text)["processes"][0]


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def ping(build, options, mode):
    ratios, added, told = [], [], []
    for _ in range(options.rounds):
        nanoseconds = {}
        for sched in ("off", "auto"):
            with tempfile.TemporaryDirectory() as folder:
                nanoseconds[sched] = float(probed(build, folder, mode, sched, build / "bench/ping_pong", options.switches // 2))
                process = report(build, folder)
                own = process["own_cost_pct"] / 100 * process["wall_ms"]
                told.append(own if sched == "auto" else -own)
        ratios.append(nanoseconds["auto"] / nanoseconds["off"])
        added.append((nanoseconds["auto"] - nanoseconds["off"]) / 2)
    own_ns = 1e6 * sum(told) / options.rounds / options.switches
    print(f"ping {mode:7} ratio {spread(ratios)}, added {statistics.median(added):.0f} ns a switch; the own-cost line says {own_ns:.0f}")


def loop(build, options, mode):
    ratios = []
    for _ in range(options.rounds):
        step = {}
        for sched in ("off", "auto"):
            with tempfile.TemporaryDirectory() as folder:
                output = probed(build, folder, mode, sched, build / "examples/train_loop", "--steps", options.steps,
                                LD_LIBRARY_PATH=str(build / "lib/hostprobe/simnode"), SIMNODE_GPUS="1")
                step[sched] = float(re.search(r"median ([\d.]+)", output)[1])
        ratios.append(step["auto"] / step["off"])
    print(f"loop {mode:7} ratio {spread(ratios)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--switches", type=int, default=200000, help="of ping, in a run")
    parser.add_argument("--steps", type=int, default=300, help="of loop, in a run")
    options = parser.parse_args()
    build = options.build.resolve()
    for mode in ("trace", "flight"):
        ping(build, options, mode)
    for mode in ("trace", "flight"):
        loop(build, options, mode)


if __name__ == "__main__":
    main()
