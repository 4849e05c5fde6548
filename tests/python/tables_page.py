#!/usr/bin/env python3
"""Prints the part of docs/tables.md that lists tables and columns, as the compiled module defines them.

    HOSTPROBE_TEST_BUILD=build tests/python/tables_page.py
"""

import importlib.util
import os
from pathlib import Path


def definitions(build):
    """The module by itself: whatever is imported as hostprobe stays as it is."""
    path = Path(build, "lib/hostprobe/python/hostprobe/_tables.abi3.so")
    spec = importlib.util.spec_from_file_location("hostprobe._tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.definitions()


def markdown(tables):
    lines = []
    for name, meaning, by_process, columns in tables:
        kind = "Of records, by process." if by_process else "Of the answer."
        lines += [f"## `{name}`", "", f"{meaning[0].upper()}{meaning[1:]}. {kind}", "", "| column | type | |", "|---|---|---|"]
        for column, kind, nullable, text in columns:
            lines.append(f"| {column} | {kind}{'' if nullable else ', never null'} | {text} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(definitions(os.environ["HOSTPROBE_TEST_BUILD"])), end="")
