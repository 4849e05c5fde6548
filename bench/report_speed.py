#!/usr/bin/env python3
"""How long `hostprobe report` takes for a run of some 10 million records: wall and CPU seconds, medians of pairs.

Records a simulated job of 2 ranks once (or takes --run), then lets the report of --build and that of --against take
turns, so that both see the same neighbours. CPU over wall tells how many cores a report kept busy. --show-difference names
the keys of the document in which the two differ.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def record(build, run, steps):
    program = [build / "examples/train_parallel", "--ranks", "2", "--steps", str(steps), "--pipeline", "1", "--tensor", "1",
               "--layers", "20", "--kernels", "100", "--kernel-us", "0", "--micro-batches", "2"]
    subprocess.run([build / "bin/hostprobe", "run", "-o", run, "--mode", "trace", "--budget", "0", "--buffer-mb", "512",
                    "--simgpu", "2", "--", *program], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env={**os.environ, "SIMNODE_LAUNCH_US": "0"})


def measure(command, run, words):
    """Wall and CPU seconds and MiB at most, and what was printed."""
    with tempfile.TemporaryFile() as out:
        begin = time.monotonic()
        child = subprocess.Popen([command, "report", run, *words], stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise SystemExit(f"{command} report ended with {child.returncode}")
        out.seek(0)
        return (wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024), json.loads(out.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--against", type=Path, help="another hostprobe command, of an older build")
    parser.add_argument("--run", type=Path, help="a run that was recorded before")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--show-difference", action="store_true")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        run = args.run or Path(folder, "run")
        if not run.exists():
            record(args.build.absolute(), run, args.steps)
        commands = {"this": args.build / "bin/hostprobe"} | ({"against": args.against} if args.against else {})
        rows = {name: [] for name in commands}
        reports = {}
        for _ in range(args.pairs):
            for name, command in commands.items():
                row, reports[name] = measure(command, run, ["--json"])
                rows[name].append(row)
    records = sum(process["records"] for process in reports["this"]["processes"])
    print(f"{records} records in {len(reports['this']['processes'])} traces; medians of {args.pairs}")
    for name in commands:
        wall, cpu, mib = (statistics.median(column) for column in zip(*rows[name]))
        print(f"{name:8} wall {wall:.3f} s   CPU {cpu:.3f} s   {cpu / wall:.2f} cores   "
              f"{1e9 * cpu / records:.1f} ns of CPU a record   {mib:.0f} MiB")
    if args.against:
        pairs = list(zip(rows["this"], rows["against"]))
        print("this / against, median of pairs: wall {:.3f}, CPU {:.3f}".format(
            *(statistics.median(own[i] / other[i] for own, other in pairs) for i in (0, 1))))
        for key in reports["this"]:
            if args.show_difference and reports["this"][key] != reports["against"].get(key):
                print(f"differs: {key}")


if __name__ == "__main__":
    main()
