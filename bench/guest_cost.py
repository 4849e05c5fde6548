#!/usr/bin/env python3
"""What hostprobe says that it costs, beside what jobs pay that would make a recorder expensive: steps and CPU, in paired runs.

Each job runs bare and probed in its default mode in turns, the two of a pair in changing order. Steps: the mean that the job prints. CPU: user and
system of all of its processes, hostprobe's own thread included. Said: `own_cost` of the report, the greatest `steps_pct` of its processes, and
the sum of their costs as a share of the bare run's CPU. A difference is the median over pairs, with the least and the greatest.

  sharded   train_parallel, 2 simulated ranks with busy progress threads
  yield     two threads that yield all the time beside one that computes
  decode    train_loop, steps of 50 kernels of 2 us
  convoy    64 threads that take one lock in turns
  idle      200 threads that wait
  threads   each step begins and joins a thread
  shell     a shell that starts 30 short processes
  compile   make of 300 small C files, some 1 500 processes
  each      the same with HOSTPROBE_TARGET=all
  redis     redis-server and redis-benchmark, HOSTPROBE_TARGET=all
  torch     steps of PyTorch on the CPU
  loader    the same with a DataLoader of two workers
  yielding  the same beside four threads that yield all the time
  ddp       examples/train_ddp.py: two ranks with gloo and loaders

examples:
  bench/guest_cost.py --build build --pairs 9
  bench/guest_cost.py --build build --pairs 3 yield shell
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import torch_folder
from environment import clean_environment

SOURCE = Path(__file__).resolve().parents[1]

NAMES = ("sharded", "yield", "decode", "convoy", "idle", "threads", "shell", "compile", "each", "redis", "torch", "loader", "yielding", "ddp")
REDIS = """
ln -s "$(command -v redis-check-rdb)" redis-server
./redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no > server.log & server=$!
until redis-cli -s "$PWD/socket" ping > ping.log 2>&1; do sleep 0.05; done
redis-benchmark -s "$PWD/socket" -n 150000 -c 20 -t get,set -q
kill $server; wait $server || true
"""
COMPILE = """
for i in $(seq 300); do echo "int f$i(int x) { return x * $i; }" > $i.c; done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' > Makefile
make -j2 -s
"""


def workload(name, build):
    """(command, settings)"""
    node = {"LD_LIBRARY_PATH": str(build / "lib/hostprobe/simnode")}
    if name == "sharded":
        return [build / "examples/train_parallel", "--ranks", "2", "--tensor", "2", "--pipeline", "1", "--steps",
                "150"], node | {"SIMNODE_GPUS": "2"}
    if name == "decode":
        return ([build / "examples/train_loop", "--steps", "600", "--kernels", "50", "--kernel-us", "2", "--threads", "0"],
                node | {"SIMNODE_GPUS": "1"})
    if name in ("compile", "each", "redis"):
        return ["/bin/bash", "-c", REDIS if name == "redis" else COMPILE], {} if name == "compile" else {"HOSTPROBE_TARGET": "all"}
    if name in ("torch", "loader", "yielding"):
        words = {"torch": [], "loader": ["--workers", "2"], "yielding": ["--yielding", "4"]}[name]
        return [torch_folder() / "python", SOURCE / "bench/guest_torch.py", "300", *words], {}
    if name == "ddp":
        return [torch_folder() / "torchrun", "--standalone", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "200",
                "--workers", "1"], {}
    if name == "shell":
        return ["/bin/sh", "-c", "i=0; while [ $i -lt 30 ]; do /bin/true; i=$((i+1)); done"], {}
    return [build / "bench/guest_jobs", name, "300"], {"HOSTPROBE_TARGET": "all"}


def run(options, name, folder, probed):
    """(mean step ms or None, CPU seconds)"""
    command, settings = workload(name, options.build)
    environment = clean_environment() | settings
    if probed:
        environment |= {"LD_PRELOAD": str(options.build / "lib/libhostprobe.so"), "HOSTPROBE_OUT": str(folder / "run")}
    with open(folder / "out", "w+") as out:
        child = subprocess.Popen([str(word) for word in command], env=environment, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode != 0:
        sys.exit(f"guest_cost.py: {command[0]} ended with {child.returncode}:\n{text}")
    found = re.search(r"step ms: .*mean ([0-9.]+)", text)
    return float(found.group(1)) if found else None, used.ru_utime + used.ru_stime


def said(options, folder):
    """(steps_pct, seconds in all, whether own_cost is a finding, traces)"""
    traces = len(list((folder / "run").rglob("*.hptrace")))
    if traces == 0:
        return None, 0, False, 0
    out = subprocess.run([options.build / "bin/hostprobe", "report", folder / "run", "--json"], capture_output=True,
                         text=True, check=True).stdout
    report = json.loads(out)
    costs = [process["own_cost"] for process in report["processes"]]
    steps = [cost["steps_pct"] for cost in costs if cost["steps_pct"] is not None]
    total = sum(sum(cost["by_source"].values()) for cost in costs if cost["by_source"])
    return max(steps, default=None), total / 1000, any(f["cause"] == "own_cost" for f in report["findings"]), traces


def one_pair(options, name, number):
    sides = {}
    for probed in (True, False) if number % 2 else (False, True):
        with tempfile.TemporaryDirectory(prefix="guest-cost-") as folder:
            sides[probed] = run(options, name, Path(folder), probed)
            if probed:
                steps_said, cpu_said, is_finding, traces = said(options, Path(folder))
    (step, cpu), (step_bare, cpu_bare) = sides[True], sides[False]
    return {"step_bare": step_bare, "cpu_bare": cpu_bare, "steps": 100 * (step / step_bare - 1) if step_bare else None,
            "cpu": 100 * (cpu / cpu_bare - 1), "steps_said": steps_said, "cpu_said": 100 * cpu_said / cpu_bare,
            "finding": is_finding, "traces": traces}


def spread(pairs, key, digits=1):
    values = [pair[key] for pair in pairs if pair[key] is not None]
    if not values:
        return "–"
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=", ".join(NAMES) + " (default: all)")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    options.build = options.build.resolve()
    if unknown := set(options.jobs) - set(NAMES):
        parser.error(f"no job {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print("| job | pairs | step ms bare | steps longer, % | said, % | CPU s bare | CPU more, % | said, % | found `own_cost` | traces |")
    print("|" + "---|" * 10)
    for name in options.jobs or NAMES:
        pairs = [one_pair(options, name, number) for number in range(options.pairs)]
        print(f"| {name} | {len(pairs)} | {spread(pairs, 'step_bare', 2)} | {spread(pairs, 'steps')} | {spread(pairs, 'steps_said', 2)} |"
              f" {statistics.median(p['cpu_bare'] for p in pairs):.2f} | {spread(pairs, 'cpu')} | {spread(pairs, 'cpu_said')} |"
              f" {sum(p['finding'] for p in pairs)} of {len(pairs)} | {pairs[-1]['traces']} |", flush=True)


if __name__ == "__main__":
    main()
