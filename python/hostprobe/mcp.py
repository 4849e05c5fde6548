"""A server of the Model Context Protocol (MCP) that answers questions about runs, for programs and language models that ask.

    python -m hostprobe.mcp FOLDER…            FOLDER: a run folder, or one that holds them, at most three levels deep

It speaks over standard input and output, by the official SDK (`pip install 'hostprobe[mcp]'`). Every tool only reads: no tool
writes, starts a program, or looks at a path outside of the folders that it was started with, by way of a link neither.
docs/reference/documents.md has the tools and their bounds.
"""

import argparse
import importlib
import json
import logging
import os
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from hostprobe._run import Run

__all__ = ["main", "server"]

_MOST_ROWS = 1000
_MOST_BYTES = 256 << 10  # of an answer
_MOST_SECONDS = 60.0  # of a query
_MOST_RUNS = 1000
_MOST_DEEP = 3
_MEMORY = "1GB"  # of a query
_TRACES = (".hptrace", ".hpdump", ".job.json")


class Refused(ValueError):
    """What a tool answers instead of a result: one line that says why."""


class Folders:
    """The folders that the server was started with, and what lies below them."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.roots: List[Path] = []
        for folder in folders:
            root = Path(folder).resolve()
            if not root.is_dir():
                raise SystemExit(f"hostprobe.mcp: {folder} is no folder")
            self.roots.append(root)

    def holds(self, path: Path) -> bool:
        return any(path == root or root in path.parents for root in self.roots)

    def run_at(self, path: str) -> Path:
        """The run that is meant by `path`, absolute or relative to one of the folders."""
        if "\0" in path:
            raise Refused("a path has no zero bytes")
        tried = [Path(path)] if os.path.isabs(path) else [root / path for root in self.roots]
        real = [one.resolve() for one in tried]
        inside = [one for one in real if self.holds(one)]
        if not inside:
            raise Refused(f"{path} is outside of the folders that this server was started with")
        there = next((one for one in inside if one.exists()), None)
        if there is None:
            raise Refused(f"there is no {path}; list_runs names the runs")
        for link in _links_below(there):
            if not self.holds(link.resolve()):
                raise Refused(f"{link.name} in {path} is a link that leads out of the folders of this server")
        return there

    def runs(self) -> Iterator[Path]:
        """Folders that hold traces."""
        for root in self.roots:
            for folder, inner, files in os.walk(root):
                path = Path(folder)
                if any(name.endswith(_TRACES) for name in files):
                    yield path
                inner.sort()
                if len(path.relative_to(root).parts) >= _MOST_DEEP:
                    inner.clear()


def _links_below(path: Path) -> Iterator[Path]:
    for folder, inner, files in os.walk(path):
        for name in (*inner, *files):
            one = Path(folder) / name
            if one.is_symlink():
                yield one


def _cut(value: Any, rows: int) -> Any:
    """The same with lists of at most `rows`, and a word where more were."""
    if isinstance(value, dict):
        return {key: _cut(one, rows) for key, one in value.items()}
    if isinstance(value, list):
        kept = [_cut(one, rows) for one in value[:rows]]
        return kept if len(value) <= rows else [*kept, f"… and {len(value) - rows} more"]
    return value


def _bounded(document: Dict[str, Any]) -> str:
    """As JSON of at most _MOST_BYTES: lists get shorter until it is."""
    text = json.dumps(document, ensure_ascii=False)
    for rows in (1000, 300, 100, 30, 10, 3, 1):
        if len(text.encode()) <= _MOST_BYTES:
            return text
        text = json.dumps({"cut": f"lists of more than {rows} are cut", **_cut(document, rows)}, ensure_ascii=False)
    if len(text.encode()) > _MOST_BYTES:
        raise Refused(f"the answer is larger than {_MOST_BYTES >> 10} KiB, however short its lists")
    return text


def _started(document: Dict[str, Any]) -> Any:
    return {key: document["run"].get(key) for key in ("started", "hosts", "mode", "ranks", "wall_s", "job")}


class Tools:
    """What the server offers, without the protocol: each method is a tool, and its text is what a program reads about it."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def _open(self, run: str, job: Optional[int]) -> Run:
        try:
            return Run(self._folders.run_at(run), job)
        except (OSError, ValueError) as error:
            raise Refused(str(error)) from None

    def list_runs(self) -> str:
        """The runs that can be asked about: path, newest change (seconds since 1970), and number of trace files."""
        runs = []
        for path in self._folders.runs():
            traces = [one for one in path.iterdir() if one.name.endswith(".hptrace")]
            newest = max((one.lstat().st_mtime for one in traces), default=path.lstat().st_mtime)
            runs.append({"path": str(path), "changed_s": round(newest), "traces": len(traces)})
            if len(runs) == _MOST_RUNS:
                break
        runs.sort(key=lambda run: -int(str(run["changed_s"])))
        return _bounded({"runs": runs})

    def findings(self, run: str, job: Optional[int] = None) -> str:
        """What a run lost on the host side: headline, findings with evidence, fix and expected gain, and where the time of the
        steps went by cause (step_share_pct, which adds up to 100). `run`: a path that list_runs gave; `job`: of its folder, else the
        newest."""
        report = self._open(run, job).report()
        chosen = ("headline", "findings", "step_share_pct", "step_time_unknown", "critical_path_pct", "stuck", "unreadable")
        return _bounded({"run": _started(report), **{key: report[key] for key in chosen if key in report},
                         "lost_records": sum(process["lost"] for process in report["processes"])})

    def steps(self, run: str, job: Optional[int] = None) -> str:
        """Lengths of the training steps of a run: median, p99, longest, types, the slowest of them, and how they went on (map)."""
        report = self._open(run, job).report()
        lost = report["step_time"]["lost"] if report["step_time"] else None
        return _bounded({"run": _started(report), "steps": report["steps"], "lost": lost})

    def explain(self, cause: str, run: str, job: Optional[int] = None) -> str:
        """What a cause means (its page, Markdown), and what of it was seen in a run: findings with evidence, and longest moments."""
        try:
            return _bounded(self._open(run, job).explain(cause))
        except ValueError as error:
            raise Refused(str(error)) from None

    def compare(self, a: str, b: str, fail_over_pct: Optional[float] = None) -> str:
        """What changed from run `a` to run `b`: steps, findings, kernels, collectives, waits, and what is only noise. With
        `fail_over_pct` also whether b's steps are slower by more than that (gate)."""
        if fail_over_pct is not None and not 0 <= fail_over_pct <= 1e6:
            raise Refused("fail_over_pct is a percentage from 0 on")
        return _bounded(self._open(a, None).diff(self._open(b, None), fail_over_pct))

    def tables(self) -> str:
        """The tables that a query can name, with their columns: type, unit and meaning."""
        definitions = importlib.import_module("hostprobe._tables").definitions()
        return _bounded({"tables": [{"name": name, "meaning": meaning,
                                     "columns": [f"{column} {kind} {unit}: {about}" for column, kind, _, about, unit in columns]}
                                    for name, meaning, _, columns in definitions]})

    def query(self, run: str, sql: str, job: Optional[int] = None) -> str:
        """Rows of one SELECT statement (DuckDB's SQL) over the tables of a run, which `tables` lists: for example
        `select rank, kernel, count(*) n, avg(duration_ns) from launches group by all order by n desc`. At most 1000 rows."""
        return _bounded(_rows(self._open(run, job), sql))


def _is_select(duckdb: Any, sql: str) -> bool:
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise Refused(f"the query cannot be read: {error}") from None
    return len(statements) == 1 and statements[0].type == duckdb.StatementType.SELECT


def _rows(run: Run, sql: str) -> Dict[str, Any]:
    """By a connection of its own that sees the tables of the run alone, and may change no setting."""
    duckdb: Any = importlib.import_module("duckdb")
    if not _is_select(duckdb, sql):
        raise Refused("a query is one SELECT statement")
    connection = duckdb.connect(":memory:")
    for name in run.tables:
        connection.register(name, run.table(name))
    for setting in ("enable_external_access = false", "python_enable_replacements = false", f"memory_limit = '{_MEMORY}'",
                    "threads = 2", "autoinstall_known_extensions = false", "autoload_known_extensions = false",
                    "lock_configuration = true"):
        connection.execute(f"set {setting}")
    alarm = threading.Timer(_MOST_SECONDS, connection.interrupt)
    alarm.start()
    try:
        found = connection.execute(sql)
        names = [column[0] for column in found.description]
        rows = found.fetchmany(_MOST_ROWS + 1)
    except duckdb.InterruptException:
        raise Refused(f"the query took longer than {_MOST_SECONDS:g} s") from None
    except duckdb.Error as error:
        raise Refused(str(error)[:2000]) from None
    finally:
        alarm.cancel()
        connection.close()
    return _fitting({"columns": names, "rows": [[_plain(value) for value in row] for row in rows[:_MOST_ROWS]],
                     "more": len(rows) > _MOST_ROWS})


def _fitting(answer: Dict[str, Any]) -> Dict[str, Any]:
    """Without the last rows where they are too large together."""
    whole = 0
    for number, row in enumerate(answer["rows"]):
        whole += len(json.dumps(row, ensure_ascii=False).encode()) + 2
        if whole > _MOST_BYTES - 4096:
            return {**answer, "rows": answer["rows"][:number], "more": True}
    return answer


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return str(value)


def server(folders: Sequence[str]) -> Any:
    """The server of the SDK, which is not run yet. ImportError: the SDK or DuckDB is missing."""
    sdk = importlib.import_module("mcp.server")
    types = importlib.import_module("mcp.types")
    importlib.import_module("duckdb")
    errors = importlib.import_module("mcp.server.mcpserver.exceptions")
    tools = Tools(Folders(folders))
    made = sdk.MCPServer("hostprobe", instructions="Where training runs lose time on the host side. Begin with list_runs, then findings.")

    def answering(method: Callable[..., str]) -> Callable[..., str]:
        def answer(*words: Any, **named: Any) -> str:
            try:
                return method(*words, **named)
            except Refused as error:
                raise errors.ToolError(str(error)) from None
        answer.__name__ = method.__name__
        answer.__doc__ = method.__doc__
        answer.__wrapped__ = method  # type: ignore[attr-defined]  # its signature is the tool's
        return answer

    for method in (tools.list_runs, tools.findings, tools.steps, tools.explain, tools.tables, tools.query, tools.compare):
        made.add_tool(answering(method), name=method.__name__, structured_output=False,
                      annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False))
    return made


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hostprobe.mcp", description="Answers questions about runs over MCP, on standard "
                                     "input and output. It only reads, and nothing outside of FOLDER.",
                                     epilog="example: python -m hostprobe.mcp hostprobe-run")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="a run folder, or one that holds them")
    arguments = parser.parse_args(words)
    try:
        made = server(arguments.folders)
    except ImportError as error:
        print(f"hostprobe.mcp needs the MCP SDK and DuckDB ({error}): pip install 'hostprobe[mcp]'", file=sys.stderr)
        return 1
    logging.disable(logging.ERROR)  # whoever asked has the refusal; standard error is the client's
    made.run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
