"""The step rows of one host in a folder of many: files that grow by renames, and go when they are old or too many.

    DATA/job=ID/date=YYYY-MM-DD/host=NAME/RUN-BEGIN.parquet

RUN: the moment at which the run began, BEGIN: its first row's. A row that was written is not written again: what is there already is read from the
files, so that it holds after a restart too. Only files with such names, of the hosts that are asked for, are ever replaced or removed.
"""

import datetime
import fcntl
import importlib
import os
import re
import stat
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

from hostprobe._parquet import _pyarrow
from hostprobe._row_files import folder_of, is_whole
from hostprobe._step_rows import rows_by_folder, write_whole

__all__ = ["RowStore", "Written"]

_NAME = re.compile(r"(\d{1,20})-(\d{1,20})\.parquet")
_MOST_ROWS = 16384  # of a file; a full one is never written again
_NEWEST = 8  # files of a run that are read to find out what is there


class Written(NamedTuple):
    """What is there of a run: `until_ns` by rank (as text), before which a row is one of these; `steps`: the number of the next step."""

    until_ns: Dict[str, int]
    steps: int

    def after(self, rows: Iterable[Dict[str, Any]]) -> "Written":
        """With these rows, as dictionaries."""
        until, steps = dict(self.until_ns), self.steps
        for row in rows:
            half_ns = int(5e5 * row["ms"])
            until[str(row["rank"])] = max(until.get(str(row["rank"]), 0), row["begin_ns"] + half_ns)
            steps = max(steps, row["step"] + 1)
        return Written(until, steps)


class _Piece(NamedTuple):
    date: str
    begin_ns: int
    path: Path


def _is_plain(path: Path, kind: Any) -> bool:
    """Neither a link nor a pipe."""
    try:
        return bool(kind(os.lstat(path).st_mode))
    except OSError:
        return False


def _folders(above: Path, pattern: str) -> Iterator[Path]:
    return (path for path in sorted(above.glob(pattern)) if _is_plain(path, stat.S_ISDIR))


def _made(data: Path, names: Tuple[str, ...]) -> Path:
    """The folder, which is made. OSError: something else is in its place, as a link that leads elsewhere."""
    place = data
    for name in names:
        place = place / name
        try:
            place.mkdir(mode=0o755)
        except FileExistsError:
            if not _is_plain(place, stat.S_ISDIR):
                raise OSError(f"{place} is no folder, but a link or a file: remove it") from None
    return place


class RowStore:
    """`data` is made if it is not there. BlockingIOError: another agent of this host writes there."""

    def __init__(self, data: str, host: str, keep_days: int = 30, keep_mb: int = 1024) -> None:
        self._pyarrow = _pyarrow()
        self._parquet: Any = importlib.import_module("pyarrow.parquet")
        self._data = Path(data)
        self._data.mkdir(parents=True, exist_ok=True)
        self._hosts: Set[str] = {host}
        self._keep_days = keep_days
        self._keep_bytes = keep_mb << 20
        self._lock = self._locked(folder_of("host", host))

    def _locked(self, name: str) -> int:
        """A descriptor that holds the lock as long as this process lives; where the file system has no locks it holds none."""
        handle = os.open(self._data / f".agent.{name}.lock", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise BlockingIOError(f"another agent of this host writes into {self._data}: end it, or give another folder") from None
        except OSError:
            pass
        return handle

    def close(self) -> None:
        os.close(self._lock)

    def _pieces(self, run_ns: Optional[int] = None, job: str = "*", host: Optional[str] = None) -> List[_Piece]:
        """Files of these hosts, the oldest first."""
        pieces = []
        hosts = self._hosts if host is None else {host}
        for of_job in _folders(self._data, job if job == "*" else _literal(folder_of("job", job))):
            for of_date in _folders(of_job, "date=*"):
                for name in hosts:
                    for path in of_date.joinpath(folder_of("host", name)).glob("*.parquet"):
                        found = _NAME.fullmatch(path.name)
                        if found and run_ns in (None, int(found[1])) and _is_plain(path, stat.S_ISREG):
                            pieces.append(_Piece(of_date.name, int(found[2]), path))
        return sorted(pieces)

    def written(self, job: str, host: str, run_ns: int) -> Written:
        """Of a run that begins then."""
        written = Written({}, 0)
        for piece in self._pieces(run_ns, job, host)[-_NEWEST:]:
            try:
                rows = self._parquet.ParquetFile(piece.path).read(columns=["rank", "step", "begin_ns", "ms"]).to_pylist()
            except (OSError, ValueError, KeyError):
                continue  # something that is none of ours
            written = written.after(rows)
        return written

    def add(self, rows: Any, run_ns: int) -> None:
        """Writes a pyarrow table with the columns of `step_rows`, of a run that begins then. OSError: some of it could not be written."""
        for names, own in rows_by_folder(self._pyarrow, rows):
            host = own["host"][0].as_py()
            self._hosts.add(host or "")
            self._add_to(_made(self._data, names), own.drop_columns(["job", "host"]), run_ns)

    def _add_to(self, place: Path, rows: Any, run_ns: int) -> None:
        begin_ns = self._pyarrow.compute.min(rows["begin_ns"]).as_py()
        path = place / f"{run_ns}-{begin_ns}.parquet"
        newest = self._open_piece(place, run_ns)
        if newest is not None:
            path = newest
            before = self._parquet.ParquetFile(path).read()
            rows = self._pyarrow.concat_tables([before, rows], promote_options="permissive")
        write_whole(self._pyarrow, rows.sort_by([("rank", "ascending"), ("begin_ns", "ascending")]), path)

    def _open_piece(self, place: Path, run_ns: int) -> Optional[Path]:
        """The file that has room for more."""
        own = sorted((int(found[2]), path) for path in place.glob(f"{run_ns}-*.parquet")
                     if (found := _NAME.fullmatch(path.name)) and _is_plain(path, stat.S_ISREG))
        if not own or not is_whole(own[-1][1]):
            return None
        count = self._parquet.ParquetFile(own[-1][1]).metadata.num_rows
        return own[-1][1] if count < _MOST_ROWS else None

    def remove_old(self) -> int:
        """Those beyond the days and the size that are kept, but never the newest. The clock that counts is that of the rows."""
        pieces = self._pieces()
        if not pieces:
            return 0
        oldest_date = _date_before(pieces[-1].date[5:], self._keep_days)
        whole = sum(_size(piece.path) for piece in pieces)
        removed = 0
        for piece in pieces[:-1]:
            if piece.date[5:] >= oldest_date and whole <= self._keep_bytes:
                break
            whole -= _size(piece.path)
            _remove(piece.path)
            removed += 1
        return removed


def _literal(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _size(path: Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _remove(path: Path) -> None:
    """With the folders that are empty then."""
    try:
        path.unlink()
        for folder in list(path.parents)[:3]:
            folder.rmdir()
    except OSError:
        pass  # another host's rows are in there, or it is gone


def _date_before(date: str, days: int) -> str:
    try:
        return (datetime.date.fromisoformat(date) - datetime.timedelta(days=days)).isoformat()
    except (ValueError, OverflowError):
        return ""
