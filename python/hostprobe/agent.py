"""`hostprobe agent`: what the recording processes of this host say of themselves, as metrics of Prometheus, and their step rows.

    python -m hostprobe.agent [--listen 127.0.0.1:9465 | ADDRESS:PORT | unix:PATH] [--token-file FILE] [--every SECONDS]
                              [--per-host] [--data FOLDER [--rows-cpu PERCENT] [--keep-days N] [--keep-mb N]]

One for each host. It finds the processes of its user that record (root: of all users), and asks each for its status as `hostprobe ctl PID status`
does; it stops none and changes nothing. With --data the analysis of their runs gives a row for each rank and step, which it writes there,
and requests of `hostprobe job --trigger` that it finds there are passed on.
Without a token it listens on loopback or a Unix socket alone. docs/reference/agent.md has the metrics.
"""

import argparse
import concurrent.futures
import hmac
import http.server
import importlib
import importlib.util
import ipaddress
import json
import math
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from hostprobe._per_host import PerHost
from hostprobe._row_looks import RowLooks, start_of
from hostprobe._row_store import RowStore
from hostprobe._row_totals import RowTotals
from hostprobe._triggers import Passed, TriggerRequests

__all__ = ["Agent", "BadAddress", "Collector", "Status", "main", "server_at"]

_MOST_PROCESSES = 1024  # that are asked; a host has some hundred at most
_MOST_TABLE = 1 << 20  # bytes of a table of the kernel
_MOST_ANSWER = 1 << 20
_MOST_LABEL = 64
_ASKED_AT_ONCE = 4
_PATIENCE_S = 2.0


class Status(NamedTuple):
    """What one process said."""

    job: str
    rank: str
    document: Dict[str, Any]


def _small_text(path: str, most: int) -> str:
    with open(path, "rb") as file:
        return file.read(most).decode("utf-8", "replace")


def _segment_makers(table: str) -> Iterator[Tuple[int, int]]:
    """Process and user of each shared memory that somebody uses, of a table as /proc/sysvipc/shm has it."""
    lines = table.splitlines()
    names = lines[0].split() if lines else []
    for line in lines[1:]:
        row = dict(zip(names, line.split()))
        try:
            if int(row["nattch"]) > 0:
                yield int(row["cpid"]), int(row["uid"])
        except (KeyError, ValueError):
            continue


def _maps_hostprobe(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/maps", "rb") as maps:
            return any(b"/libhostprobe.so" in line for line in maps)
    except OSError:
        return False  # it ended, or is another user's


def _label(value: object) -> str:
    """Bounded, and without what could move a cursor; the text format escapes the rest."""
    return "".join(one if one.isprintable() else "?" for one in str(value))[:_MOST_LABEL]


def _amount(value: object) -> float:
    """A number that somebody else gave; NaN: it is none."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0 else math.nan


class Agent:
    """Asks the processes of this host. `command`: the hostprobe command; `shm`: the table of shared memory."""

    def __init__(self, command: str, shm: str = "/proc/sysvipc/shm") -> None:
        self._command = command
        self._shm = shm
        self._known: Dict[int, Tuple[str, bool]] = {}  # by process: its start, and whether it maps the library
        self._folders: Dict[int, str] = {}  # by process: the run that it said it records into

    def processes(self) -> List[int]:
        """Those that record and that this user may ask, at most _MOST_PROCESSES."""
        user = os.geteuid()
        try:
            makers = {pid for pid, uid in _segment_makers(_small_text(self._shm, _MOST_TABLE)) if user in (0, uid)}
        except OSError:
            return []
        known: Dict[int, Tuple[str, bool]] = {}
        for pid in sorted(makers):
            start = start_of(pid)
            before = self._known.get(pid)
            known[pid] = before if before is not None and before[0] == start else (start, start != "" and _maps_hostprobe(pid))
        self._known = known
        return [pid for pid, (_, maps) in known.items() if maps][:_MOST_PROCESSES]

    def ask(self, pid: int) -> Optional[Dict[str, Any]]:
        """None: it gave no answer in time, or has no thread that could."""
        done = self._ctl(str(pid), "status", "--json")
        document = _parsed(done.stdout) if done is not None and done.returncode == 0 else None
        return document if isinstance(document, dict) else None

    def ask_run(self, folder: str) -> Dict[int, Optional[Dict[str, Any]]]:
        """By process all that record into it; as ask() of each."""
        done = self._ctl(folder, "status", "--json")
        document = _parsed(done.stdout) if done is not None else None
        processes = document.get("processes") if isinstance(document, dict) else None
        listed = [one for one in processes if isinstance(one, dict)] if isinstance(processes, list) else []
        return {one["pid"]: None if one.get("error") else one for one in listed if isinstance(one.get("pid"), int)}

    def trigger(self, asked: Passed) -> str:
        """Why it will not write its last seconds out; "": it will."""
        when = ["--at-step", str(asked.at_step)] if asked.at_step is not None else []
        done = self._ctl(str(asked.pid), "trigger", *when, *([asked.text] if asked.text else []))
        if done is None:
            return f"process {asked.pid} gives no answer"
        return done.stderr.decode("utf-8", "replace").strip().removeprefix("hostprobe: ") if done.returncode != 0 else ""

    def look(self) -> Tuple[List[Status], int]:
        """The answers, and how many processes gave none. Of a run that is known all are asked at once: a command for each costs more."""
        pids = self.processes()
        runs = {folder for folder in map(self._run_of, pids) if folder}
        answers: Dict[int, Optional[Dict[str, Any]]] = {}
        with concurrent.futures.ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:
            for of_run in asking.map(self.ask_run, runs):
                answers.update(of_run)
            alone = [pid for pid in pids if pid not in answers]
            answers.update(zip(alone, asking.map(self.ask, alone)))
        said = {pid: answer for pid, answer in answers.items() if answer is not None and pid in pids}
        self._folders = {pid: os.path.dirname(str(answer.get("trace", ""))) for pid, answer in said.items()}
        return [_status(answer) for answer in said.values()], len(pids) - len(said)

    def _ctl(self, *words: str) -> "Optional[subprocess.CompletedProcess[bytes]]":
        """None: it could not be run, or does not end."""
        try:
            return subprocess.run([self._command, "ctl", *words, "--timeout", str(_PATIENCE_S)], capture_output=True, timeout=3 * _PATIENCE_S,
                                  stdin=subprocess.DEVNULL, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None

    def _run_of(self, pid: int) -> str:
        """What all ranks in it can be asked by at once; "": not known. A folder that another user names is not read as root."""
        folder = self._folders.get(pid, "")
        try:
            is_own = os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        except OSError:
            return ""
        return folder if is_own and os.path.isabs(folder) and os.path.isdir(folder) else ""


def _parsed(said: bytes) -> Any:
    """None: it is no JSON, or too much."""
    try:
        return json.loads(said) if len(said) <= _MOST_ANSWER else None
    except (ValueError, RecursionError):
        return None


def _status(document: Dict[str, Any]) -> Status:
    rank = document.get("rank")
    return Status(_label(document.get("job") or ""), "" if rank is None else _label(rank), document)


# Name, meaning, whether it only grows, and where it stands in a status.
_METRICS = (
    ("hostprobe_steps", "Training steps that ended.", True, ("steps", "count"), 1.0),
    ("hostprobe_step_median_seconds", "Median length of the last steps.", False, ("steps", "median_ms"), 1e-3),
    ("hostprobe_records", "Calls that were recorded.", True, ("records",), 1.0),
    ("hostprobe_records_lost", "Records that could not be kept.", True, ("lost",), 1.0),
    ("hostprobe_own_cost_ratio", "CPU of hostprobe, of the wall time.", False, ("own_cost_pct",), 1e-2),
    ("hostprobe_buffer_bytes", "Shared memory that holds records.", False, ("buffer_bytes",), 1.0),
    ("hostprobe_triggers", "Times that the last seconds were written out, or were to be.", True, ("triggers",), 1.0),
    ("hostprobe_recording", "1: it records; 0: it was told to pause.", False, ("recording",), 1.0),
)


def _value(document: Dict[str, Any], place: Tuple[str, ...]) -> float:
    found: Any = document
    for key in place:
        found = found.get(key) if isinstance(found, dict) else None
    return _amount(found)


class Rows(NamedTuple):
    """What there is with --data: who looks for rows, what they add up to, and what is asked for there."""

    looks: RowLooks
    totals: RowTotals
    requests: TriggerRequests


class Collector:
    """What prometheus_client asks for metrics: of the last look, so that a scrape asks no process."""

    def __init__(self, agent: Agent, every_s: float, rows: Optional[Rows] = None, per_host: bool = False) -> None:
        self._core: Any = importlib.import_module("prometheus_client.core")
        self._agent = agent
        self._every_s = every_s
        self._rows = rows
        self._per_host = PerHost(self._core) if per_host else None
        self._lock = threading.Lock()
        self._host = _label(socket.gethostname())
        self._statuses: List[Status] = []
        self._silent = 0
        self._looked_s = 0.0

    def look(self) -> None:
        statuses, silent = self._agent.look()
        with self._lock:
            self._statuses, self._silent, self._looked_s = statuses, silent, time.time()
        if self._rows is not None:
            self._rows.looks.note(status.document for status in statuses)
            for asked in self._rows.requests.due(status.document for status in statuses):
                refusal = self._agent.trigger(asked)
                if refusal:
                    _say(refusal)
                else:
                    self._rows.requests.taken(asked)

    def run(self) -> None:
        while True:
            begin = time.monotonic()
            self.look()
            time.sleep(max(0.1, self._every_s - (time.monotonic() - begin)))

    def run_rows(self, rows: Rows) -> None:
        """In a thread of its own: the analysis of a run takes as long as it takes."""
        while True:
            rows.looks.look()
            time.sleep(self._every_s)

    def _host_of(self, status: Status) -> str:
        """As its trace and its rows name it: a container has another name than the host of the agent."""
        named = status.document.get("host")
        return _label(named) if isinstance(named, str) and named else self._host

    def collect(self) -> Iterator[Any]:
        families = self._of_all()
        return families if self._per_host is None else self._per_host.of(families)

    def _of_all(self) -> Iterator[Any]:
        yield from self._of_statuses()
        if self._rows is None:
            return
        yield from self._rows.totals.families(self._core)
        written, failed = self._rows.looks.counts()
        yield self._core.CounterMetricFamily("hostprobe_agent_rows", "Step rows that were written.", value=written)
        yield self._core.CounterMetricFamily("hostprobe_agent_rows_failed", "Looks for step rows that failed.", value=failed)

    def _of_statuses(self) -> Iterator[Any]:
        with self._lock:
            statuses, silent, looked_s = self._statuses, self._silent, self._looked_s
        for name, meaning, grows, place, scale in _METRICS:
            family = (self._core.CounterMetricFamily if grows else self._core.GaugeMetricFamily)(name, meaning, labels=["job", "host", "rank"])
            added: Dict[Tuple[str, str, str], float] = {}
            for status in statuses:
                value = scale * _value(status.document, place)
                if not math.isnan(value):  # workers share the rank of their process
                    key = (status.job, self._host_of(status), status.rank)
                    added[key] = max(added[key], value) if key in added and not grows else added.get(key, 0.0) + value
            for key, value in added.items():
                family.add_metric(key, value)
            yield family
        hang = self._core.GaugeMetricFamily("hostprobe_hang", "1: the last trigger was for want of progress.", labels=["job", "host", "rank"])
        hung: Dict[Tuple[str, str, str], float] = {}
        for status in statuses:
            trigger = status.document.get("last_trigger")
            is_hung = isinstance(trigger, dict) and trigger.get("reason") == "hang"
            key = (status.job, self._host_of(status), status.rank)
            hung[key] = max(hung.get(key, 0.0), float(is_hung))
        for key, value in hung.items():
            hang.add_metric(key, value)
        yield hang
        for name, meaning, value in (("hostprobe_agent_processes", "Processes that gave an answer.", len(statuses)),
                                     ("hostprobe_agent_silent_processes", "Processes that record and gave none in time.", silent),
                                     ("hostprobe_agent_looked_timestamp_seconds", "When they were asked last.", looked_s)):
            yield self._core.GaugeMetricFamily(name, meaning, value=value)


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class _SixServer(_Server):
    address_family = socket.AF_INET6


class _UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what `expose` gives."""

    timeout = 10
    token: Optional[str] = None
    kind = ""

    def expose(self) -> bytes:
        raise NotImplementedError

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "")
        if self.token is not None and not hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            self._answer(401, b"a token is missing\n", "text/plain")
        elif self.path.partition("?")[0] != "/metrics":
            self._answer(404, b"the metrics are at /metrics\n", "text/plain")
        else:
            self._answer(200, self.expose(), self.kind)

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: Any) -> None:
        pass

    def address_string(self) -> str:
        return ""


def _handler(registry: Any, token: Optional[str]) -> Any:
    exposition: Any = importlib.import_module("prometheus_client")
    return type("_MetricsHandler", (_Handler,), {"token": token, "kind": exposition.CONTENT_TYPE_LATEST,
                                                 "expose": lambda handler: exposition.generate_latest(registry)})


class BadAddress(ValueError):
    """Nobody may listen there, or it is no address."""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def server_at(listen: str, registry: Any, token: Optional[str]) -> Union[_Server, _UnixServer]:
    """BadAddress: it is none, or beyond loopback without a token."""
    if listen.startswith("unix:"):
        path = Path(listen[5:])
        if path.is_socket():
            _remove_dead(path)
        before = os.umask(0o177)  # a socket is as open as its file
        try:
            return _UnixServer(str(path), _handler(registry, token))
        finally:
            os.umask(before)
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdigit() or int(port) > 65535:
        raise BadAddress(f"--listen is ADDRESS:PORT or unix:PATH, and not {listen}")
    if not _is_loopback(host) and token is None:
        raise BadAddress(f"{host} is not of this host alone: give --token-file FILE, which whoever asks must know")

    return (_SixServer if ":" in host else _Server)((host, int(port)), _handler(registry, token))


def _remove_dead(path: Path) -> None:
    """A socket that an agent left which was killed."""
    with socket.socket(socket.AF_UNIX) as other:
        try:
            other.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise BadAddress(f"another agent listens at {path}")


def _token_of(path: Optional[str]) -> Optional[str]:
    if path is None:
        return None
    token = _small_text(path, 4096).strip()
    if len(token) < 16 or not token.isprintable() or " " in token:
        raise BadAddress(f"{path} has no token: one line of at least 16 characters")
    if os.stat(path).st_mode & 0o077:
        raise BadAddress(f"{path} can be read by others: chmod 600 {path}")
    return token


def _command() -> str:
    """The command that lies beside this package (build tree, installation), else the one on PATH."""
    for folder in (Path(__file__).resolve().parents[4] / "bin", Path(sys.executable).parent):
        if (folder / "hostprobe").is_file():
            return str(folder / "hostprobe")
    found = shutil.which("hostprobe")
    if found is None:
        raise FileNotFoundError("there is no command hostprobe beside this package or on PATH")
    return found


def _say(words: str) -> None:
    print(f"hostprobe agent: {_line(words)}", file=sys.stderr, flush=True)


def _line(words: object) -> str:
    return "".join(one if one.isprintable() else "?" for one in str(words))[:500]


def _rows_of(arguments: argparse.Namespace) -> Optional[Rows]:
    """ImportError: what rows need is missing."""
    if arguments.data is None:
        return None
    if importlib.util.find_spec("hostprobe._tables") is None:
        raise ImportError(f"{sys.executable} has no compiled part of hostprobe that fits it, which --data needs")
    store = RowStore(arguments.data, socket.gethostname(), arguments.keep_days, arguments.keep_mb)
    totals = RowTotals(time.monotonic)
    return Rows(RowLooks(store, totals, 1e-2 * arguments.rows_cpu, _label, _say), totals, TriggerRequests(Path(arguments.data), arguments.every))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hostprobe agent", description="Serves metrics of the recording processes of this host to Prometheus.",
                                     epilog="example: hostprobe agent --listen unix:/run/user/1000/hostprobe.sock")
    parser.add_argument("--listen", metavar="ADDRESS", default="127.0.0.1:9465", help="ADDRESS:PORT or unix:PATH (127.0.0.1:9465)")
    parser.add_argument("--token-file", metavar="FILE", help="whoever asks sends `Authorization: Bearer` with what stands there")
    parser.add_argument("--every", metavar="SECONDS", type=float, default=5.0, help="so often the processes are asked (5)")
    parser.add_argument("--per-host", action="store_true", help="the largest and the median of the ranks, and none by itself: for very large jobs")
    parser.add_argument("--data", metavar="FOLDER", help="also write the step rows of their runs into this folder, for hostprobe job")
    parser.add_argument("--rows-cpu", metavar="PERCENT", type=float, default=1.0, help="what making rows may take of one CPU (1)")
    parser.add_argument("--keep-days", metavar="N", type=int, default=30, help="rows of this host older than that are removed (30)")
    parser.add_argument("--keep-mb", metavar="N", type=int, default=1024, help="and the oldest beyond this size (1024)")
    return parser


def _check(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    for name, value, least, most in (("--every", arguments.every, 0.5, 3600), ("--rows-cpu", arguments.rows_cpu, 0.01, 100),
                                     ("--keep-days", arguments.keep_days, 1, 36500), ("--keep-mb", arguments.keep_mb, 1, 1 << 20)):
        if not least <= value <= most:
            parser.error(f"{name} is from {least} to {most}")


def _interrupt(number: int, frame: object) -> None:
    """As Ctrl-C does. A second one ends it at once."""
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(words)
    _check(parser, arguments)
    try:
        prometheus: Any = importlib.import_module("prometheus_client")
        registry = prometheus.CollectorRegistry()
        rows = _rows_of(arguments)
        collector = Collector(Agent(_command()), arguments.every, rows, arguments.per_host)
        server = server_at(arguments.listen, registry, _token_of(arguments.token_file))
    except ImportError as error:
        print(f"hostprobe agent lacks a package ({_line(error)}): pip install 'hostprobe[agent]'", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        _say(str(error))
        return 1
    registry.register(collector)
    threading.Thread(target=collector.run, daemon=True).start()
    if rows is not None:
        threading.Thread(target=collector.run_rows, args=(rows,), daemon=True).start()
    print(f"hostprobe agent: metrics at {arguments.listen}", file=sys.stderr, flush=True)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        if rows is not None:
            rows.looks.finish()
    finally:
        server.server_close()
        if arguments.listen.startswith("unix:"):
            Path(arguments.listen[5:]).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
