#!/usr/bin/env python3
"""Nanoseconds of a mark, a region and a step from Python: with the library absent, preloaded into a program that is no target, and
recording. Each figure is CPU time of the thread, the median of --times rounds of 200 000 calls, less an empty loop's; the three
take turns."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, time, timeit, hostprobe
calls = {"step(7)": "step(7)", "mark('loss', 0.5)": "mark('loss', 0.5)", "with region('forward')": "with region('forward'): pass",
         "with step(7)": "with step(7): pass"}
names = {name: getattr(hostprobe, name) for name in ("step", "mark", "region")}
took = lambda call: timeit.timeit(call, globals=names, number=200_000, timer=time.thread_time) / 200_000 * 1e9
took("step(7)")
empty = took("pass")
print(json.dumps({name: took(call) - empty for name, call in calls.items()}))
"""


def once(build, environment):
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": str(build / "lib/hostprobe/python"), "HOSTPROBE_OUT": folder,
                                  **environment})
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    build = options.build.absolute()
    preload = {"LD_PRELOAD": str(build / "lib/libhostprobe.so")}
    ways = {"absent": {}, "no target": {**preload, "HOSTPROBE_TARGET": "nobody"},
            "recording": {**preload, "HOSTPROBE_TARGET": "all"}}
    rounds = [{way: once(build, environment) for way, environment in ways.items()} for _ in range(options.times)]
    print("| call |", " | ".join(ways), "|\n|---|" + len(ways) * "---|")
    for call in rounds[0]["absent"]:
        print(f"| `{call}` |", " | ".join(f"{statistics.median(r[way][call] for r in rounds):.0f}" for way in ways), "|")


if __name__ == "__main__":
    main()
