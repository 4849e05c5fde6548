#!/usr/bin/env python3
"""Garbage collections as the zero-code shim counts them, held to a gc.callbacks function of the program's own, in
examples/train_ddp.py under torchrun with two ranks; and what the shim adds to one collection.

The program's own function is put there by a script that then runs the example unmodified. Equal means: its list of (generation,
collected) lies, in one piece, in what hostprobe recorded in that process. What is added is the CPU time of gc.collect(0) on an empty
generation, the median of --times rounds of 100 000, with the shim and with HOSTPROBE_PYTHON=0, in turns."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]

COUNTS = """
import atexit, gc, json, os, runpy, sys
seen, own, told = [], os.getpid(), sys.argv[1]
def note(phase, info):
    if phase == "stop" and os.getpid() == own:
        seen.append([info["generation"], info["collected"]])
def tell():
    if os.getpid() == own:
        gc.callbacks.remove(note)
        open(os.path.join(told, f"{own}.json"), "w").write(json.dumps(seen))
import torch
gc.callbacks.append(note)
atexit.register(tell)
example = sys.argv[2]
sys.argv = sys.argv[2:]
runpy.run_path(example, run_name="__main__")
"""

COLLECTS = """
import gc, time
gc.collect(); gc.disable()
while GCS and not gc.callbacks: time.sleep(0.01)
begin = time.thread_time()
for _ in range(100_000): gc.collect(0)
print((time.thread_time() - begin) / 100_000 * 1e9)
"""


def run(build, folder, *command, **environment):
    return subprocess.run([build / "bin/hostprobe", "run", "-o", folder, "--", *map(str, command)], check=True,
                          capture_output=True, text=True, env={**os.environ, **environment}).stdout


def records(build, folder):
    """(generation, collected) of each process, in order."""
    of_process = {}
    dump = subprocess.run([build / "bin/hostprobe", "dump", folder, "--json"], check=True, capture_output=True, text=True)
    for line in dump.stdout.splitlines():
        record = json.loads(line)
        if record.get("function") == "hostprobe_gc":
            of_process.setdefault(record["pid"], []).append(record)
    return {pid: [[r["args"]["generation"], r["args"]["collected"]] for r in sorted(all_, key=lambda r: r["begin_ns"])]
            for pid, all_ in of_process.items()}


def compare(build, torchrun, steps):
    with tempfile.TemporaryDirectory() as folder:
        script, told, kept = Path(folder) / "counts.py", Path(folder) / "told", Path(folder) / "run"
        script.write_text(COUNTS)
        told.mkdir()
        run(build, kept, torchrun, "--nproc-per-node=2", script, told, SOURCE / "examples/train_ddp.py", "--steps", steps)
        seen = records(build, kept)
        for path in sorted(told.glob("*.json")):
            counted, recorded = json.loads(path.read_text()), seen.get(int(path.stem), [])
            places = [at for at in range(len(recorded) - len(counted) + 1) if recorded[at:at + len(counted)] == counted]
            print(f"process {path.stem}: the script counted {len(counted)}; hostprobe",
                  f"the same, behind {places[0]} before and with {len(recorded) - len(counted) - places[0]} after it" if places
                  else f"{len(recorded)}, among which these are NOT in this order")


def cost(build, python, times):
    rounds = {"1": [], "0": []}
    for _ in range(times):
        for shim, all_ in rounds.items():
            with tempfile.TemporaryDirectory() as folder:
                all_.append(float(run(build, folder, python, "-c", COLLECTS.replace("GCS", shim), HOSTPROBE_PYTHON=shim,
                                      HOSTPROBE_MODE="monitor")))
    ns = {shim: statistics.median(all_) for shim, all_ in rounds.items()}
    print(f"gc.collect(0): {ns['0']:.0f} ns without the shim, {ns['1']:.0f} ns with it: {ns['1'] - ns['0']:.0f} ns a collection")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--torchrun", required=True, help="torchrun of the environment that setup.sh --paths calls TORCH_PYTHON")
    parser.add_argument("--python", default="/usr/bin/python3", help="whose collections are timed")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    compare(options.build.absolute(), options.torchrun, options.steps)
    cost(options.build.absolute(), options.python, options.times)


if __name__ == "__main__":
    main()
