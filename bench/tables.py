#!/usr/bin/env python3
"""How long it takes from hostprobe.open(run) to a DuckDB aggregate over all launch records, and how much memory: by default 64
ranks of 1 million launches.

Records one process of a simulated job, then makes the other ranks of copies of its trace, each with a rank and a process id of its
own. A query runs in a process of its own: seconds from open() to the result, the process's peak memory, and what of that was there
before open() (Python, DuckDB). Run by a Python that has duckdb (and pyarrow for --parquet): ./setup.sh --paths, TABLES_PYTHON.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import report_speed

LAUNCHES_PER_STEP = 12_244  # of report_speed's program
QUERIES = {  # columns asked for, the question, which column of its answer counts launches
    "two columns": (["rank", "duration_ns"], "select count(*), sum(duration_ns) from launches group by rank", 0),
    "five columns": (["rank", "kernel", "stream", "begin_ns", "duration_ns"],
                     "select rank, kernel, count(*), avg(duration_ns), max(begin_ns + duration_ns) from launches group by all", 2),
    "all columns": (None, "select rank, kernel, count(*), avg(duration_ns) from launches group by all", 2),
}
CHECKSUM, PID, RANK = slice(16, 24), slice(28, 32), slice(40, 44)  # of the header: docs/reference/format.md


def checksum(page):
    value, mask = 0x9e3779b97f4a7c15, (1 << 64) - 1
    for at in range(0, len(page), 8):
        value ^= int.from_bytes(page[at:at + 8], "little")
        value = ((value << 27 | value >> 37) * 0x100000001b3) & mask
    return value


def copy_as_rank(trace, target, rank):
    shutil.copyfile(trace, target)
    with open(target, "r+b") as file:
        page = bytearray(file.read(4096))
        page[RANK] = rank.to_bytes(4, "little")
        page[PID] = (10_000 + rank).to_bytes(4, "little")
        page[CHECKSUM] = bytes(8)
        page[CHECKSUM] = checksum(page).to_bytes(8, "little")
        file.seek(0)
        file.write(page)


def make_run(build, run, ranks, launches):
    """The folder that the copies are in; a rank more or less has the same number of launches."""
    with tempfile.TemporaryDirectory(dir=run.parent) as folder:
        report_speed.record(build, Path(folder, "run"), max(1, round(launches / LAUNCHES_PER_STEP)))
        trace = max(Path(folder, "run").glob("*.hptrace"), key=lambda path: path.stat().st_size)
        run.mkdir()
        for rank in range(ranks):
            copy_as_rank(trace, run / f"bench-{10_000 + rank}-1.hptrace", rank)


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def query(build, run, name):
    """In a process of its own: prints what was measured."""
    sys.path.insert(0, str(build / "lib/hostprobe/python"))
    import duckdb
    import hostprobe
    columns, text, _ = QUERIES[name]
    before = peak_mib()
    begin = time.monotonic()
    launches = hostprobe.open(run).table("launches", columns)
    rows = duckdb.sql(text).fetchall()
    seconds = time.monotonic() - begin
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "peak_mib": peak_mib(), "before_mib": before,
                      "launches": sum(row[QUERIES[name][2]] for row in rows)}))


def parquet(build, run, target):
    sys.path.insert(0, str(build / "lib/hostprobe/python"))
    import hostprobe
    import pyarrow.parquet  # so that its size is known before
    before = peak_mib()
    begin = time.monotonic()
    rows = hostprobe.to_parquet(run, target, tables=["launches"], progress=True)
    print(json.dumps({"seconds": time.monotonic() - begin, "peak_mib": peak_mib(), "before_mib": before, "rows": rows}))


def measured(*words):
    """In a child: what this process held would count in the child's peak, so this one imports neither."""
    return json.loads(subprocess.run([sys.executable, __file__, *map(str, words)], check=True, capture_output=True,
                                     text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--launches", type=int, default=1_000_000, help="of each rank, nearly")
    parser.add_argument("--run", type=Path, help="where the run is, or is made and left")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--parquet", action="store_true", help="convert the launches too")
    parser.add_argument("--query", choices=QUERIES, help=argparse.SUPPRESS)
    parser.add_argument("--convert", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    build = args.build.absolute()
    if args.query:
        return query(build, args.run, args.query)
    if args.convert:
        return parquet(build, args.run, args.convert)
    with tempfile.TemporaryDirectory() as folder:
        run = args.run or Path(folder, "run")
        if not run.exists():
            make_run(build, run, args.ranks, args.launches)
        count = measured("--build", build, "--run", run, "--query", "two columns")["launches"]  # and the files are in memory
        traces = list(run.glob("*.hptrace"))
        print(f"{count} launches in {len(traces)} traces of {sum(t.stat().st_size for t in traces) / 2 ** 20:.0f} MiB; "
              f"medians of {args.repeat}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
        for name in QUERIES:
            rows = [measured("--build", build, "--run", run, "--query", name) for _ in range(args.repeat)]
            seconds, cpu, peak, before = (statistics.median(row[key] for row in rows)
                                          for key in ("seconds", "cpu", "peak_mib", "before_mib"))
            print(f"{name:14} {seconds:6.1f} s   {1e9 * seconds / count:5.0f} ns a launch   CPU {cpu:6.1f} s   "
                  f"peak {peak:.0f} MiB, {before:.0f} before open()")
        if args.parquet:
            row = measured("--build", build, "--run", run, "--convert", Path(folder, "parquet"))
            size = sum(path.stat().st_size for path in Path(folder, "parquet").rglob("*.parquet"))
            print(f"to_parquet     {row['seconds']:6.1f} s   {1e9 * row['seconds'] / count:5.0f} ns a launch   "
                  f"{size / 2 ** 20:.0f} MiB   peak {row['peak_mib']:.0f} MiB, {row['before_mib']:.0f} before open()")


if __name__ == "__main__":
    main()
