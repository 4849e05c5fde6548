#!/usr/bin/env python3
"""Time that the training thread of examples/train_loop spends in kernel launches, without and with the fix `batch_launch`, in turns.

On the simulated driver, whose launch call costs 2 us, busy. The times of the calls are those that hostprobe records. Told are
medians over --times runs each: milliseconds in launches per step, the median and the p99 of a step, the share of launches that
went through the queue; and whether the checksum, which is of every value the kernels made, is the same in all runs."""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path


def once(build, steps, kernels, host_us, fix):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        program = [build / "examples/train_loop", "--steps", str(steps), "--kernels", str(kernels), "--kernel-us", "1",
                   "--host-us", str(host_us), "--threads", "0"]
        out = subprocess.run([build / "bin/hostprobe", "run", "--simgpu", "1", "-o", run, "--fix", fix, "--", *program], check=True,
                             capture_output=True, text=True, env={**os.environ, "HOSTPROBE_BUDGET": "0"}).stdout
        report = json.loads(subprocess.run([build / "bin/hostprobe", "report", run, "--json"], check=True, capture_output=True,
                                           text=True).stdout)
    process = report["processes"][0]
    queued = [int(n) for event in process["events"] for n in re.findall(r"to the end: (\d+) launches", event["text"])]
    median, p99 = re.search(r"median ([\d.]+) p99 ([\d.]+)", out).groups()
    return {"launch_ms": process["launches"]["call_total_ms"] / steps, "median_ms": float(median), "p99_ms": float(p99),
            "queued_pct": 100 * sum(queued) / process["launches"]["count"], "checksum": re.search(r"checksum .*", out).group()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--kernels", type=int, default=200, help="launches a step, besides one")
    parser.add_argument("--host-us", type=float, nargs="+", default=[0, 5], help="the host's own work before each launch")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    print("| host work, us | fix | ms in launches per step | less | median of a step, ms | p99, ms | through the queue |\n"
          "|---|---|---|---|---|---|---|")
    checksums = set()
    for host_us in options.host_us:
        runs = {"none": [], "batch_launch": []}
        for _ in range(options.times):
            for fix, all_ in runs.items():
                all_.append(once(options.build.absolute(), options.steps, options.kernels, f"{host_us:g}", fix))
        checksums |= {one["checksum"] for all_ in runs.values() for one in all_}
        without = statistics.median(one["launch_ms"] for one in runs["none"])
        for fix, all_ in runs.items():
            middle = {name: statistics.median(one[name] for one in all_) for name in all_[0] if name != "checksum"}
            print(f"| {host_us:g} | {fix} | {middle['launch_ms']:.3f} | {without / middle['launch_ms']:.1f} x | "
                  f"{middle['median_ms']:.3f} | {middle['p99_ms']:.3f} | {middle['queued_pct']:.0f} % |")
    print(f"checksums: {'the same in all runs' if len(checksums) == 1 else checksums}")


if __name__ == "__main__":
    main()
