"""Reading a run: its tables by the Arrow PyCapsule interface, for pyarrow, pandas, Polars, DuckDB and others.

    import duckdb, hostprobe
    run = hostprobe.open("hostprobe-run")
    launches = run.launches
    duckdb.sql("select rank, kernel, count(*), avg(duration_ns) from launches group by all")
    pyarrow.table(run.findings), polars.DataFrame(run.steps), pandas.DataFrame.from_arrow(run.threads)

docs/reference/tables.md has the columns of every table, with units and sources. No library of these is needed to open a run, and no Arrow
library by hostprobe itself.
"""

import json
import os
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from hostprobe import _tables

__all__ = ["Run", "Table"]

_END = sys.maxsize


class Table:
    """One table of a run, or some of its columns. Nothing is read before rows are asked for; each stream begins anew.

    `name`; `columns`: the names of its columns; `run`: the Run it is of.
    """

    def __init__(self, run: "Run", name: str, columns: Sequence[str]) -> None:
        self.run = run
        self.name = name
        self.columns: Tuple[str, ...] = tuple(columns)

    def __repr__(self) -> str:
        return f"<hostprobe table {self.name} of {self.run.path}: {', '.join(self.columns)}>"

    def select(self, columns: Sequence[str]) -> "Table":
        """The same table with these columns alone, in this order: others are not even decoded. ValueError: it has no such one."""
        return self.run.table(self.name, columns)

    def __arrow_c_schema__(self) -> Any:
        """A capsule named arrow_schema."""
        return _tables.schema(self.run._opened, self.name, list(self.columns))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule named arrow_array_stream: all rows, process by process, in batches of at most 65 536.

        A requested schema must have the same columns. Types stay as they are: the interface leaves casts to the caller.
        """
        return self._stream(0, _END, requested_schema)

    def _stream(self, begin: int, end: int, requested_schema: Any = None) -> Any:
        if requested_schema is not None:
            asked = _tables.schema_columns(requested_schema)
            if asked is None or tuple(asked) != self.columns:
                raise ValueError(f"the requested schema has other columns than {self.name}: {', '.join(self.columns)}")
        return _tables.stream(self.run._opened, self.name, list(self.columns), begin, end)


class Run:
    """The run folder at `path`, or one trace file, as it is now: the processes that recorded until then. Each stream reads
    their files as they are when it gets there, so a run may be read while it is being written.

    Of a folder with several jobs it is one: number `job`, counted from 1 as they began, else the newest. `job` says which it is,
    `jobs` how many there are. With `host` it is what the ranks of that host recorded, and nothing of the others is read.

    FileNotFoundError: there is nothing at `path`. ValueError: it holds no trace that can be read, or no such job or host; what
    else cannot be read is said in `problems`.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], job: Optional[int] = None, host: Optional[str] = None) -> None:
        self.path = os.fspath(path)
        if job is not None and not 1 <= job < 1 << 31:
            raise ValueError(f"jobs of a run folder are counted from 1, there is no job {job}")
        self._opened = _tables.open(self.path, 0 if job is None else job, host or "")
        self.job, self.jobs = _tables.job(self._opened)
        self._columns: Dict[str, List[str]] = {
            name: [column[0] for column in columns] for name, _, _, columns in _tables.definitions()}

    def __repr__(self) -> str:
        return f"<hostprobe run {self.path}: {', '.join(self.tables)}>"

    def __dir__(self) -> List[str]:
        return sorted([*super().__dir__(), *self.tables])

    def __iter__(self) -> Iterator[Table]:
        return (self.table(name) for name in self.tables)

    @property
    def tables(self) -> Tuple[str, ...]:
        """The names of the tables. Each is an attribute too."""
        return tuple(self._columns)

    def table(self, name: str, columns: Optional[Sequence[str]] = None) -> Table:
        """A table, or the given columns of it. ValueError: there is no such one, and these there are."""
        if name not in self._columns:
            raise ValueError(f"no table {name}; the tables are {', '.join(self.tables)}")
        wanted = self._columns[name] if columns is None else list(columns)
        if isinstance(columns, str):
            raise ValueError(f"columns of {name} are a list of names, not a string")
        for column in wanted:
            if column not in self._columns[name]:
                raise ValueError(f"no column {column} in {name}; its columns are {', '.join(self._columns[name])}")
        if len(set(wanted)) < len(wanted):
            raise ValueError(f"a column of {name} is asked for twice")
        return Table(self, name, wanted)

    def __getattr__(self, name: str) -> Table:
        columns: Dict[str, List[str]] = self.__dict__.get("_columns", {})
        if name not in columns:
            raise AttributeError(f"no table {name}; the tables are {', '.join(columns)}")
        return self.table(name)

    @property
    def start_realtime_ns(self) -> int:
        """The moment at which every `begin_ns` counts from 0, as CLOCK_REALTIME, ns."""
        return _tables.start_realtime_ns(self._opened)

    @property
    def problems(self) -> Tuple[str, ...]:
        """What could not be read, a line each: as far as anything was read until now. Damage inside a file is known once a table
        of records, or report(), has been read to its end."""
        return tuple(_tables.problems(self._opened))

    def report(self) -> Dict[str, Any]:
        """The document of `hostprobe report --json`, made once. The tables processes, threads, steps, findings, wait_sites and
        collective_sites are made of the same answer."""
        document: Dict[str, Any] = json.loads(_tables.report(self._opened))
        return document

    def diff(self, other: "Run", fail_over_pct: Optional[float] = None) -> Dict[str, Any]:
        """The document of `hostprobe diff --json`, of what changed from this run to the other. With `fail_over_pct` it has `gate`:
        whether the other's steps are slower by more than that beyond noise."""
        document: Dict[str, Any] = json.loads(_tables.diff(self._opened, other._opened, fail_over_pct))
        return document

    def explain(self, cause: str) -> Dict[str, Any]:
        """The document of `hostprobe explain CAUSE --json`: the page of a cause, and what of it was seen in this run. ValueError:
        there is no such cause."""
        if cause not in _tables.causes():
            raise ValueError(f"no cause is called {cause}; the causes are {', '.join(_tables.causes())}")
        document: Dict[str, Any] = json.loads(_tables.explain(cause, self._opened))
        return document
