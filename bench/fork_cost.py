#!/usr/bin/env python3
"""What a forked child costs that makes a hooked call and leaves: data-loader workers and shells are such.

One round runs fork_cost once without and once with hostprobe, in turns; each round's medians are compared with each other,
so what disturbs a whole round falls out. CPU time is the child's own and says what the probe does; wall time, from fork to
the end of waitpid, holds waiting for a CPU as well, and on a busy machine mostly that."""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from environment import clean_environment


def medians(build, folder, arguments, calls, probed):
    preload = {"LD_PRELOAD": str(build / "lib/libhostprobe.so"), "HOSTPROBE_OUT": str(folder),
               "HOSTPROBE_TARGET": "all", "HOSTPROBE_MODE": arguments.mode} if probed else {}
    text = subprocess.run([build / "bench/fork_cost", str(arguments.children), str(calls)], check=True,
                          capture_output=True, text=True, env=clean_environment(**preload)).stdout
    children = [tuple(map(float, line.split())) for line in text.splitlines()]
    return [statistics.median(column) for column in zip(*children)]


def spread(values, form="{:.0f}"):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{form} ({form}–{form})".format(middle, low, high)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--children", type=int, default=40)
    parser.add_argument("--mode", default="flight")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostprobe-forks-"))
    print("| a child that makes | bare µs: wall | CPU | added µs: wall | CPU |\n|---|---|---|---|---|")
    try:
        # Folders are not removed in between: making a file costs more where others went a moment ago.
        for calls in (0, 1):
            rounds = [(medians(arguments.build, folder, arguments, calls, False),
                       medians(arguments.build, folder / f"{calls}-{i}", arguments, calls, True))
                      for i in range(arguments.rounds)]
            bare = [spread([bare[k] for bare, _ in rounds]) for k in (0, 1)]
            added = [spread([probed[k] - bare[k] for bare, probed in rounds]) for k in (0, 1)]
            print(f"| {('no hooked call', 'one hooked call')[calls]} | {bare[0]} | {bare[1]} | {added[0]} | {added[1]} |")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
