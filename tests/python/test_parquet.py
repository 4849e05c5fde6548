#!/usr/bin/env python3
"""hostprobe.to_parquet: data sets that pyarrow, DuckDB and Polars read back as the tables they were made of."""

import io
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path

import probed
from probed import BUILD, COMMAND

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import duckdb
import hostprobe
import polars
import pyarrow
import pyarrow.dataset

RECORDS = ("launches", "waits", "syncs", "collectives", "regions", "marks", "events", "gpu_activities")


# So that there is something to find, also in so few steps.
SLOW_LAUNCHES = "launch_delay,rank=1,from_ms=0,to_ms=600000,amount=100"


class Parquet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name, "run")
        subprocess.run([COMMAND, "run", "-o", cls.path, "--mode", "trace", "--budget", "0", "--simgpu", "2", "--",
                        BUILD / "examples/train_parallel", "--ranks", "2", "--steps", "5", "--pipeline", "1"],
                       check=True, capture_output=True, env={**os.environ, "SIMNODE_FAULT": SLOW_LAUNCHES})
        cls.run_ = hostprobe.open(cls.path)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name, "sets")

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def test_all_tables_come_back(self):
        rows = hostprobe.to_parquet(self.path, self.folder)
        self.assertEqual(set(rows), set(self.run_.tables))
        for name in self.run_.tables:
            expected = pyarrow.table(self.run_.table(name))
            self.assertEqual(rows[name], expected.num_rows, name)
            if expected.num_rows == 0:
                self.assertFalse((self.folder / name).exists())
                continue
            partitioning = "hive" if name in RECORDS else None
            data = pyarrow.dataset.dataset(self.folder / name, partitioning=partitioning).to_table()
            self.assertEqual(set(data.column_names), set(expected.column_names))
            as_rows = lambda table: sorted(map(repr, table.select(expected.column_names).to_pylist()))
            self.assertEqual(as_rows(data), as_rows(expected), name)

    def test_a_partition_is_a_rank_and_a_file_a_process(self):
        hostprobe.to_parquet(self.run_, self.folder, ["launches", "waits", "findings"])
        files = self.files()
        for rank in (0, 1):
            self.assertEqual(sum(file.startswith(f"launches/rank={rank}/") for file in files), 1)
        self.assertEqual(sum(file.startswith("waits/rank=__HIVE_DEFAULT_PARTITION__/") for file in files), 1)  # the launcher
        self.assertIn("findings/findings.parquet", files)
        self.assertEqual({file.split("/")[0] for file in files}, {"launches", "waits", "findings"})
        self.assertTrue(all((self.folder / file).stat().st_mode & 0o777 == 0o600 for file in files))

    def test_the_same_query_gives_the_same_on_parquet_and_on_the_run(self):
        hostprobe.to_parquet(self.run_, self.folder, ["waits"])
        query = "select rank, role, count(*), sum(wake_ns) from {} group by all order by all"
        waits = self.run_.waits
        expected = duckdb.sql(query.format("waits")).fetchall()
        read = f"read_parquet('{self.folder}/waits/**/*.parquet', hive_partitioning = true)"
        self.assertEqual(duckdb.sql(query.format(read)).fetchall(), expected)
        self.assertIn(None, [row[0] for row in expected])
        frame = polars.read_parquet(self.folder / "waits/**/*.parquet", hive_partitioning=True)
        self.assertEqual(frame.height, pyarrow.table(waits).num_rows)

    def test_an_earlier_conversion_is_replaced_only_when_asked(self):
        hostprobe.to_parquet(self.run_, self.folder, ["launches"])
        before = self.files()
        (self.folder / "mine.txt").write_text("mine")
        with self.assertRaises(FileExistsError) as error:
            hostprobe.to_parquet(self.run_, self.folder, ["syncs", "launches"])
        self.assertIn("overwrite=True", str(error.exception))
        self.assertNotIn("\n", str(error.exception))
        self.assertEqual(self.files(), sorted([*before, "mine.txt"]))
        hostprobe.to_parquet(self.run_, self.folder, ["syncs"])
        (self.folder / "launches/rank=7").mkdir()
        (self.folder / "launches/rank=7/old.parquet").write_bytes(b"")
        hostprobe.to_parquet(self.run_, self.folder, ["launches"], overwrite=True)
        self.assertEqual([file for file in self.files() if file.startswith("launches")], before)
        self.assertEqual((self.folder / "mine.txt").read_text(), "mine")

    def test_other_peoples_files_are_never_removed(self):
        (self.folder / "launches").mkdir(parents=True)
        (self.folder / "launches/notes.txt").write_text("mine")
        with self.assertRaises(FileExistsError) as error:
            hostprobe.to_parquet(self.run_, self.folder, overwrite=True)
        self.assertIn("notes.txt", str(error.exception))
        self.assertEqual(self.files(), ["launches/notes.txt"])

    def test_nothing_is_made_for_a_table_that_is_not_there(self):
        with self.assertRaises(ValueError) as error:
            hostprobe.to_parquet(self.run_, self.folder, ["launches", "lunches"])
        self.assertIn("no table lunches", str(error.exception))
        with self.assertRaises(ValueError):
            hostprobe.to_parquet(self.run_, self.folder, "launches")
        self.assertFalse(self.folder.exists())

    def test_progress_goes_to_whom_it_is_given(self):
        calls = []
        hostprobe.to_parquet(self.run_, self.folder, ["launches"], progress=lambda done, whole: calls.append((done, whole)))
        whole = sum(path.stat().st_size for path in self.path.glob("*.hptrace"))
        self.assertEqual((calls[0], calls[-1]), ((0, whole), (whole, whole)))
        self.assertEqual(calls, sorted(calls))
        shown, silent = io.StringIO(), io.StringIO()
        with redirect_stderr(shown):
            hostprobe.to_parquet(self.run_, self.folder, ["launches"], progress=True, overwrite=True)
        with redirect_stderr(silent):  # no terminal
            hostprobe.to_parquet(self.run_, self.folder, ["launches"], overwrite=True)
        self.assertTrue(shown.getvalue().endswith("MiB\n"))
        self.assertEqual(silent.getvalue(), "")

    def test_a_conversion_that_is_broken_off_leaves_no_half_file(self):
        def stop(done, whole):
            if done > 0:
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            hostprobe.to_parquet(self.run_, self.folder, ["launches", "waits"], progress=stop)
        for file in self.files():
            self.assertTrue(file.endswith(".parquet"))
            pyarrow.parquet.read_metadata(self.folder / file)

    def test_without_pyarrow_it_says_what_to_install(self):
        program = ("import sys; sys.modules['pyarrow'] = None\n"
                   "import hostprobe\n"
                   "try: hostprobe.to_parquet(sys.argv[1], sys.argv[2])\n"
                   "except ImportError as error: print(error)\n")
        done = subprocess.run([sys.executable, "-c", program, self.path, self.folder], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": str(BUILD / "lib/hostprobe/python")})
        self.assertIn("pip install pyarrow", done.stdout)
        self.assertEqual(done.stdout.count("\n"), 1)


if __name__ == "__main__":
    probed.main()
