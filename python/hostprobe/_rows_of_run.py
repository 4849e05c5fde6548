"""Step rows that a living run has gained, as a program: a request on stdin, a stream of Arrow on stdout.

    {"trace": PATH, "host": NAME, "until_ns": {"0": NS, …}, "is_living": true}

`trace`: of one of its processes; `until_ns`: by rank, before which rows are there already. It runs beside a job, so at the lowest priority and with
limits of its own. Exit 1: one line on stdout says why there are none.
"""

import importlib
import json
import os
import resource
import sys
import time
from typing import Any, Dict, List, Optional

from hostprobe import _tables
from hostprobe._run import Run

__all__ = ["MOST_ROWS", "main"]

MOST_ROWS = 65536  # of one answer; the next one goes on
_MOST_JOBS = 16  # of a folder, the newest
_MOST_CPU_S = 600
_MOST_MEMORY = 4 << 30
_DETECTED = "detected"


def _run_with(trace: str, host: str) -> Run:
    """The job that the trace belongs to, as far as that host recorded it. ValueError: there is none."""
    folder, name = os.path.split(trace)
    newest = Run(folder)
    for number in range(newest.jobs, max(0, newest.jobs - _MOST_JOBS), -1):
        try:
            run = Run(folder, number, host)
        except ValueError:
            continue  # a job of other hosts
        if any(os.path.basename(path) == name for path, _, _ in _tables.traces(run._opened)):
            return run
    raise ValueError(f"{folder} has no job with the trace {name}")


def _gained(rows: Any, until_ns: Dict[str, int], is_living: bool) -> List[int]:
    """Places of the new rows, the oldest first. The last step of a living process may still change."""
    ranks: List[Optional[int]] = rows["rank"].to_pylist()
    begins: List[int] = rows["begin_ns"].to_pylist()
    newest: Dict[Optional[int], int] = {}
    for rank, begin in zip(ranks, begins):
        newest[rank] = max(newest.get(rank, begin), begin)
    gained = [place for place, (rank, begin) in enumerate(zip(ranks, begins))
              if begin >= until_ns.get(str(rank), 0) and not (is_living and begin == newest[rank])]
    return sorted(gained, key=lambda place: begins[place])


def _answer(request: Dict[str, Any], out: Any) -> None:
    pyarrow = importlib.import_module("pyarrow")
    run = _run_with(request["trace"], request["host"])
    rows = pyarrow.table(run.step_rows)
    gained = _gained(rows, request["until_ns"], request["is_living"])
    steps = run.report()["steps"]
    about = {"run_ns": run.start_realtime_ns, "are_detected": bool(steps) and steps.get("source") == _DETECTED,
             "is_all": len(gained) <= MOST_ROWS, "cpu_s": time.process_time()}
    rows = rows.take(pyarrow.array(gained[:MOST_ROWS], pyarrow.int64())).replace_schema_metadata({"hostprobe": json.dumps(about)})
    with pyarrow.ipc.new_stream(out, rows.schema) as stream:
        stream.write_table(rows)


def _limit() -> None:
    os.nice(19)
    for what, most in ((resource.RLIMIT_CPU, _MOST_CPU_S), (resource.RLIMIT_DATA, _MOST_MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def main() -> int:
    _limit()
    try:
        _answer(json.loads(sys.stdin.read()), sys.stdout.buffer)
    except Exception as error:  # whatever lies in that folder
        print(" ".join(str(error).split())[:300] or type(error).__name__, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
