"""Requests to write out one step of all ranks of a job, passed on by the agents of its hosts through the folder of step rows.

`hostprobe job DATA --trigger` leaves a file in DATA/_triggers. Each agent that writes into DATA asks its processes of that job to write
their last seconds out once so many steps have ended. Where no step is named the first agent that sees the request names one that is
still to come, in a file beside it, for all. Ranks that mark no steps begin to count when steps are found in their calls, each at another
time, so for these it names a moment. Files are bounded and checked, and count for ten minutes: a process that has ended the step
refuses, so that an agent which starts again may pass a request on once more.
"""

import contextlib
import json
import math
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

__all__ = ["BadRequest", "Passed", "TriggerRequests", "leave_request"]

_FOLDER = "_triggers"
_MOST_FILES = 256
_MOST_BYTES = 4096
_MOST_TEXT = 66  # bytes that `hostprobe ctl trigger --at-step` takes
_KEPT_S = 600.0
_SAME_ON_ALL = ("marks", "optimizer")  # sources of steps that each rank counts from its first one
_MOST_TRIES = 3
_LOOKS_AHEAD = 4  # until when the agents of all hosts have seen a request and the step named


class BadRequest(ValueError):
    """What is asked for cannot be."""


class Passed(NamedTuple):
    """What one process is to be asked."""

    pid: int
    at_step: Optional[int]  # None: now
    text: str
    request: str = ""  # of which it comes


class _Request(NamedTuple):
    name: str
    job: str
    at_step: Optional[int]
    text: str
    owner: int


@contextlib.contextmanager
def _folder(data: Path) -> Iterator[int]:
    """DATA/_triggers, opened: a link that somebody put in its place leads nowhere. OSError."""
    handle = os.open(data / _FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _write_new(folder: int, name: str, document: Dict[str, Any]) -> bool:
    """Whole or not at all; False: it is there already."""
    part = f".{name}.{secrets.token_hex(8)}"  # hosts have the same numbers of processes
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(document, out)
        os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder)  # unlike a rename never over another's file
        return True
    except FileExistsError:
        return False
    finally:
        os.unlink(part, dir_fd=folder)


def _remove_old(folder: int) -> None:
    """What counts no more, as far as this user may."""
    for name in os.listdir(folder):
        try:
            if time.time() - os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime > 2 * _KEPT_S:
                os.unlink(name, dir_fd=folder)
        except OSError:
            continue


def leave_request(data: Path, job: str, at_step: Optional[int], text: str) -> str:
    """Returns the name of the file. BadRequest, OSError."""
    if not _is_text(text):
        raise BadRequest(f"the text is one line of at most {_MOST_TEXT} bytes, and begins with no -")
    (data / _FOLDER).mkdir(mode=0o755, exist_ok=True)
    name = f"{time.time_ns()}.json"
    with _folder(data) as folder:
        _remove_old(folder)
        if not _write_new(folder, name, {"job": job, "at_step": at_step, "text": text}):
            raise BadRequest("another request was made at the same moment: try again")
    return name


def _read(folder: int, name: str) -> Optional[Tuple[Dict[str, Any], os.stat_result]]:
    """None: it is no small regular file with a JSON object."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
    try:
        about = os.fstat(handle)
        said = os.read(handle, _MOST_BYTES + 1) if stat.S_ISREG(about.st_mode) else b""
        document = json.loads(said) if len(said) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(handle)
    return (document, about) if isinstance(document, dict) else None


class _When(NamedTuple):
    """One of the two."""

    at_step: Optional[int]
    at_s: Optional[float]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and not value.startswith("-") and len(value.encode("utf-8", "replace")) <= _MOST_TEXT


def _is_step(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 62


def _steps(status: Dict[str, Any]) -> Dict[str, Any]:
    steps = status.get("steps")
    return steps if isinstance(steps, dict) else {}


def _count(status: Dict[str, Any]) -> int:
    count = _steps(status).get("count")
    return count if isinstance(count, int) else 0


class TriggerRequests:
    """Of one folder of step rows. `every_s`: how often the agents look."""

    def __init__(self, data: Path, every_s: float) -> None:
        self._data = data
        self._every_s = every_s
        self._tries: Dict[Tuple[str, int], int] = {}  # of each request and process

    def due(self, statuses: Iterable[Dict[str, Any]]) -> List[Passed]:
        """Whom to ask now. Who has not taken a request, as for lack of a CPU, is asked again, _MOST_TRIES times at most."""
        try:
            with _folder(self._data) as folder:
                return self._due(folder, list(statuses))
        except OSError:
            return []  # nobody has asked for anything yet

    def _due(self, folder: int, living: List[Dict[str, Any]]) -> List[Passed]:
        due: List[Passed] = []
        requests = self._requests(folder)
        for request in requests:
            own = [status for status in living if self._is_of(request, status)]
            when = _When(request.at_step, None) if request.at_step is not None else self._named(folder, request, own)
            if when is None or (when.at_s is not None and time.time() < when.at_s):
                continue
            for status in own:
                key = (request.name, status["pid"])
                self._tries[key] = self._tries.get(key, 0) + 1
                if self._tries[key] <= _MOST_TRIES:
                    due.append(Passed(status["pid"], when.at_step, request.text, request.name))
        names = {request.name for request in requests}
        self._tries = {key: tries for key, tries in self._tries.items() if key[0] in names}
        return due

    def taken(self, passed: Passed) -> None:
        """It will write its last seconds out."""
        self._tries[passed.request, passed.pid] = _MOST_TRIES

    def _requests(self, folder: int) -> List[_Request]:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))[-_MOST_FILES:]
        return [request for request in (self._request(folder, name) for name in names) if request is not None]

    def _request(self, folder: int, name: str) -> Optional[_Request]:
        found = _read(folder, name)
        if found is None:
            return None
        document, about = found
        job, at_step, text = document.get("job"), document.get("at_step"), document.get("text", "")
        is_sound = isinstance(job, str) and _is_text(text) and (at_step is None or _is_step(at_step))
        is_mine = os.geteuid() == 0 or about.st_uid in (0, os.geteuid())
        if not is_sound or not is_mine or not -_KEPT_S < time.time() - about.st_mtime < _KEPT_S:
            return None
        return _Request(name, str(job), at_step, str(text), about.st_uid)

    @staticmethod
    def _is_of(request: _Request, status: Dict[str, Any]) -> bool:
        """A user's request is for that user's processes, also where root's agent passes it on."""
        pid = status.get("pid")
        if not isinstance(pid, int) or str(status.get("job") or "") != request.job or status.get("worker") or status.get("rank") is None:
            return False
        try:
            return request.owner in (0, os.stat(f"/proc/{pid}").st_uid)
        except OSError:
            return False

    def _named(self, folder: int, request: _Request, own: List[Dict[str, Any]]) -> Optional["_When"]:
        """What an agent has named for all, or this one does now."""
        name = request.name + ".when"
        found = _read(folder, name)
        if found is None and own:
            try:
                _write_new(folder, name, self._ahead(own))
            except OSError:
                return None  # another agent may be able to
            found = _read(folder, name)
        if found is None or found[1].st_uid not in (0, request.owner, os.geteuid()):
            return None
        at_step, at_s = found[0].get("at_step"), found[0].get("at_s")
        if _is_step(at_step):
            return _When(at_step, None)
        return _When(None, at_s) if isinstance(at_s, float) and math.isfinite(at_s) else None

    def _ahead(self, own: List[Dict[str, Any]]) -> Dict[str, Any]:
        ahead_s = _LOOKS_AHEAD * self._every_s
        median_ms = [_steps(status).get("median_ms") for status in own if _steps(status).get("source") in _SAME_ON_ALL]
        known = [float(ms) for ms in median_ms if isinstance(ms, (int, float)) and ms > 0]
        if len(known) < len(own):
            return {"at_s": time.time() + ahead_s}
        return {"at_step": max(map(_count, own)) + math.ceil(1e3 * ahead_s / max(known))}
