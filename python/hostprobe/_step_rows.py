"""Step rows as Parquet files for joins over hosts and runs: DATA/job=ID/date=YYYY-MM-DD/host=NAME/BEGIN.parquet.

Names of folders stand for columns that the files lack (Hive's partitions), so Spark, DuckDB, Polars and others read DATA as one table.
A run's files have the moment it began in their names: writing it again replaces them, and another run of the same job lies beside it.
Times are rounded to a thousandth of their unit: the noise below takes most of a file.
"""

import datetime
import importlib
import os
from pathlib import Path
from typing import Any, Iterator, Tuple, Union

from hostprobe._parquet import _pyarrow
from hostprobe._row_files import folder_of
from hostprobe._run import Run

__all__ = ["rows_by_folder", "to_step_rows", "write_rows", "write_whole"]

_Name = Union[str, "os.PathLike[str]"]
_DAY_NS = 86400 * 10**9


def _texts(pyarrow: Any, rows: Any) -> Any:
    """With plain strings in the place of dictionaries, and rounded."""
    compute = importlib.import_module("pyarrow.compute")
    for place, field in enumerate(rows.schema):
        if pyarrow.types.is_dictionary(field.type):
            rows = rows.set_column(place, field.name, rows[field.name].cast(pyarrow.string()))
        elif pyarrow.types.is_floating(field.type):
            rows = rows.set_column(place, field.name, compute.round(rows[field.name], 3))
    return rows


def rows_by_folder(pyarrow: Any, rows: Any) -> Iterator[Tuple[Tuple[str, str, str], Any]]:
    """A pyarrow table with the columns of `step_rows`, as it is written: by the names of the folders below each other."""
    compute = importlib.import_module("pyarrow.compute")
    rows = _texts(pyarrow, rows)
    days = compute.divide(rows["begin_ns"], _DAY_NS)
    for day in compute.unique(days).to_pylist():
        date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
        of_day = rows.filter(compute.equal(days, day))
        keys = of_day.group_by(["job", "host"]).aggregate([]).to_pylist()
        for key in keys:
            own = of_day
            for column in ("job", "host"):
                value = key[column]
                own = own.filter(compute.is_null(own[column]) if value is None else compute.equal(own[column], value))
            yield (folder_of("job", key["job"]), folder_of("date", date.isoformat()), folder_of("host", key["host"])), own


def write_rows(rows: Any, data: _Name, name: str) -> int:
    """Writes a pyarrow table with the columns of `step_rows` into `data`, in files of that name. Each stands there whole or not at all."""
    pyarrow = _pyarrow()
    for folders, own in rows_by_folder(pyarrow, rows):
        place = Path(data, *folders)
        place.mkdir(parents=True, exist_ok=True)
        write_whole(pyarrow, own.drop_columns(["job", "host"]), place / (name + ".parquet"))
    return int(rows.num_rows)


def write_whole(pyarrow: Any, rows: Any, path: Path) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            pyarrow.parquet.write_table(rows, out, compression="zstd")
        os.replace(part, path)
    except BaseException:
        part.unlink()
        raise


def to_step_rows(run: Union[Run, _Name], data: _Name) -> int:
    """Adds the step rows of `run`, a Run or a path, to the folder `data`. Returns how many there are.

    ImportError: pyarrow is missing.
    """
    pyarrow = _pyarrow()
    opened = run if isinstance(run, Run) else Run(run)
    return write_rows(pyarrow.table(opened.step_rows), data, str(opened.start_realtime_ns))
