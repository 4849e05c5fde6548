"""Reports of Nsight Systems as Parquet become the SQLite that `hostprobe import --nsight` reads, by pyarrow.

    nsys export --type parquetdir report.nsys-rep
    python3 -m hostprobe.nsight report_pqtdir report.sqlite && hostprobe import -o RUN --nsight report.sqlite

A file is a table of its name, with the columns that it has. Memory holds a batch of rows.
"""

import argparse
import importlib
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any, List, Optional, Sequence, Union

__all__ = ["to_sqlite"]

_Name = Union[str, "os.PathLike[str]"]
_WHOLE = 1 << 63  # SQLite's whole numbers have a sign


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _value(value: Any) -> Any:
    """As SQLite holds it; ids of 64 bits without a sign keep their bits. Lists and structures are none of its values."""
    if isinstance(value, int):
        return value - 2 * _WHOLE if _WHOLE <= value < 2 * _WHOLE else int(value)
    return value if isinstance(value, (str, float, bytes)) else None


def _add(database: sqlite3.Connection, path: Path, parquet: Any) -> int:
    with parquet.ParquetFile(path) as file:
        columns = ", ".join(_quoted(name) for name in file.schema_arrow.names)
        if not columns:
            return 0
        database.execute(f"create table {_quoted(path.stem)} ({columns})")
        into = f"insert into {_quoted(path.stem)} values ({', '.join('?' * len(file.schema_arrow.names))})"
        for batch in file.iter_batches():
            database.executemany(into, zip(*([_value(one) for one in column.to_pylist()] for column in batch.columns)))
        return int(file.metadata.num_rows)


def to_sqlite(folder: _Name, path: _Name) -> int:
    """Rows of all tables. `path` must not exist; it is there when all is written. A file that cannot be read ends it with its error."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError(f"hostprobe.nsight needs pyarrow ({error}): pip install pyarrow") from None
    files: List[Path] = sorted(Path(folder).glob("*.parquet"))
    if not files:
        raise FileNotFoundError(f"{os.fspath(folder)} has no *.parquet: `nsys export --type parquetdir` makes such a folder")
    target = Path(path)
    if target.exists():
        raise FileExistsError(f"{target} exists: name another file")
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        database = sqlite3.connect(part)
        try:
            rows = sum(_add(database, file, parquet) for file in files)
            database.commit()
        finally:
            database.close()
        part.rename(target)
    finally:
        part.unlink(missing_ok=True)
    return rows


def _main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m hostprobe.nsight", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", help="of `nsys export --type parquetdir`")
    parser.add_argument("sqlite", help="the file to make")
    arguments = parser.parse_args(words)
    try:
        rows = to_sqlite(arguments.folder, arguments.sqlite)
    except (OSError, ImportError, ValueError, sqlite3.Error) as error:
        print(f"hostprobe: {arguments.folder}: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.sqlite}: {rows} rows; now: hostprobe import -o RUN --nsight {arguments.sqlite}")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
