"""Folders and files of step rows: their names, and which of the files are whole. Standard library alone."""

import os
import re
from pathlib import Path
from typing import Iterator, List, Optional, Tuple, Union

__all__ = ["folder_of", "is_whole", "row_files"]

_ENDS = b"PAR1"  # of every whole Parquet file, at both ends
_SPECIAL = re.compile("[\\x00-\\x1f\\x7f\"#%'*/:=?\\\\{\\[\\]^]")  # what Hive escapes
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def folder_of(column: str, value: Optional[str]) -> str:
    """The name of a partition's folder, as Hive writes it."""
    if not value:
        return f"{column}={_NO_VALUE}"
    return f"{column}=" + _SPECIAL.sub(lambda found: f"%{ord(found.group()):02X}", value)


def is_whole(path: Path) -> bool:
    with open(path, "rb") as file:
        if file.read(4) != _ENDS:
            return False
        file.seek(-4, os.SEEK_END)
        return file.tell() >= 8 and file.read(4) == _ENDS


def _candidates(data: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(data):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "_")))
        for name in sorted(names):
            path = Path(folder, name)
            # A pipe would keep whoever opens it waiting; a link may lead anywhere.
            if name.endswith(".parquet") and not name.startswith((".", "_")) and path.is_file() and not path.is_symlink():
                yield path


def row_files(data: Union[str, "os.PathLike[str]"]) -> Tuple[List[str], List[str]]:
    """The Parquet files below `data` that are whole, and those that are not: still being written, or cut off."""
    whole: List[str] = []
    others: List[str] = []
    for path in _candidates(Path(data)):
        try:
            (whole if is_whole(path) else others).append(str(path))
        except OSError:
            others.append(str(path))  # it went away, or may not be read
    return whole, others
