#!/usr/bin/env python3
"""Resident memory of a process with hostprobe, by /proc/PID/smaps: what it adds to the process, its shared segment, its
library. After 1 s and after 5 s of a program that makes recorded calls, in each mode.

  few           2 threads, 1000 calls a second each
  many          2 threads, 500 000 calls a second each
  threads       1000 threads, 1000 calls a second each, as far as the machine lets them

example: bench/memory.py --build build
"""

import argparse
import re
import subprocess
import tempfile
import time
from pathlib import Path

from environment import clean_environment

ENDLESS = "1000000000"
WORKLOADS = {"few": ["2", ENDLESS, "1"], "many": ["2", ENDLESS, "500", "names"], "threads": ["1000", ENDLESS, "1"]}
MOMENTS = (1, 4)  # seconds of sleep before each look


def resident(pid):
    """KiB: (all, shared segments, libhostprobe*.so)"""
    everything = segment = library = 0
    name = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if head := re.match(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+\s*(.*)", line):
            name = head.group(1)
        elif line.startswith("Rss:"):
            size = int(line.split()[1])
            everything += size
            segment += size if name.startswith("/SYSV") else 0
            library += size if "libhostprobe" in name else 0
    return everything, segment, library


def look(options, workload, mode):
    """One row of resident() per moment."""
    with tempfile.TemporaryDirectory(prefix="hostprobe-memory-") as folder:
        run = Path(folder, "run")
        probe = {} if mode is None else {
            "LD_PRELOAD": str(options.build / "lib/libhostprobe.so"), "HOSTPROBE_MODE": mode, "HOSTPROBE_OUT": str(run),
            "HOSTPROBE_TARGET": "all", "HOSTPROBE_BUDGET": "0"}
        process = subprocess.Popen([options.build / "tests/programs/counts_its_calls", *WORKLOADS[workload]],
                                   env=clean_environment(**probe), stdout=subprocess.DEVNULL)
        rows = []
        for seconds in MOMENTS:
            time.sleep(seconds)
            rows.append(resident(process.pid))
        process.kill()
        process.wait()
        if mode is not None:  # the segment of a killed process stays until somebody moves it into its file
            subprocess.run([options.build / "bin/hostprobe", "recover", run], check=True, capture_output=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    options = parser.parse_args()
    options.build = options.build.resolve()
    print("| program | mode | added after 1 s, MiB | after 5 s | of it the segment | the library |")
    print("|" + "---|" * 6)
    for workload in WORKLOADS:
        bare = [row[0] for row in look(options, workload, None)]
        for mode in ("flight", "trace", "monitor"):
            rows = look(options, workload, mode)
            added = [row[0] - without for row, without in zip(rows, bare)]
            figures = " | ".join(f"{kib / 1024:.1f}" for kib in (*added, *rows[-1][1:]))
            print(f"| {workload} | {mode} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
