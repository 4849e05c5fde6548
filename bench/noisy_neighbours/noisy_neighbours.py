#!/usr/bin/env python3
"""A training loop on the simulated GPU beside noisy neighbours, as a study of eBPF tracers did it: what they cost, what hostprobe says.

Scenarios: alone; beside stress-ng on every CPU, iperf3 over the loopback, fio writing at random; beside all three; beside all three on
a CPU of its own choice with nice -10; beside all three with SCHED_FIFO. Loads and loop share one autogroup (else nice does nothing
between them). In each round every scenario runs bare, under `hostprobe run`, and under `hostprobe sched -- hostprobe run`; figures are
ratios to the baseline of the same round, medians of the rounds. As root.

examples:
  bench/noisy_neighbours/noisy_neighbours.py --build build --short
  bench/noisy_neighbours/noisy_neighbours.py --build build --rounds 5 --steps 400
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

LAUNCHES = 200  # of a step
SCENARIOS = {  # name -> loads, what stands before the program
    "baseline": ((), ()),
    "CPU": (("cpu",), ()),
    "network": (("network",), ()),
    "disk": (("disk",), ()),
    "all three": (("cpu", "network", "disk"), ()),
    "all, 1 core, nice -10": (("cpu", "network", "disk"), ("taskset", "-c", "0", "nice", "-n", "-10")),
    "all, SCHED_FIFO": (("cpu", "network", "disk"), ("chrt", "-f", "50")),
}


class Loads:
    """What runs beside, until it is left."""

    def __init__(self, names, folder):
        self.names, self.folder, self.running = names, folder, []

    def start(self, *command):
        self.running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def __enter__(self):
        if "cpu" in self.names:
            self.start("stress-ng", "--cpu", "0")
        if "network" in self.names:
            self.start("iperf3", "-s", "-p", "5299")
            time.sleep(0.3)
            self.start("iperf3", "-c", "127.0.0.1", "-p", "5299", "-P", "10", "-t", "600")
        if "disk" in self.names:
            self.start("fio", "--name=noise", "--rw=randwrite", "--bs=4k", "--numjobs=4", "--size=32m", "--time_based",
                       "--runtime=600", f"--directory={self.folder}")
        time.sleep(1.5 if self.names else 0)
        return self

    def __exit__(self, *_):
        for one in self.running:
            one.terminate()
        for one in self.running:
            one.wait()


def run_loop(options, before, way, folder):
    """One run of the loop; (seconds, p99 of a step in ms)."""
    loop = [options.build / "examples/train_loop", "--steps", str(options.steps), "--kernel-us", "1", "--host-us", "5"]
    hostprobe = options.build / "bin/hostprobe"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HOSTPROBE_", "SIMNODE_"))}
    command = [*before, *loop]
    if way == "bare":
        environment["LD_LIBRARY_PATH"] = str(options.build / "lib/hostprobe/simnode")
    else:
        command = [*before, hostprobe, "run", "-o", folder, "--mode", "trace", "--simgpu", "1", "--", *loop]
    if way == "sched":
        command = [hostprobe, "sched", "-o", folder, "--", *command]
    begin = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - begin
    return seconds, float(re.search(r"step ms:.*p99 ([\d.]+)", done.stdout)[1]), done.stderr


def said(options, folder):
    """What the report says of a run."""
    report = json.loads(subprocess.run([options.build / "bin/hostprobe", "report", folder, "--json"], capture_output=True, text=True,
                                       check=True).stdout)
    process = next(one for one in report["processes"] if "launches" in one)
    kernel, launches = process.get("kernel", {}), process["launches"]["count"]
    irqs = kernel.get("irqs", {"soft": {"count": 0}, "hard": {"count": 0}})
    neighbours = {}
    for one in process.get("neighbours", []):
        neighbours[one["comm"]] = neighbours.get(one["comm"], 0) + one["took_ms"]
    return {"waited": 100 * kernel.get("waited_ms", 0) / max(kernel.get("seen_ms", 0), 1e-9),
            "switches": 1000 * kernel.get("switches", 0) / launches, "soft": 1000 * irqs["soft"]["count"] / launches,
            "hard": 1000 * irqs["hard"]["count"] / launches, "contention": report["step_share_pct"].get("cpu_contention", 0),
            "neighbours": neighbours, "lost": sum(one["lost"] for one in report.get("kernel", []))}


def one_scenario(options, name, scratch):
    loads, before = SCENARIOS[name]
    with Loads(loads, scratch):
        result = {}
        for way in ("bare", "run", "sched"):
            folder = Path(tempfile.mkdtemp(dir=scratch))
            result[way] = run_loop(options, before, way, folder)
            if way == "sched":
                result["said"] = said(options, folder)
            shutil.rmtree(folder)
    return result


def medians(rounds, name, value):
    return statistics.median(value(one[name], one["baseline"]) for one in rounds)


def who(rounds, name):
    shares = {}
    for one in rounds:
        for comm, took in one[name]["said"]["neighbours"].items():
            shares[comm] = shares.get(comm, 0) + took / len(rounds)
    total = sum(shares.values()) or 1
    heaviest = sorted(shares.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{comm} {100 * took / total:.0f} %" for comm, took in heaviest)


def print_table(rounds):
    print("| | launches/s | step p99 | could run and did not, % | cpu_contention, % of steps | switches/1k | soft/1k | hard/1k | lost | "
          "hostprobe run : bare | + sched : bare | who had the CPU instead |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in SCENARIOS:
        cells = [f"{medians(rounds, name, lambda one, base: base['bare'][0] / one['bare'][0]):.2f}",
                 f"{medians(rounds, name, lambda one, base: one['bare'][1] / base['bare'][1]):.1f}"]
        for key, form in (("waited", ".0f"), ("contention", ".0f"), ("switches", ".1f"), ("soft", ".1f"), ("hard", ".1f"), ("lost", ".0f")):
            cells.append(format(medians(rounds, name, lambda one, base, key=key: one["said"][key]), form))
        for way in ("run", "sched"):
            cells.append(f"{medians(rounds, name, lambda one, base, way=way: one[way][0] / one['bare'][0]):.2f}")
        print(f"| {name} | " + " | ".join(cells) + f" | {who(rounds, name)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--short", action="store_true", help="one round of 100 steps, to see that it works")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if options.short:
        options.rounds, options.steps = 1, 100
    missing = [program for program in ("stress-ng", "iperf3", "fio", "chrt", "taskset") if shutil.which(program) is None]
    if missing or os.geteuid() != 0:
        parser.error("as root, with stress-ng, iperf3 and fio installed; missing: " + ", ".join(missing or ["root"]))
    rounds = []
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.rounds):
            rounds.append({name: one_scenario(options, name, scratch) for name in SCENARIOS})
            print(f"round {number + 1} of {options.rounds} done", flush=True)
    print_table(rounds)


if __name__ == "__main__":
    main()
