#!/usr/bin/env python3
"""How often a recorded call takes long, beside the same calls without the probe.

Two threads make 100 calls a millisecond each. Slices with and without the probe take turns, so that both meet the same
neighbours: on a busy machine nearly all long calls are the scheduler's, and only the difference is hostprobe's. Prints
how many calls lie in each power of two, and how many took longer than certain ones of them: 2^20 ns is 1.05 ms. Of those
that took longer than this: how many slept in the call, used as much CPU time themselves, or were preempted. A hook that
stalls by itself would sleep or use CPU time. What is neither was stolen by the machine or spent in an interrupt.

examples:
  bench/stalls.py --build build
  bench/stalls.py --build build --slices 30 --per-ms 500 --json
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

LIMITS_NS = {"> 16 us": 1 << 14, "> 131 us": 1 << 17, "> 1 ms": 1 << 20, "> 8 ms": 1 << 23}
LONG = ("slept", "busy", "preempted")


class Side:
    def __init__(self):
        self.buckets, self.longest_ns, self.lost = Counter(), 0, 0
        self.long = Counter()

    def add(self, output):
        for line in output.splitlines():
            name, value = line.split()
            if name == "longest":
                self.longest_ns = max(self.longest_ns, int(value))
            elif name in LONG:
                self.long[name] += int(value)
            else:
                self.buckets[int(name)] += int(value)

    def calls(self):
        return sum(self.buckets.values())

    def over(self, limit_ns):
        """Bucket b holds 2^(b-1) to 2^b - 1 nanoseconds."""
        return sum(count for bucket, count in self.buckets.items() if 1 << bucket >= 2 * limit_ns)

    def as_json(self):
        return {"calls": self.calls(), "longest_ns": self.longest_ns, "lost": self.lost,
                "over_1_ms": {name: self.long[name] for name in LONG},
                "over": {name: self.over(limit) for name, limit in LIMITS_NS.items()},
                "buckets_below_ns": {str(1 << b): n for b, n in sorted(self.buckets.items())}}


def one_slice(options, side, probed):
    command = [options.build / "bench/stalls", str(options.threads), str(options.seconds), str(options.per_ms)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOSTPROBE_")}
    with tempfile.TemporaryDirectory(prefix="hostprobe-stalls-") as run:
        if probed:
            environment.update(LD_PRELOAD=str(options.build / "lib/libhostprobe.so"), HOSTPROBE_OUT=run,
                               HOSTPROBE_TARGET="all", HOSTPROBE_BUDGET="0", HOSTPROBE_WAIT_US="0",
                               HOSTPROBE_IO_US="1000000000")
        side.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
        if probed:
            report = subprocess.run([options.build / "bin/hostprobe", "report", run, "--json"], capture_output=True,
                                    text=True, check=True).stdout
            side.lost += sum(process["lost"] for process in json.loads(report)["processes"])


def print_table(without, with_probe):
    print(f"{'calls of':>22} {'without':>14} {'with hostprobe':>14}")
    for bucket in sorted(set(without.buckets) | set(with_probe.buckets)):
        print(f"{(1 << bucket) / 2e3:>11.3f} us or more {without.buckets[bucket]:>11} {with_probe.buckets[bucket]:>14}")
    print(f"{'all':>22} {without.calls():>14} {with_probe.calls():>14}")
    for name, limit in LIMITS_NS.items():
        print(f"{name:>22} {without.over(limit):>14} {with_probe.over(limit):>14}")
    for name in LONG:
        print(f"{'> 1 ms, ' + name:>22} {without.long[name]:>14} {with_probe.long[name]:>14}")
    print(f"{'longest, ms':>22} {without.longest_ns / 1e6:>14.3f} {with_probe.longest_ns / 1e6:>14.3f}")
    print(f"{'records lost':>22} {'':>14} {with_probe.lost:>14}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--slices", type=int, default=10, help="of each kind (10)")
    parser.add_argument("--seconds", type=int, default=3, help="a slice lasts (3)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--per-ms", type=int, default=100, help="calls of each thread a millisecond (100)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.build = options.build.resolve()
    without, with_probe = Side(), Side()
    for _ in range(options.slices):
        one_slice(options, without, probed=False)
        one_slice(options, with_probe, probed=True)
    if options.json:
        print(json.dumps({"without": without.as_json(), "with": with_probe.as_json()}, indent=1))
    else:
        print_table(without, with_probe)


if __name__ == "__main__":
    main()
