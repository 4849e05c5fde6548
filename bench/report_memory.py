#!/usr/bin/env python3
"""What `hostprobe report --memory-mb` costs and keeps to: the job of report_speed.py, or --run, read with less and less memory.

Memory of its own is RssAnon, looked at every few milliseconds; pages of files, which the kernel takes back where it needs them, are not in
it. The documents are compared.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from report_speed import record

EVERY_S = 0.003


def own_mib(pid):
    """0 once the process has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon:")), 0)


def once(command, run, memory_mb, out):
    """Wall and CPU seconds and MiB of its own at most; the document is in `out`."""
    most = 0
    with out.open("wb") as document:
        begin = time.monotonic()
        child = subprocess.Popen([command, "report", "--json", "--memory-mb", str(memory_mb), run], stdout=document)
        while (ended := os.wait4(child.pid, os.WNOHANG))[0] == 0:
            most = max(most, own_mib(child.pid))
            time.sleep(EVERY_S)
    child.returncode = os.waitstatus_to_exitcode(ended[1])
    if child.returncode != 0:
        raise SystemExit(f"report_memory.py: the report ended with {child.returncode}")
    return time.monotonic() - begin, ended[2].ru_utime + ended[2].ru_stime, most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--run", type=Path, help="a run that was recorded before")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--memory-mb", type=int, nargs="+", default=[4096, 1024, 512, 256, 64, 0])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = options.run or Path(folder, "run")
        if not run.exists():
            record(options.build.absolute(), run, options.steps)
        print("| --memory-mb | wall s | CPU s | MiB of its own | the document |\n|---|---|---|---|---|")
        first, out = None, Path(folder, "document")
        for memory_mb in options.memory_mb:
            rows = [once(options.build / "bin/hostprobe", run, memory_mb, out) for _ in range(options.times)]
            wall, cpu, mib = (statistics.median(column) for column in zip(*rows))
            first = first or out.read_bytes()
            same = "the same" if out.read_bytes() == first else "DIFFERS"
            print(f"| {memory_mb} | {wall:.2f} | {cpu:.2f} | {mib:.0f} | {same} |", flush=True)


if __name__ == "__main__":
    main()
