#!/usr/bin/env python3
"""What hostprobe says that it costs, beside what a job pays: CPU with it less CPU without, in paired runs.

The two runs of a pair take turns in being first. CPU (user + system) is that of the processes that record, read by each of
them when it exits (cpu_meter.c), of all its threads and of its main thread. The report's own-cost line is held against
the difference. A difference is a median over pairs with the 95 % interval of a bootstrap: where that is wider than half
of the median there is nothing to divide by, and all that is told is whether the report's figure lies inside of it.

  launch      train_loop, launches that cost nothing and are never waited for one by one
  wait        two threads that each make 600 000 waits whose time has passed, as fast as they can; all are recorded
  ddp         train_ddp.py, 2 ranks, PyTorch
  simulated   train_parallel, 8 ranks

examples:
  bench/own_cost.py --build build launch wait
  bench/own_cost.py --build build --pairs 6 ddp simulated
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
NAMES = ("launch", "wait", "ddp", "simulated")


def workload(name, build):
    """(command, settings of the simulated node)"""
    examples, node = build / "examples", {"LD_LIBRARY_PATH": str(build / "lib/hostprobe/simnode")}
    if name == "launch":
        return ([examples / "train_loop", "--steps", "800", "--kernels", "5000", "--kernel-us", "0.01", "--threads", "0",
                 "--sync", "block"],
                node | {"SIMNODE_GPUS": "1", "SIMNODE_LAUNCH_US": "0", "SIMNODE_BEHIND_US": "0", "SIMNODE_QUEUE": "0"})
    if name == "wait":
        return [build / "tests/programs/counts_its_calls", "2", "600000", "0"], {}
    if name == "ddp":
        return [torch_folder() / "torchrun", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "300"], {}
    return [examples / "train_parallel", "--steps", "400"], node | {"SIMNODE_GPUS": "8"}


def run(options, name, folder, probed):
    """{pid: (rank, CPU ns, main thread's CPU ns)}"""
    command, settings = workload(name, options.build)
    environment = clean_environment()
    preload = [options.build / "bench/libcpu_meter.so"]
    if probed:
        preload.append(options.build / "lib/libhostprobe.so")
        environment |= {"HOSTPROBE_OUT": str(folder / "run"), "HOSTPROBE_BUDGET": "0", "HOSTPROBE_MODE": options.mode}
        if name == "wait":
            environment["HOSTPROBE_TARGET"] = "all"
    meter = folder / "meter"
    environment |= settings | {"LD_PRELOAD": ":".join(map(str, preload)), "CPU_METER": str(meter)}
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"own_cost.py: {command[0]} ended with {done.returncode}:\n{done.stderr}")
    lines = [line.split() for line in meter.read_text().splitlines()]
    return {int(pid): (rank, int(cpu), int(main)) for rank, pid, cpu, main in lines}


def cpu_seconds(processes):
    """Of all threads, and of the main ones."""
    return sum(row[1] for row in processes.values()) / 1e9, sum(row[2] for row in processes.values() if row[2] >= 0) / 1e9


def reported(options, folder, processes):
    """Seconds that the report says were hostprobe's, in the processes that were metered."""
    out = subprocess.run([options.build / "bin/hostprobe", "report", folder / "run", "--json"], capture_output=True,
                         text=True, check=True).stdout
    found = [p for p in json.loads(out)["processes"] if p["pid"] in processes and p["own_cost_pct"] is not None]
    return sum(p["own_cost_pct"] / 100 * p["wall_ms"] / 1000 for p in found)


def one_pair(options, name, number):
    sides = {}
    for probed in (True, False) if number % 2 else (False, True):
        with tempfile.TemporaryDirectory(prefix="own-cost-") as folder:
            processes = run(options, name, Path(folder), probed)
            if name in ("ddp", "simulated"):  # the ranks, without what starts them
                processes = {pid: row for pid, row in processes.items() if row[0] != "-"}
            sides[probed] = cpu_seconds(processes)
            if probed:
                told = reported(options, Path(folder), processes)
    (cpu, main), (cpu_without, main_without) = sides[True], sides[False]
    return {"without_s": cpu_without, "added_s": cpu - cpu_without, "told_s": told,
            "main_without_s": main_without, "main_added_s": main - main_without}


def interval(values, seed=1):
    """Median, and the middle 95 % of the medians of samples drawn from the values."""
    draw = random.Random(seed)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.median(values), medians[50], medians[1949]


def percent_of(pairs, part, whole):
    return interval([100 * pair[part] / pair[whole] for pair in pairs])


def show(triple, digits):
    middle, low, high = (f"{value:.{digits}f}" for value in triple)
    return f"{middle} ({low}–{high})"


def row(name, pairs):
    told = [100 * pair["told_s"] / pair["without_s"] for pair in pairs]
    added = percent_of(pairs, "added_s", "without_s")
    ratio = statistics.median(told) / added[0]
    if added[2] - added[1] > added[0] / 2:
        ratio = "not measurable: " + ("inside" if added[1] <= statistics.median(told) <= added[2] else "outside")
    else:
        ratio = f"{ratio:.2f}"
    return " | ".join(("", name, str(len(pairs)), f"{statistics.median(p['without_s'] for p in pairs):.2f}",
                       show(added, 2), f"{statistics.median(told):.2f} ({min(told):.2f}–{max(told):.2f})", ratio,
                       show(percent_of(pairs, "main_added_s", "main_without_s"), 2), "")).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(NAMES) + " (default: all)")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--mode", default="flight", help="HOSTPROBE_MODE (default: flight)")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if unknown := set(options.workloads) - set(NAMES):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print("| workload | pairs | CPU s without | added CPU, % (95 %) | report says, % (least–greatest) | report ÷ added |"
          " main thread, added % (95 %) |")
    print("|" + "---|" * 7)
    for name in options.workloads or NAMES:
        print(row(name, [one_pair(options, name, number) for number in range(options.pairs)]), flush=True)


if __name__ == "__main__":
    main()
