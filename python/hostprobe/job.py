"""`hostprobe job DATA`: who of a job on many hosts is slow, since when, why, and what it costs, from step rows.

    python -m hostprobe.job DATA [--json] [--html FILE] [--job ID] [--steps A-B] [--engine duckdb|spark|spark://HOST:PORT]
    python -m hostprobe.job DATA --trigger STEP|next [--job ID] [--text TEXT]

DATA is a folder of step rows, as hostprobe.to_step_rows writes them, or a run folder, of which they are made first. The questions are
the SQL files in hostprobe/sql/; docs/reference/job.md says what each answers.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from hostprobe._job_engine import DuckDbEngine, Engine, Missing, NoRows, SparkEngine, master_of, queries
from hostprobe._job_text import page, printable, text
from hostprobe._row_files import row_files
from hostprobe._triggers import BadRequest, leave_request

__all__ = ["document", "main", "open_engine"]

_TRACES = (".hptrace", ".hpdump")


def _holds_traces(data: str) -> bool:
    if os.path.isfile(data):
        return data.endswith(_TRACES)
    folders = [data, *(entry.path for entry in os.scandir(data) if entry.is_dir(follow_symlinks=False))]
    return any(name.endswith(_TRACES) for folder in folders for name in os.listdir(folder))


def open_engine(data: str, master: Optional[str] = None, threads: Optional[int] = None) -> Tuple[Engine, List[str]]:
    """What answers queries about `data`, and what of it could not be read. `master`: of Spark's cluster; None: DuckDB.

    FileNotFoundError, NoRows, Missing.
    """
    if not os.path.exists(data):
        raise FileNotFoundError(f"there is no {data}")
    files, others = row_files(data) if os.path.isdir(data) else ([], [])
    notes = [f"{len(others)} files are no whole Parquet and are left out: {others[0]}" + (", …" if len(others) > 1 else "")] if others else []
    if not files and _holds_traces(data):
        return _engine_of_run(data, master, threads), notes
    if not files:
        raise NoRows(f"{data} holds neither step rows (*.parquet) nor traces (*.hptrace)" + "".join("; " + note for note in notes))
    if master is None:
        return DuckDbEngine(files, threads=threads), notes
    return SparkEngine(data, master), notes


def _engine_of_run(data: str, master: Optional[str], threads: Optional[int]) -> Engine:
    from hostprobe._run import Run
    run = Run(data)
    if master is None:
        return DuckDbEngine(table=run.step_rows, threads=threads)
    from hostprobe._step_rows import to_step_rows
    folder = tempfile.mkdtemp(prefix="hostprobe-step-rows.")  # Spark reads it for as long as it is asked
    try:
        if to_step_rows(run, folder) == 0:
            raise NoRows(f"{data} has no steps")
    except ImportError as error:
        raise Missing(str(error)) from None
    return SparkEngine(folder, master)


def _plain(value: Any) -> Any:
    """As JSON has it."""
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def document(engine: Engine, job: Optional[str] = None, steps: Optional[Tuple[int, int]] = None) -> Dict[str, Any]:
    """What `--json` prints: the rows of every query, of one job. NoRows: there is no such job, or it has no such steps."""
    jobs = engine.jobs()
    if not jobs:
        raise NoRows("there are no step rows")
    chosen = jobs[-1] if job is None else job
    if chosen not in jobs:
        raise NoRows(f"no job is called {job}; the newest are {', '.join(jobs[-5:])}")
    engine.choose(chosen, steps)
    answers = {name: [{key: _plain(value) for key, value in row.items()} for row in engine.rows(sql)]
               for name, sql in queries().items()}
    if not answers["overview"] or not answers["overview"][0]["steps"]:
        raise NoRows(f"job {chosen} has no steps" + ("" if steps is None else f" from {steps[0]} to {steps[1]}"))
    return {"schema": 1, "job": chosen, "jobs": jobs, **answers}


def _span(text_of_span: str) -> Tuple[int, int]:
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})", text_of_span)
    if found is None or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError(f"steps are two numbers, as 100-200, and not {text_of_span!r}")
    return int(found[1]), int(found[2])


def _asked_step(text_of_step: str) -> Optional[int]:
    if text_of_step == "next":
        return None
    if not re.fullmatch(r"[1-9]\d{0,17}", text_of_step):
        raise argparse.ArgumentTypeError(f"a step is a number, or next, and not {text_of_step!r}")
    return int(text_of_step)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hostprobe job", description="Says who of a job on many hosts is slow, since when, why, and "
                                     "what it costs.", epilog="examples: hostprobe job DATA --steps 1000-2000; hostprobe job DATA --trigger next")
    parser.add_argument("data", metavar="DATA", help="a folder of step rows, or a run folder")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of text")
    parser.add_argument("--html", metavar="FILE", help="also write a page that needs no network")
    parser.add_argument("--job", metavar="ID", help="which job of the data; else the newest")
    parser.add_argument("--steps", metavar="A-B", type=_span, help="only steps from A to B")
    parser.add_argument("--engine", metavar="ENGINE", default="duckdb", help="duckdb (the usual), spark, or spark://HOST:PORT")
    parser.add_argument("--trigger", metavar="STEP", type=_asked_step, default=False,
                        help="have the agents that write into DATA ask all ranks of the job to write their last seconds out once so many steps "
                        "have ended; next: the same step of all, as soon as they can")
    parser.add_argument("--text", metavar="TEXT", default="", help="with --trigger: what the reports say of it")
    return parser


def _ask_agents(arguments: argparse.Namespace) -> None:
    if not os.path.isdir(arguments.data):
        raise BadRequest(f"{arguments.data} is no folder that agents write into")
    job = arguments.job
    if job is None:
        engine, _ = open_engine(arguments.data)
        jobs = engine.jobs()
        engine.close()
        if not jobs:
            raise NoRows(f"{arguments.data} has no job yet: name one with --job ID")
        job = jobs[-1]
    name = leave_request(Path(arguments.data), job, arguments.trigger, arguments.text)
    when = "the next step that all can" if arguments.trigger is None else f"step {arguments.trigger}"
    print(f"hostprobe job: asked for {when} of {printable(job)} (_triggers/{name}); agents pass it on within their --every", file=sys.stderr)


def _write_page(path: str, html: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
        out.write(html)


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = _parser()
    arguments = parser.parse_args(words)
    try:
        master = master_of(arguments.engine)
    except ValueError as error:
        parser.error(str(error))
    try:
        if arguments.trigger is not False:
            _ask_agents(arguments)
            return 0
        engine, notes = open_engine(arguments.data, master)
        for note in notes:
            print(f"hostprobe job: {printable(note)}", file=sys.stderr)
        found = document(engine, arguments.job, arguments.steps)
        engine.close()
        if arguments.html is not None:
            _write_page(arguments.html, page(found))
        print(json.dumps(found, ensure_ascii=False) if arguments.json else text(found), flush=True)
    except (Missing, OSError, ValueError) as error:
        print(f"hostprobe job: {printable(error)}", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"hostprobe job: {printable(error)}; {sys.executable} has no hostprobe that fits it: pip install hostprobe", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
