#!/usr/bin/env python3
"""What busy neighbours cost a pipeline on simulated GPUs: its step beside as many busy loops as there are CPUs, and alone.

A real device would lose nothing, its host threads their share. Rounds alone and with neighbours take turns, so that both
meet the same machine. Prints the median step, and its ratio to the step alone, of each round's pair.

examples:
  bench/neighbours.py --build build
  bench/neighbours.py --build build --rounds 8 --simnode /elsewhere/lib/hostprobe/simnode
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

JOB = ["--ranks", "2", "--tensor", "1", "--pipeline", "2", "--checkpoint-every", "0"]


def median_step_ms(options, neighbours):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOSTPROBE_", "SIMNODE_"))}
    environment["LD_LIBRARY_PATH"] = str(options.simnode)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(neighbours)]
    try:
        command = [options.build / "examples/train_parallel", *JOB, "--steps", str(options.steps)]
        output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    finally:
        for neighbour in busy:
            neighbour.kill()
            neighbour.wait()
    return float(re.search(r"step ms: count \d+ median ([\d.]+)", output)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--simnode", type=Path, help="folder of the simulated node's libraries (the build's)")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.simnode = (options.simnode or options.build / "lib/hostprobe/simnode").resolve()
    neighbours = os.cpu_count()
    ratios = []
    for _ in range(options.rounds):
        alone, beside = median_step_ms(options, 0), median_step_ms(options, neighbours)
        ratios.append(beside / alone)
        print(f"alone {alone:8.2f} ms   beside {neighbours} busy loops {beside:8.2f} ms   ratio {ratios[-1]:6.2f}", flush=True)
    print(f"ratio: median {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})")


if __name__ == "__main__":
    main()
