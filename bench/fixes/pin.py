#!/usr/bin/env python3
"""Step times of one simulated rank beside `stress-ng --cpu 2`: as it is, with the fix `pin`, and with taskset and nice by hand, in
turns.

One rank, because `pin` wants a CPU for the main thread and one for the progress threads of each. Medians over --rounds of the report's
median and p99 of a step, and of the context switches of the launching thread, as the kernel counts them, per 1000 launches. `alone`: without stress-ng.
`taskset, nice`: the whole process on the last CPU with nice -10, which needs root."""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

JOBS = {"train_parallel": ["--ranks", "1", "--tensor", "1", "--pipeline", "1", "--checkpoint-every", "0", "--host-us", "5"],
        "train_loop": ["--host-us", "5"]}


def once(options, fix, before):
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        job = subprocess.Popen([*before, options.build / "bin/hostprobe", "run", "-o", run, "--simgpu", "1", "--mode", "trace", "--fix",
                                fix, "--", options.build / "examples" / options.job, *JOBS[options.job], "--steps", str(options.steps)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        switches = watch_switches(job, options.job)
        report = json.loads(subprocess.run([options.build / "bin/hostprobe", "report", run, "--json"], check=True,
                                           capture_output=True, text=True).stdout)
    rank = max(report["processes"], key=lambda p: (p.get("launches") or {"count": 0})["count"])
    said = [e["text"] for e in rank["events"] if e["kind"] == "fix"]
    return {"median_ms": report["steps"]["median_ms"], "p99_ms": report["steps"]["p99_ms"],
            "switches": 1000 * sum(switches.get(rank["pid"], (0, 0))) / rank["launches"]["count"],
            "preempted": 1000 * switches.get(rank["pid"], (0, 0))[1] / rank["launches"]["count"], "said": said}


def watch_switches(job, program):
    """Of the main thread of each process of the job, what the kernel said last: voluntary and involuntary."""
    switches = {}
    while job.poll() is None:
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and program in Path(f"/proc/{name}/cmdline").read_text():
                    status = Path(f"/proc/{name}/status").read_text()
                    switches[int(name)] = tuple(int(re.search(rf"^{kind}_ctxt_switches:\s+(\d+)", status, re.M)[1])
                                                for kind in ("voluntary", "nonvoluntary"))
            except (OSError, TypeError):
                pass  # it has ended
        time.sleep(0.1)
    return switches


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--job", choices=JOBS, default="train_parallel", help="with a progress thread, or without")
    parser.add_argument("--stress-on", default=f"0-{os.cpu_count() - 1}", help="CPUs that stress-ng runs on")
    options = parser.parse_args()
    options.build = options.build.absolute()
    by_hand = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "nice", "-n", "-10"]
    ways = {"alone": ("none", [], False), "as it is": ("none", [], True), "pin": ("pin", [], True),
            "taskset, nice": ("none", by_hand, True)}
    rounds = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, (fix, before, beside) in ways.items():
            stress = subprocess.Popen(["taskset", "-c", options.stress_on, "stress-ng", "--cpu", "2", "--quiet"]) if beside else None
            try:
                rounds[name].append(once(options, fix, before))
            finally:
                if stress:
                    stress.terminate()
                    stress.wait()
    print("| rank | median step, ms | p99 step, ms | switches per 1000 launches | of them preempted |\n|---|---|---|---|---|")
    for name, all_ in rounds.items():
        middle = {key: statistics.median(one[key] for one in all_) for key in ("median_ms", "p99_ms", "switches", "preempted")}
        print(f"| {name} | {middle['median_ms']:.2f} | {middle['p99_ms']:.1f} | {middle['switches']:.1f} | {middle['preempted']:.1f} |")
    print("pin said:", rounds["pin"][0]["said"])


if __name__ == "__main__":
    main()
