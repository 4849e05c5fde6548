#!/usr/bin/env python3
"""Step rows of a large job that never ran (tests/python/made_rows.py): their bytes on disk, and how long each query of `hostprobe job` takes.

    PYTHONPATH=build/lib/hostprobe/python JOB_PYTHON bench/job_queries.py FOLDER [--ranks 4096] [--steps 10000] [--engine duckdb|spark]

FOLDER is made if it is not there, and kept. JOB_PYTHON is of `setup.sh --paths`.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/python"))

from hostprobe.job import open_engine
from hostprobe._job_engine import master_of, queries
from made_rows import SLOW_HOST, MadeJob


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--engine", default="duckdb")
    arguments = parser.parse_args()
    made = MadeJob(arguments.ranks, arguments.steps)
    if not arguments.folder.exists():
        begin = time.monotonic()
        made.write(arguments.folder)
        print(f"made in {time.monotonic() - begin:.0f} s", flush=True)
    files = list(arguments.folder.rglob("*.parquet"))
    whole = sum(path.stat().st_size for path in files)
    print(f"{arguments.ranks} ranks x {arguments.steps} steps: {whole / 1e6:.0f} MB in {len(files)} files, "
          f"{whole / arguments.ranks / arguments.steps:.1f} bytes a row")
    master = master_of(arguments.engine)
    begin = time.monotonic()
    engine, _ = open_engine(str(arguments.folder), master and master.replace("*", str(arguments.threads)), arguments.threads)
    print(f"{'open':16} {time.monotonic() - begin:6.2f} s", flush=True)
    begin = time.monotonic()
    engine.choose(engine.jobs()[-1])
    print(f"{'choose':16} {time.monotonic() - begin:6.2f} s", flush=True)
    answers = {}
    for name, sql in queries().items():
        begin = time.monotonic()
        answers[name] = engine.rows(sql)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name:16} {time.monotonic() - begin:6.2f} s  {len(answers[name]):5} rows  {memory:5.0f} MiB at most so far", flush=True)
    slow = max(answers["hosts"], key=lambda row: row["late_ranks"])
    print("slow host", slow["host"], slow["cause"], "planted", made.host_name(SLOW_HOST), "| grows", [row["rank"] for row in answers["growth"]],
          "planted", made.drifting, "| stalls every", answers["stalls"][0]["every_steps"], "by", answers["stalled_ranks"][0]["rank"],
          "planted", made.stalling, "| since", sorted({row["since_step"] for row in answers["since"]}), "planted", made.slow_since)


if __name__ == "__main__":
    main()
