#!/usr/bin/env python3
"""How long a thread takes to run again after the post that it waits for, and the CPU time of the two threads, without and with the
fix `spin`, in turns: bench/fixes/hand_over.cpp under `hostprobe run`.

Medians over --rounds. CPU: of both threads and hostprobe's, per hand-over. How many waits polled, and how many of them did not sleep,
is what the fix itself says. It lets nobody poll while others want the CPUs: rounds in which that was so are made again, a few
times, and counted."""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def once(options, gap_us, fix):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        out = subprocess.run([options.build / "bin/hostprobe", "run", "-o", run, "--fix", fix, "--spin-us", str(options.spin_us), "--",
                              options.build / "bench/hand_over", str(options.times), str(gap_us)],
                             check=True, capture_output=True, text=True).stdout
        report = json.loads(subprocess.run([options.build / "bin/hostprobe", "report", run, "--json"], check=True,
                                           capture_output=True, text=True).stdout)
    said = " ".join(e["text"] for p in report["processes"] for e in p["events"] if e["kind"] == "fix")
    polled = re.search(r"(\d+) of (\d+) waits that polled", said)
    return {**json.loads(out), "polled": int(polled[2]) if polled else 0, "free": int(polled[1]) if polled else 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--times", type=int, default=100000)
    parser.add_argument("--gaps", default="10,20,40", help="microseconds of work before each post")
    parser.add_argument("--spin-us", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.build = options.build.absolute()
    print("| work before a post, us | fix | wake p50, us | p99, us | wall per hand-over, us | CPU per hand-over, us | polled | did not sleep |")
    print("|---|---|---|---|---|---|---|---|")
    for gap_us in options.gaps.split(","):
        rounds = {"none": [], "spin": []}
        again = 0
        while len(rounds["spin"]) < options.rounds and again < 8 * options.rounds:
            pair = {fix: once(options, gap_us, fix) for fix in rounds}
            if pair["spin"]["polled"] < options.times / 20:
                again += 1
                continue
            for fix, all_ in rounds.items():
                all_.append(pair[fix])
        print(f"{len(rounds['spin'])} rounds, and {again} in which nobody might poll", file=sys.stderr)
        if not rounds["spin"]:
            continue
        for fix, all_ in rounds.items():
            middle = {name: statistics.median(one[name] for one in all_) for name in all_[0]}
            print(f"| {gap_us} | {fix} | {middle['p50_us']:.2f} | {middle['p99_us']:.1f} | "
                  f"{1e3 * middle['wall_ms'] / middle['times']:.1f} | {1e3 * middle['cpu_ms'] / middle['times']:.1f} | "
                  f"{middle['polled']:.0f} | {middle['free']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
