#!/usr/bin/env python3
"""What a hooked call costs, as one table: runs <build>/bench/hook_cost in six ways and sets the ratios side by side.

  bare     without the probe: shows what the method itself adds (nothing)
  off      HOSTPROBE_OFF=1
  shut     hooks in place, but nothing can be recorded (its folder cannot be made)
  trace    every call becomes a record, in mode trace
  flight   the same in mode flight
  monitor  the same in mode monitor

Each way runs in processes of its own, in turns, each of which measures both floors beside its calls. Every figure is the
median of all repetitions of all processes, with their least and greatest.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import clean_environment

MODES = ("trace", "flight", "monitor")
WAYS = ("bare", "off", "shut", *MODES)


def environment_of(way, library, folder):
    clean = clean_environment()
    if way == "bare":
        return clean
    clean |= {"LD_PRELOAD": str(library), "HOSTPROBE_TARGET": "all", "HOSTPROBE_OUT": str(folder / "run"),
              "HOSTPROBE_MODE": way if way in MODES else "trace", "HOSTPROBE_BUDGET": "0"}
    if way == "off":
        clean["HOSTPROBE_OFF"] = "1"
    if way == "shut":
        (folder / "file").touch()
        clean["HOSTPROBE_OUT"] = str(folder / "file/run")
    return clean


def run_once(way, options):
    """The repetitions of one process: {benchmark: [{counter: value}]}."""
    with tempfile.TemporaryDirectory(prefix="hook-cost-") as name:
        folder = Path(name)
        command = [options.build / "bench/hook_cost", f"--benchmark_out={folder / 'out.json'}",
                   f"--benchmark_filter={options.filter}"]
        done = subprocess.run([str(word) for word in command], env=environment_of(way, options.library, folder),
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"hook_cost.py: {command[0]} ended with {done.returncode}:\n{done.stderr}")
        found = {}
        for line in json.loads((folder / "out.json").read_text())["benchmarks"]:
            if line.get("error_occurred"):
                sys.exit(f"hook_cost.py: {line['name']} ({way}): {line['error_message']}")
            if line["run_type"] == "iteration":
                found.setdefault(line["name"].split("/iterations:")[0], []).append(line)
        return found


def run_stand_in(way, options):
    """What the hook and the least recorder add to a launch in the simulated driver, in T: simnode_launch's lines."""
    if way in ("off", "shut"):
        return "–", "–"
    with tempfile.TemporaryDirectory(prefix="hook-cost-") as name:
        environment = environment_of(way, options.library, Path(name)) | {
            "LD_LIBRARY_PATH": str(options.build / "lib/hostprobe/simnode")}
        done = subprocess.run([options.build / "bench/simnode_launch"], env=environment, capture_output=True, text=True,
                              check=True)
    lines = done.stdout.splitlines()
    if int(lines[-1].split()[-1]) != 0:
        sys.exit(f"hook_cost.py: simnode_launch lost records while {way}; let the machine be quieter")
    figures = [re.findall(r"-?\d+\.\d+", line) for line in (lines[-2], lines[-3])]
    return tuple(f"{middle} ({least}–{greatest})".replace("-0.00", "0.00") for middle, least, greatest in figures)


def check(way, found):
    """A table of calls that were not recorded, or were lost, would be a table of something else."""
    for name, lines in found.items():
        if any(line.get("lost", 0) for line in lines):
            sys.exit(f"hook_cost.py: {name} lost records while {way}: its figures are those of lost records; "
                     "let the machine be quieter")
        if way in MODES and name.startswith("hot/") and name.endswith(("idle", "wait_at_once")) and "try" not in name:
            if not all(line["quiet"] for line in lines):
                sys.exit(f"hook_cost.py: {name} never came through a hook; is {way} preloaded?")


def figure(lines, key, digits=2):
    values = [line[key] for line in lines if key in line]
    if not values:
        return "–"
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f}–{max(values):.{digits}f})").replace("-0." + "0" * digits, "0." + "0" * digits)


def table(heading, rows):
    yield "| " + " | ".join(heading) + " |"
    yield "|" + "---|" * len(heading)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def names_of(results, kind):
    return [name for name in results["trace"] if name.startswith(kind + "/")]


def hot_rows(results, unit):
    for name in names_of(results, "hot"):
        yield [name.split("/")[1].replace("_", " ")] + [figure(results[way][name], f"added_of_{unit}") for way in WAYS]


def report(results, stand_in):
    everything = [line for way in WAYS for name in names_of(results, "hot") for line in results[way][name]]
    yield f"floor P = {figure(everything, 'floor_p_ns', 1)} ns, floor T = {figure(everything, 'floor_t_ns', 1)} ns"
    yield ""
    yield "Added CPU time per call, in T (2 × rdtsc + a 64-byte store): median (least–greatest)"
    yield ""
    yield from table(("call", *WAYS), hot_rows(results, "t"))
    yield "A launch in the simulated driver, by a pointer from cuGetProcAddress, in T"
    yield ""
    yield from table(("call", *WAYS), zip(("launch 11 arguments", "the least recorder, beside it"), *stand_in))
    yield "The same calls in P (2 × rdtscp + a 64-byte store)"
    yield ""
    yield from table(("call", *WAYS), hot_rows(results, "p"))
    yield "Nanoseconds of this run, bare → trace"
    yield ""
    yield from table(("call", "bare", "trace"),
                     ([name.split("/")[1].replace("_", " "), figure(results["trace"][name], "bare_ns", 1),
                       figure(results["trace"][name], "hooked_ns", 1)] for name in names_of(results, "hot")))
    yield "Cold (caches evicted before every call), in P of a hot loop"
    yield ""
    yield from table(("call", "bare call", "added, least recorder", *(f"added, {way}" for way in WAYS[1:])),
                     ([name.split("/")[1].replace("_", " "), figure(results["trace"][name], "bare_of_p"),
                       figure(results["trace"][name], "least_of_p")]
                      + [figure(results[way][name], "added_of_p") for way in WAYS[1:]]
                      for name in names_of(results, "cold")))
    yield "Two threads at once: CPU time per call over that of one thread alone, trace"
    yield ""
    yield from table(("call", "hooked call", "floor T"),
                     ([name.split("/")[1].replace("_", " "), figure(results["trace"][name], "two_of_one"),
                       figure(results["trace"][name], "floor_two_of_one")]
                      for name in names_of(results, "two_threads")))
    for name in names_of(results, "wake"):
        lines = results["trace"][name]
        yield (f"For information, one wake from thread to thread by semaphores ({name.split('/')[1]}): "
               f"{figure(lines, 'bare_ns', 0)} ns bare, {figure(lines, 'added_ns', 0)} ns added")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="example: bench/hook_cost.py --build build")
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder (default: build)")
    parser.add_argument("--library", type=Path, help="the probe (default: <build>/lib/libhostprobe.so)")
    parser.add_argument("--processes", type=int, default=3, help="processes of each way (default: 3)")
    parser.add_argument("--filter", default=".", help="only benchmarks that match this expression")
    options = parser.parse_args()
    options.library = (options.library or options.build / "lib/libhostprobe.so").resolve()
    if not options.library.exists():
        parser.error(f"no {options.library}: build it, or name it by --library")
    results = {way: {} for way in WAYS}
    for turn in range(options.processes):
        for way in WAYS:
            print(f"hook_cost.py: {way}, process {turn + 1} of {options.processes}", file=sys.stderr)
            found = run_once(way, options)
            check(way, found)
            for name, lines in found.items():
                results[way].setdefault(name, []).extend(lines)
    print("hook_cost.py: launches in the simulated driver", file=sys.stderr)
    stand_in = [run_stand_in(way, options) for way in WAYS]
    print("\n".join(report(results, stand_in)))


if __name__ == "__main__":
    main()
