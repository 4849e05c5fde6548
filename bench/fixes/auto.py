#!/usr/bin/env python3
"""How often the fix `auto` decides rightly: for a harmful, a useless and a useful fix, --times runs each.

What is planted is the program, the fix is `gc`. useful: a step makes objects that live through it beside 100 000 that live for ever, so the
collector takes a tenth of it; useless: it makes none; harmful: it works a tenth longer where the thresholds are raised. Steps are of 8 ms
of work, marked. Right is: kept, not kept, not kept. Runs go on until the decision; several side by side with --jobs."""

import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = """
import gc, os, sys, time
import hostprobe
kind, end = sys.argv[1:]
live = [[i] for i in range(100_000)] if kind == "useful" else []
def work(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until: pass
number = 0
while not os.path.exists(end):
    hostprobe.step(number)
    number += 1
    keep = [[k] for k in range(10_000)] if kind == "useful" else None
    work(0.008)
    if kind == "harmful" and gc.get_threshold()[0] == 50000: work(0.0008)
"""
RIGHT = {"useful": {"kept"}, "useless": {"useless", "harmful"}, "harmful": {"useless", "harmful"}}


def report(build, run):
    done = subprocess.run([build / "bin/hostprobe", "report", run, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"trials": []}


def once(build, kind):
    with tempfile.TemporaryDirectory() as folder:
        script, run, end = Path(folder) / "program.py", Path(folder) / "run", Path(folder) / "end"
        script.write_text(PROGRAM)
        environment = {**os.environ, "PYTHONPATH": str(build / "lib/hostprobe/python")}
        begin = time.monotonic()
        process = subprocess.Popen([build / "bin/hostprobe", "run", "-o", run, "--fix", "auto:gc", "--", "/usr/bin/python3", script,
                                    kind, end], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        trials = []
        try:
            while not trials and time.monotonic() < begin + 300:
                time.sleep(1)
                trials = report(build, run)["trials"]
        finally:
            end.touch()
            process.wait()
        return {**(trials or [{"decision": "none", "gain_pct": 0, "windows_with": 0}])[0], "seconds": time.monotonic() - begin}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    build = options.build.absolute()
    print("| fix | runs | right | decisions | gain, median % | windows each way, median | seconds, median |\n|---|---|---|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for kind, right in RIGHT.items():
            runs = list(pool.map(lambda _, kind=kind: once(build, kind), range(options.times)))
            decisions = sorted(run["decision"] for run in runs)
            counts = ", ".join(f"{name} {decisions.count(name)}" for name in dict.fromkeys(decisions))
            middle = {name: statistics.median(run[name] for run in runs) for name in ("gain_pct", "windows_with", "seconds")}
            print(f"| {kind} | {len(runs)} | {sum(run['decision'] in right for run in runs)} | {counts} | {middle['gain_pct']:.2f} | "
                  f"{middle['windows_with']:.0f} | {middle['seconds']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
