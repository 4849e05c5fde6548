"""A run as Parquet data sets, one for each table, by pyarrow.

    FOLDER/launches/rank=0/node17-4242-1795394721609077200.parquet     a file for each process
    FOLDER/findings/findings.parquet                                   tables of the whole run

A partition's name stands for the column `rank`, which its files lack; processes without a rank are in
rank=__HIVE_DEFAULT_PARTITION__, which readers take for null. Memory holds one process at a time: of its trace file what is being
read, and a batch of rows.
"""

import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, TextIO, Union

from hostprobe import _tables
from hostprobe._run import Run, Table

__all__ = ["to_parquet"]

_Name = Union[str, "os.PathLike[str]"]
_NO_RANK = "__HIVE_DEFAULT_PARTITION__"
_MINE = ".parquet"


class _Bar:
    """A line on a terminal that is written over."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, done: int, whole: int) -> None:
        width = 30
        filled = width * done // max(whole, 1)
        self._out.write(f"\r[{'#' * filled}{'.' * (width - filled)}] {done >> 20} of {whole >> 20} MiB")
        if done >= whole:
            self._out.write("\n")
        self._out.flush()


def _reporter(progress: Union[bool, Callable[[int, int], object], None]) -> Callable[[int, int], object]:
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if callable(progress):
        return progress
    return _Bar(sys.stderr) if progress else lambda done, whole: None


def _pyarrow() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError(f"hostprobe.to_parquet needs pyarrow ({error}): pip install pyarrow") from None


def _clear(folder: Path, name: str, overwrite: bool) -> None:
    """Of what is in the way only that is removed which has the form of an earlier conversion."""
    target = folder / name
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(f"{target} exists; give overwrite=True to replace it, or another folder")
    files = [path for path in target.rglob("*") if not path.is_dir()] if target.is_dir() else [target]
    foreign = [path for path in files if path.suffix != _MINE]
    if foreign:
        raise FileExistsError(f"{foreign[0]} is no file of an earlier conversion, so {target} is left as it is")
    shutil.rmtree(target)


def _write(pyarrow: Any, table: Table, stream: Any, path: Path, mode: int) -> int:
    """Rows written; without rows there is no file. What stands at `path` is complete."""
    reader = pyarrow.RecordBatchReader._import_from_c_capsule(stream)
    part = path.with_name(path.name + ".part")
    writer, rows = None, 0
    try:
        for batch in reader:
            if writer is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode))
                writer = pyarrow.parquet.ParquetWriter(str(part), reader.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
    finally:
        if writer is not None:
            writer.close()
    if writer is not None:
        os.replace(part, path)
    return rows


def to_parquet(run: Union[Run, _Name], folder: _Name, tables: Optional[Sequence[str]] = None,
               progress: Union[bool, Callable[[int, int], object], None] = None, overwrite: bool = False) -> Dict[str, int]:
    """Writes `tables` (None: all) of `run`, a Run or a path, into `folder`. Returns the rows of each table.

    `progress`: a bar on stderr (True), none (False), one where stderr is a terminal (None), or a function that is called with the
    bytes of trace files done and those of all. What could not be read is in `Run.problems`.

    ImportError: pyarrow is missing. ValueError: there is no such table. FileExistsError: a table's folder is there, and
    `overwrite` is not set, or it holds other files.
    """
    pyarrow = _pyarrow()
    opened = run if isinstance(run, Run) else Run(run)
    names: List[str] = list(opened.tables if tables is None else tables)
    chosen = {name: opened.table(name) for name in names}
    target = Path(folder)
    for name in chosen:
        _clear(target, name, overwrite)
    by_process = {name for name, _, by_process, _ in _tables.definitions() if by_process}
    report = _reporter(progress)
    rows = {name: 0 for name in chosen}
    traces = _tables.traces(opened._opened)
    whole, done = sum(size for _, size, _ in traces), 0
    report(0, whole)
    for number, (path, size, rank) in enumerate(traces):
        held = _tables.hold(opened._opened, number) if by_process & set(chosen) else None
        for name in chosen:
            if name in by_process:
                table = chosen[name].select([column for column in chosen[name].columns if column != "rank"])
                place = target / name / f"rank={_NO_RANK if rank is None else rank}" / (Path(path).stem + _MINE)
                rows[name] += _write(pyarrow, table, table._stream(number, number + 1), place, 0o600)
        del held
        done += size
        if number + 1 < len(traces):
            report(done, whole)
    for name in chosen:
        if name not in by_process:
            rows[name] += _write(pyarrow, chosen[name], chosen[name].__arrow_c_stream__(),
                                 target / name / (name + _MINE), 0o600)
    report(whole, whole)
    return rows
