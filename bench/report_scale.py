#!/usr/bin/env python3
"""How the time of a report grows with ranks and with records: runs of made-up traces (made_run.cpp), packed as the probe packs
them, read by `hostprobe report --json` from a warm file. Each run is reported --times times; the medians are printed."""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

SIZES = ((1, 1_000_000), (4, 1_000_000), (16, 1_000_000), (64, 1_000_000), (1024, 100_000))


def once(command, run):
    """Wall and CPU seconds and MiB at most."""
    begin = time.monotonic()
    child = subprocess.Popen([command, "report", "--json", run], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"report_scale.py: the report ended with {child.returncode}")
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--smaller", type=int, default=1, help="divide the records of each rank by this")
    options = parser.parse_args()
    print("| ranks | records of each | wall s | CPU s | cores | ns of CPU a record | M records a second and core | MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for ranks, records in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            records //= options.smaller
            subprocess.run([options.build / "bench/made_run", folder, str(ranks), str(records)], check=True)
            once(options.build / "bin/hostprobe", folder)  # the files are warm from here on
            wall, cpu, mib = (statistics.median(column) for column in
                              zip(*(once(options.build / "bin/hostprobe", folder) for _ in range(options.times))))
        every = ranks * (records // 100 * 100)
        print(f"| {ranks} | {records} | {wall:.2f} | {cpu:.2f} | {cpu / wall:.2f} | {1e9 * cpu / every:.1f} | "
              f"{1e-6 * every / cpu:.1f} | {mib:.0f} |", flush=True)


if __name__ == "__main__":
    main()
