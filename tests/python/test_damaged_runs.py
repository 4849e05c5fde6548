#!/usr/bin/env python3
"""hostprobe.open where something is wrong: no run, foreign files, damage, a run that is still being written, other Pythons."""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

import probed
from probed import BUILD, COMMAND, ProbedTest

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import hostprobe
import pyarrow

MODULES = {"PYTHONPATH": str(BUILD / "lib/hostprobe/python")}
RECORDS = ("launches", "waits", "syncs", "collectives", "regions", "marks", "events")
ENDLESS = """
import hostprobe, sys
for i in range(1 << 40):
    with hostprobe.region("work"): pass
    if i == 20_000: print("begun", flush=True)
    if i >= 20_000 and sys.stdin.readline() == "": break
"""


def records_of(run):
    """Rows of all records of a run."""
    return sum(pyarrow.table(run.table(name)).num_rows for name in RECORDS)


class DamagedRuns(ProbedTest):
    def record_launches(self):
        self.record(BUILD / "examples/train_loop", options=("--mode", "trace", "--simgpu", "1"))
        return max(self.run_folder.glob("*.hptrace"), key=lambda path: path.stat().st_size)

    def assert_as_dumped(self, run):
        """The same rows, and the same words about what could not be read, as `dump`."""
        done = subprocess.run([COMMAND, "dump", self.run_folder, "--json"], capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(records_of(run), sum("function" in line for line in lines))
        said = [line.removeprefix("hostprobe: ") for line in done.stderr.splitlines()]
        self.assertEqual(sorted(run.problems), sorted(said))
        return lines

    def assert_one_line(self, kind, call, *parts):
        with self.assertRaises(kind) as error:
            call()
        for part in parts:
            self.assertIn(part, str(error.exception))
        self.assertNotIn("\n", str(error.exception))

    def test_there_is_no_such_folder(self):
        path = self.folder / "nowhere"
        self.assert_one_line(FileNotFoundError, lambda: hostprobe.open(path), str(path))
        self.assert_one_line(TypeError, lambda: hostprobe.open(None), "NoneType")
        self.assert_one_line(ValueError, lambda: hostprobe.open("a\0b"))

    def test_the_folder_is_empty_or_foreign(self):
        folder = self.folder / "empty"
        folder.mkdir()
        self.assert_one_line(ValueError, lambda: hostprobe.open(folder), str(folder), "holds no trace")
        (folder / "notes.txt").write_text("nothing")
        (folder / "job.json").write_text("{}")
        self.assert_one_line(ValueError, lambda: hostprobe.open(folder), "holds no trace")
        (folder / "a.hptrace").write_bytes(bytes(range(256)) * 64)
        (folder / "b.hptrace").write_bytes(b"")
        self.assert_one_line(ValueError, lambda: hostprobe.open(folder), "no trace", "could be read", "not a hostprobe trace")
        self.assert_one_line(ValueError, lambda: hostprobe.open(folder / "notes.txt"), "not a hostprobe trace")

    def test_foreign_files_beside_a_trace_are_said_and_passed_over(self):
        self.record_launches()
        for name, content in (("a.hptrace", b"\xff" * 9000), ("b.hptrace", b""), ("notes.txt", b"x")):
            (self.run_folder / name).write_bytes(content)
        run = hostprobe.open(self.run_folder)
        self.assertEqual(len(run.problems), 2)
        self.assert_as_dumped(run)

    def test_a_trace_that_ends_too_early(self):
        trace = self.record_launches()
        whole = records_of(hostprobe.open(self.run_folder))
        for part in (0.9, 0.5, 0.2):
            os.truncate(trace, int(trace.stat().st_size * part))
            run = hostprobe.open(self.run_folder)
            self.assert_as_dumped(run)
            self.assertLessEqual(records_of(run), whole)  # what was cut first may be blocks of other things
            self.assertIn(str(trace), "".join(run.problems))
        self.assertLess(records_of(run), whole)

    def test_a_trace_with_holes(self):
        trace = self.record_launches()
        content = bytearray(trace.read_bytes())
        for at in range(6000, len(content), max(len(content) // 7, 1)):
            content[at] ^= 0x55
        trace.write_bytes(content)
        run = hostprobe.open(self.run_folder)
        self.assert_as_dumped(run)
        self.assertTrue(run.problems)

    def test_a_damaged_head(self):
        trace = self.record_launches()
        content = bytearray(trace.read_bytes())
        content[100:200] = bytes(100)
        trace.write_bytes(content)
        run = hostprobe.open(self.run_folder)
        self.assertIn("checksum", "".join(run.problems))
        self.assert_as_dumped(run)
        self.assertGreater(pyarrow.table(run.launches).num_rows, 0)

    def test_answers_say_what_is_damaged_too(self):
        trace = self.record_launches()
        os.truncate(trace, trace.stat().st_size // 2)
        run = hostprobe.open(self.run_folder)
        self.assertEqual(run.problems, ())
        self.assertGreater(pyarrow.table(run.processes).num_rows, 0)
        by_answer = run.problems
        self.assertIn(str(trace), "".join(by_answer))
        records_of(run)
        self.assertEqual(run.problems, by_answer)  # said once

    def test_a_trace_that_went_away(self):
        self.record_launches()
        run = hostprobe.open(self.run_folder)
        shutil.rmtree(self.run_folder)
        self.assertEqual(records_of(run), 0)
        self.assertIn("cannot open", "".join(run.problems))
        reader = pyarrow.RecordBatchReader.from_stream(run.processes)
        with self.assertRaises(OSError) as error:
            reader.read_all()
        self.assertIn(str(self.run_folder), str(error.exception))

    def test_a_run_that_is_being_written(self):
        process = subprocess.Popen([COMMAND, "run", "-o", self.run_folder, "--mode", "trace", "--", sys.executable, "-c", ENDLESS],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env={**os.environ, **MODULES})
        try:
            self.assertEqual(process.stdout.readline(), "begun\n")
            run = hostprobe.open(self.run_folder)
            first = pyarrow.table(run.regions).num_rows
            self.assertGreaterEqual(first, 20_000)
            process.stdin.write(500 * "more\n")
            process.stdin.flush()
            later = pyarrow.table(run.regions).num_rows
            while later < first + 500:  # until the program has taken what was written
                later = pyarrow.table(run.regions).num_rows
            self.assertEqual(pyarrow.table(run.processes)["end_how"].to_pylist(), ["running"])
            self.assertEqual(run.problems, ())
        finally:
            process.communicate()
        self.assertGreaterEqual(pyarrow.table(run.regions).num_rows, later)

    def test_names_that_are_no_utf8(self):
        program = ("import ctypes\n"
                   "calls = ctypes.CDLL(None)\n"
                   "calls.prctl(15, b'\\xff\\xfe name', 0, 0, 0)\n"
                   "import hostprobe\n"
                   "for i in range(3):\n"
                   "    with hostprobe.region('\\udc80 r\\u00e4gion\\x07'): pass\n")
        self.record(sys.executable, "-c", program, options=("--mode", "trace"), **MODULES)
        run = hostprobe.open(self.run_folder)
        for rows in run:
            pyarrow.table(rows).validate(full=True)
        self.assertEqual(set(pyarrow.table(run.regions)["name"].to_pylist()), {"? r\u00e4gion?"})


class OtherPythons(ProbedTest):
    def test_importing_hostprobe_reads_nothing_and_imports_little(self):
        program = ("import os, sys; before = set(sys.modules)\n"
                   "import hostprobe\n"
                   "print(sorted(set(sys.modules) - before))\n")
        out, _ = self.run_program(sys.executable, "-S", "-c", program, **MODULES)
        self.assertEqual(out, "['hostprobe', 'hostprobe._marks']\n")

    def test_star_leaves_the_open_that_is_built_in(self):
        program = "from hostprobe import *\nimport builtins\nprint(open is builtins.open, 'to_parquet' in globals())\n"
        self.assertEqual(self.run_program(sys.executable, "-c", program, **MODULES)[0], "True True\n")

    def test_every_python_of_the_version_that_it_is_built_for_opens_a_run(self):
        self.record(sys.executable, "-c", ENDLESS.replace("1 << 40", "50"), options=("--mode", "trace"), **MODULES)
        program = ("import hostprobe, sys\n"
                   "run = hostprobe.open(sys.argv[1])\n"
                   "for table in run:\n"
                   "    for capsule in (table.__arrow_c_schema__(), table.__arrow_c_stream__()): assert 'arrow_' in repr(capsule)\n"
                   "    assert hostprobe._run._tables.schema_columns(table.__arrow_c_schema__()) == list(table.columns)\n"
                   "table.__arrow_c_stream__(table.__arrow_c_schema__())\n"
                   "try: run.table('none')\n"
                   "except ValueError as error: assert 'launches' in str(error)\n"
                   "try: hostprobe.to_parquet(run, sys.argv[2])\n"
                   "except ImportError as error: assert 'pip install pyarrow' in str(error), error\n"
                   "print(len(run.report()['processes']), run.problems)\n")
        pythons = {os.path.realpath(path) for path in ["/usr/bin/python3", sys.executable]
                   + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))}
        for python in sorted(pythons):
            version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                                     text=True).stdout.split()
            if not glob.glob(f"{MODULES['PYTHONPATH']}/hostprobe/_tables.cpython-{''.join(version)}-*.so"):
                continue
            with self.subTest(python):
                out, _ = self.run_program(python, "-c", program, self.run_folder, self.folder / "out", **MODULES)
                self.assertEqual(out, "1 ()\n")

    def test_without_the_compiled_part_opening_says_why(self):
        program = ("import sys; sys.modules['hostprobe._tables'] = None\n"
                   "import hostprobe\n"
                   "print(hostprobe.active())\n"
                   "try: hostprobe.open('run')\n"
                   "except ImportError as error: print('_tables' in str(error), '\\n' in str(error))\n")
        self.assertEqual(self.run_program(sys.executable, "-c", program, **MODULES)[0], "False\nTrue False\n")

    def test_a_program_that_is_recorded_reads_its_own_run(self):
        program = ("import hostprobe, os\n"
                   "for i in range(100):\n"
                   "    with hostprobe.region('own'): pass\n"
                   "import pyarrow\n"
                   "print(pyarrow.table(hostprobe.open(os.environ['HOSTPROBE_OUT']).regions).num_rows)\n")
        out, _ = self.record(sys.executable, "-c", program, options=("--mode", "trace"), **MODULES)
        self.assertEqual(out, "100\n")


if __name__ == "__main__":
    probed.main()
