"""Looks at the runs of living processes for new step rows: which run, when, by a program beside it, and what becomes of the answer.

The analysis reads a whole run, so how often it may is a matter of price: after each look the next one begins when its CPU time is paid for by
waiting. It runs as the user who owns the run, at the lowest priority, one at a time, and what it answers is bounded and checked.
"""

import importlib
import json
import math
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple

from hostprobe._row_store import RowStore, Written
from hostprobe._row_totals import RowTotals

__all__ = ["RowLooks", "Watched", "start_of"]

_MOST_ANSWER = 128 << 20
_MOST_RUNS = 64
_PATIENCE_S = 900.0
_BACK_OFF_S = 60.0
_MOST_BACK_OFF_S = 3600.0
_NO_ANSWER_CPU_S = 5.0  # what a look that failed is taken to have cost, at least


class Watched(NamedTuple):
    """What the ranks of one host record into one run."""

    folder: str
    host: str
    job: str


def start_of(pid: int) -> str:
    """What differs where a number is used again; "": there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b")")[2].split()[19].decode("ascii", "replace")
    except (OSError, IndexError):
        return ""


class BadAnswer(ValueError):
    """What the program gave is none."""


class _Run:
    """How far one run has been read."""

    def __init__(self) -> None:
        self.trace = ""
        self.owner: Tuple[int, int] = (0, 0)
        self.starts: Dict[int, str] = {}  # of its processes
        self.records = 0  # that these have made
        self.read_records = -1  # that they had made at the last look
        self.looked_s = 0.0
        self.due_s = 0.0
        self.back_off_s = _BACK_OFF_S
        self.written: Optional[Written] = None

    def note(self, statuses: List[Dict[str, Any]]) -> None:
        """What its processes say."""
        starts: Dict[int, str] = {}
        for status in statuses:
            try:
                pid = int(status["pid"])
                about = os.stat(f"/proc/{pid}")
            except (OSError, KeyError, TypeError, ValueError, OverflowError):
                continue  # it ended meanwhile
            starts[pid] = start_of(pid)
            self.trace, self.owner = status["trace"], (about.st_uid, about.st_gid)
        if starts:
            self.starts = starts
            self.records = sum(_records(status) for status in statuses)

    def lives(self) -> bool:
        """A process may be there and give no answer: it is stopped, or has just no CPU."""
        return any(start_of(pid) == start for pid, start in self.starts.items())


def _read(process: "subprocess.Popen[bytes]", most: int, patience_s: float) -> bytes:
    """What it writes until it ends. BadAnswer: too much, or too late."""
    assert process.stdout is not None
    pieces: List[bytes] = []
    size = 0
    end = time.monotonic() + patience_s
    while select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
        piece = os.read(process.stdout.fileno(), 1 << 20)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > most:
            raise BadAnswer("the analysis answers without end")
        pieces.append(piece)
    raise BadAnswer(f"the analysis took more than {patience_s:.0f} s")


def _as_owner(owner: Tuple[int, int]) -> Dict[str, Any]:
    """How root starts a program for somebody else's run: as that one."""
    uid, gid = owner
    return {"user": uid, "group": gid, "extra_groups": []} if os.geteuid() == 0 and uid != 0 else {}


def _environment() -> Dict[str, str]:
    """In which that program finds this package, from any folder."""
    package = str(Path(__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in (package, os.environ.get("PYTHONPATH", "")) if path)}


def _answer(trace: str, host: str, until_ns: Dict[str, int], is_living: bool, owner: Tuple[int, int]) -> bytes:
    request = {"trace": trace, "host": host, "until_ns": until_ns, "is_living": is_living}
    with subprocess.Popen([sys.executable, "-m", "hostprobe._rows_of_run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, cwd="/", env=_environment(), start_new_session=True, **_as_owner(owner)) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
            said = _read(process, _MOST_ANSWER, _PATIENCE_S)
            status = process.wait(10)
        except subprocess.TimeoutExpired:
            raise BadAnswer("the analysis does not end") from None
        finally:
            process.kill()
    if status != 0:
        words = said[:300].decode("utf-8", "replace").strip()
        raise BadAnswer(words or f"the analysis ended with status {status}")
    return said


def _table(said: bytes) -> Tuple[Any, Dict[str, Any]]:
    """Rows, and what is said about them. BadAnswer."""
    pyarrow: Any = importlib.import_module("pyarrow")
    try:
        rows = pyarrow.ipc.open_stream(said).read_all()
        rows.validate(full=True)
        about = json.loads(rows.schema.metadata[b"hostprobe"])
        rows = rows.replace_schema_metadata(None)
        known = {"run_ns": int(about["run_ns"]), "are_detected": bool(about["are_detected"]), "is_all": bool(about["is_all"]),
                 "cpu_s": float(about["cpu_s"])}
        kinds = {field.name: field.type for field in rows.schema}
        if not all(pyarrow.types.is_integer(kinds[name]) for name in ("rank", "step", "begin_ns")) or not pyarrow.types.is_floating(kinds["ms"]):
            raise BadAnswer("the analysis answers with no step rows")
    except (pyarrow.ArrowException, KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadAnswer(" ".join(str(error).split())[:200]) from None
    return rows, known


def _is_sound(row: Dict[str, Any], host: str) -> bool:
    return row["host"] == host and all(value is None or not isinstance(value, float) or math.isfinite(value) for value in row.values())


class RowLooks:
    """`say`: for a line when something fails that did not before. `share`: of one CPU."""

    def __init__(self, store: RowStore, totals: RowTotals, share: float, label: Callable[[object], str], say: Callable[[str], None]) -> None:
        self._store = store
        self._totals = totals
        self._share = share
        self._label = label
        self._say = say
        self._runs: Dict[Watched, _Run] = {}
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._paid_s = 0.0  # when what the looks took of a CPU is paid for
        self._written = 0
        self._failed = 0
        self._last_said = ""

    def counts(self) -> Tuple[int, int]:
        """Rows that were written, and looks that failed."""
        with self._lock:
            return self._written, self._failed

    def note(self, statuses: Iterable[Dict[str, Any]]) -> None:
        """Who lives now. A look may take minutes, so this is for another thread than look()."""
        living: Dict[Watched, List[Dict[str, Any]]] = {}
        for status in statuses:
            trace, host = status.get("trace"), status.get("host")
            if isinstance(trace, str) and os.path.isabs(trace) and isinstance(host, str) and host:
                living.setdefault(Watched(os.path.dirname(trace), host, str(status.get("job") or "")), []).append(status)
        with self._lock:
            for watched, processes in living.items():
                if watched in self._runs or len(self._runs) < _MOST_RUNS:
                    self._runs.setdefault(watched, _Run()).note(processes)

    def look(self) -> None:
        """At the runs that are due, and once more at those whose processes are gone."""
        with self._looking:
            self._look_at_ended()
            self._look_at_living()

    def finish(self) -> None:
        """Before the agent ends: what has ended meanwhile is looked at."""
        with self._looking:
            self._look_at_ended()

    def _all(self) -> List[Tuple[Watched, _Run]]:
        with self._lock:
            return list(self._runs.items())

    def _look_at_ended(self) -> None:
        for watched, run in self._all():
            if not run.lives():
                self._look(watched, run, is_living=False)
                with self._lock:
                    del self._runs[watched]

    def _look_at_living(self) -> None:
        for watched, run in sorted(self._all(), key=lambda item: item[1].looked_s):
            if run.lives() and run.records != run.read_records and time.monotonic() >= max(run.due_s, self._paid_s):
                records = run.records
                if self._look(watched, run, is_living=True):
                    run.read_records = records

    def _look(self, watched: Watched, run: _Run, is_living: bool) -> bool:
        """Whether all that was there is read."""
        if not run.trace:
            return True  # nobody was there any more
        begin = run.looked_s = time.monotonic()
        try:
            cpu_s, is_all = self._take(watched, run, is_living)
            while not is_all and not is_living:
                _, is_all = self._take(watched, run, is_living)
            run.back_off_s = _BACK_OFF_S
        except (BadAnswer, OSError) as error:
            self._note_failure(f"{watched.folder}: {error}")
            cpu_s, is_all = max(_NO_ANSWER_CPU_S, time.monotonic() - begin), False
            run.due_s = time.monotonic() + run.back_off_s
            run.back_off_s = min(2 * run.back_off_s, _MOST_BACK_OFF_S)
        self._paid_s = time.monotonic() + cpu_s / self._share - cpu_s
        return is_all

    def _take(self, watched: Watched, run: _Run, is_living: bool) -> Tuple[float, bool]:
        """One answer, written and counted. What it cost, and whether there is no more."""
        until = run.written.until_ns if run.written is not None else {}
        rows, about = _table(_answer(run.trace, watched.host, until, is_living, run.owner))
        if rows.num_rows > 0:
            self._keep(watched, run, rows, about)
        return min(max(0.0, about["cpu_s"]), _PATIENCE_S), about["is_all"] or rows.num_rows == 0

    def _keep(self, watched: Watched, run: _Run, rows: Any, about: Dict[str, Any]) -> None:
        listed: List[Dict[str, Any]] = rows.to_pylist()
        job = listed[0]["job"]
        if not all(row["job"] == job and _is_sound(row, watched.host) for row in listed):
            raise BadAnswer("the analysis answers with rows of others, or with numbers that are none")
        if run.written is None:
            run.written = self._store.written(job, watched.host, about["run_ns"])
        until, count = run.written
        places = [place for place, row in enumerate(listed) if row["begin_ns"] >= until.get(str(row["rank"]), 0)]
        if not places:
            return
        rows, listed = rows.take(places), [listed[place] for place in places]
        if about["are_detected"] and min(row["step"] for row in listed) < count:
            rows, listed = _numbered_on(rows, listed, count)
        self._store.add(rows, about["run_ns"])
        self._store.remove_old()
        run.written = run.written.after(listed)
        self._totals.add(listed, self._label(job), self._label(watched.host))
        with self._lock:
            self._written += len(listed)

    def _note_failure(self, words: str) -> None:
        with self._lock:
            self._failed += 1
        if words != self._last_said:
            self._last_said = words
            self._say(words)


def _numbered_on(rows: Any, listed: List[Dict[str, Any]], count: int) -> Tuple[Any, List[Dict[str, Any]]]:
    """Steps that the analysis found are counted from the oldest that is still there; here they go on where the rows before ended."""
    pyarrow: Any = importlib.import_module("pyarrow")
    shift = count - min(row["step"] for row in listed)
    listed = [{**row, "step": row["step"] + shift} for row in listed]
    place = rows.schema.get_field_index("step")
    return rows.set_column(place, "step", pyarrow.array([row["step"] for row in listed], pyarrow.uint64())), listed


def _records(status: Dict[str, Any]) -> int:
    count = status.get("records")
    return count if isinstance(count, int) else 0
