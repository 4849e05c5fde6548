#!/usr/bin/env python3
"""`hostprobe job`: what is planted in made step rows is found; runs become step rows that say what their report says; whatever lies in
a folder of rows."""

import json
import math
import os
import shutil
import subprocess
import sys
import unittest

import probed
from probed import BUILD, COMMAND, SOURCE

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import duckdb
import hostprobe
import polars
import pyarrow
import pyarrow.parquet
from hostprobe import job as hostprobe_job
from hostprobe._job_engine import DuckDbEngine, queries
from hostprobe._row_files import folder_of
from hostprobe._step_rows import write_rows
from made_rows import BASE_MS, PER_HOST, PERIOD, SLOW_HOST, MadeJob

SLOW_LAUNCHES = "launch_delay,rank=1,from_ms=0,to_ms=600000,amount=200"


def asked(*words, **changes):
    """By the interpreter of this test, which has what the queries need."""
    return subprocess.run([sys.executable, "-m", "hostprobe.job", *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(BUILD / "lib/hostprobe/python"), **changes})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = probed.made_folder(self.addCleanup)
        self.data = self.folder / "data"

    def document(self, *words):
        done = asked(self.data, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refusal(self, *words, **changes):
        done = asked(*words, **changes)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr


class Planted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = probed.made_folder(cls.addClassCleanup)
        cls.made = MadeJob(64, 600)
        cls.made.write(cls.data)
        done = asked(cls.data, "--json")
        assert done.returncode == 0, done.stderr
        cls.found = json.loads(done.stdout)

    def test_the_job_is_counted(self):
        whole = self.found["overview"][0]
        self.assertEqual((whole["ranks"], whole["hosts"], whole["steps"]), (64, 8, 600))
        self.assertEqual((whole["first_step"], whole["last_step"], whole["begin_ns"]), (0, 599, self.made.begin_ns))
        self.assertAlmostEqual(whole["gpu_hours"], 64 * sum(self.made.step_ms) / 3.6e6, places=6)

    def test_the_slow_host_is_found_with_all_its_ranks_and_its_cause(self):
        worst = max(self.found["hosts"], key=lambda row: row["late_ranks"])
        self.assertEqual((worst["host"], worst["cause"]), (self.made.host_name(SLOW_HOST), "cpu_contention"))
        self.assertEqual((worst["ranks"], worst["late_ranks"]), (PER_HOST, PER_HOST))

    def test_its_ranks_are_late_since_the_step_at_which_it_became_slow(self):
        since = {row["rank"]: row["since_step"] for row in self.found["since"]}
        for rank in range(SLOW_HOST * PER_HOST, (SLOW_HOST + 1) * PER_HOST):
            self.assertEqual(since[rank], self.made.slow_since)

    def test_the_drifting_rank_is_the_only_one_that_grows(self):
        self.assertEqual([row["rank"] for row in self.found["growth"]], [self.made.drifting])
        self.assertAlmostEqual(self.found["growth"][0]["grown_ms"], 30, delta=0.5)
        self.assertEqual(next(row["cause"] for row in self.found["ranks"] if row["rank"] == self.made.drifting), "gc_pause")

    def test_the_stall_is_found_with_its_period_its_length_and_its_rank(self):
        stalls = self.found["stalls"][0]
        self.assertEqual((stalls["stalls"], stalls["every_steps"], stalls["first_step"]), (6, PERIOD, PERIOD))
        self.assertAlmostEqual(stalls["beyond_ms"], BASE_MS, delta=0.1 * BASE_MS)
        self.assertEqual(self.found["stalled_ranks"][0]["rank"], self.made.stalling)
        self.assertEqual(next(row["cause"] for row in self.found["ranks"] if row["rank"] == self.made.stalling), "file_io")

    def test_gpu_hours_are_those_of_all_ranks_that_wait(self):
        rows = {row["rank"]: row for row in self.found["ranks"]}
        late_ms = sum(30.0 * step / 599 for step in range(600))
        self.assertAlmostEqual(rows[self.made.drifting]["gpu_hours"], late_ms * 64 / 3.6e6, delta=0.01)

    def test_nobody_else_is_named_since_a_step(self):
        planted = {*range(SLOW_HOST * PER_HOST, (SLOW_HOST + 1) * PER_HOST), self.made.drifting, self.made.stalling}
        self.assertLessEqual({row["rank"] for row in self.found["since"]}, planted)
        self.assertEqual(self.found["missing"], [])

    def test_a_span_before_all_of_it_has_none_of_it(self):
        done = asked(self.data, "--json", "--steps", "1-90")
        found = json.loads(done.stdout)
        self.assertEqual((found["overview"][0]["first_step"], found["overview"][0]["last_step"]), (1, 90))
        self.assertEqual((found["stalls"], [row for row in found["hosts"] if row["late_ranks"] > 1]), ([], []))

    def test_the_map_has_the_late_where_they_are(self):
        cells = {(row["grid_row"], row["grid_column"]): row["late_pct"] for row in self.found["grid"]}
        self.assertEqual(len(cells), 64 * 128)
        self.assertGreater(cells[SLOW_HOST * PER_HOST, 127], 0.5)
        self.assertGreater(cells[self.made.stalling, PERIOD * 128 // 600], 40)

    def test_text_and_page_have_what_the_document_has(self):
        page = self.data / "page.html"
        done = asked(self.data, "--html", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        for shown in (done.stdout, page.read_text()):
            for words in (self.made.host_name(SLOW_HOST), "cpu_contention", f"step {self.made.slow_since}", "gc_pause", f"every {PERIOD} steps"):
                self.assertIn(words, shown)
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)

    def test_polars_reads_the_files_alone(self):
        rows = polars.scan_parquet(self.data / "**/*.parquet", hive_partitioning=True).group_by("host").agg(polars.col("late_ms").sum())
        worst = rows.sort("late_ms", descending=True).collect()["host"][0]
        self.assertEqual(worst, self.found["hosts"][0]["host"])

    def test_pyarrow_reads_the_files_alone(self):
        import pyarrow.dataset
        data = pyarrow.dataset.dataset(self.data, partitioning="hive", exclude_invalid_files=True)
        self.assertEqual(data.count_rows(), 64 * 600)


class OfRuns(Folder):
    @classmethod
    def setUpClass(cls):
        cls.path = probed.made_folder(cls.addClassCleanup) / "run"
        subprocess.run([COMMAND, "run", "-o", cls.path, "--mode", "trace", "--budget", "0", "--simgpu", "2", "--job", "my job/1", "--",
                        BUILD / "examples/train_parallel", "--ranks", "2", "--steps", "30", "--pipeline", "1"],
                       check=True, capture_output=True, env={**os.environ, "SIMNODE_FAULT": SLOW_LAUNCHES, "SIMNODE_HOSTS": "2"})
        cls.run_ = hostprobe.open(cls.path)
        cls.rows = pyarrow.table(cls.run_.step_rows).to_pylist()

    def lost(self, row):
        return {name[5:-3]: value for name, value in row.items() if name.startswith("lost_") and name.endswith("_ms")}

    def test_the_lost_and_the_waited_time_of_a_row_are_its_step(self):
        self.assertEqual({row["rank"] for row in self.rows}, {0, 1})
        for row in self.rows:
            self.assertAlmostEqual(sum(self.lost(row).values()) + row["waited_ms"], row["ms"], places=6)

    def test_rows_added_up_are_what_the_report_says(self):
        lost = {}
        for row in self.rows:
            for cause, ms in self.lost(row).items():
                lost[cause] = lost.get(cause, 0) + ms
            lost["late"] = lost.get("late", 0) + row["late_ms"]
        whole = sum(row["ms"] for row in self.rows)
        shares = self.run_.report()["step_share_pct"]
        self.assertAlmostEqual(sum(shares.values()), 100, places=3)
        # What a rank waited for is charged to the cause on the other: own time by cause, with what was waited for, is the report's.
        self.assertAlmostEqual(sum(lost.values()), whole, places=3)
        for cause, pct in shares.items():
            self.assertLessEqual(100 * lost[cause] / whole, pct + 1e-3, cause)

    def test_lateness_is_what_the_other_rank_waited(self):
        for step in {row["step"] for row in self.rows}:
            waited, late = ({row["rank"]: row[column] for row in self.rows if row["step"] == step} for column in ("waited_ms", "late_ms"))
            self.assertAlmostEqual(waited[0], late[1], places=6)
            self.assertAlmostEqual(waited[1], late[0], places=6)

    def test_job_and_time_are_those_of_the_run(self):
        self.assertEqual({row["job"] for row in self.rows}, {"my job/1"})
        self.assertEqual(self.run_.report()["run"]["job_id"], "my job/1")
        begin_ns = self.run_.start_realtime_ns
        for row in self.rows:
            self.assertTrue(begin_ns <= row["begin_ns"] <= begin_ns + 1e9 * self.run_.report()["run"]["wall_s"])

    def test_rows_are_as_their_schema_says(self):
        schema = json.loads(subprocess.run([COMMAND, "schema", "step_rows"], check=True, capture_output=True, text=True).stdout)
        self.assertEqual(set(schema["properties"]), set(self.rows[0]))

    def test_writing_a_run_again_replaces_its_files_and_another_lies_beside_it(self):
        for _ in range(2):
            self.assertEqual(hostprobe.to_step_rows(self.path, self.data), len(self.rows))
        files = [str(path.relative_to(self.data)) for path in self.data.rglob("*.parquet")]
        self.assertEqual(len(files), 2, files)
        for file in files:
            self.assertTrue(file.startswith("job=my job%2F1/date="), file)
        self.assertEqual(self.document()["job"], "my job/1")
        self.assertEqual(self.document()["overview"][0]["ranks"], 2)

    def test_a_run_folder_needs_no_step_in_between(self):
        done = asked(self.path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual((found["overview"][0]["ranks"], found["overview"][0]["steps"]), (2, len({row["step"] for row in self.rows})))

    def test_the_command_becomes_the_package(self):
        python = self.folder / "python3"
        python.symlink_to(sys.executable)
        wrapper = self.folder / "bin"
        wrapper.mkdir()
        (wrapper / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (wrapper / "python3").chmod(0o755)
        done = subprocess.run([COMMAND, "job", self.path, "--json"], capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{wrapper}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["job"], "my job/1")

    def test_without_python_or_without_duckdb_one_line_says_so(self):
        done = subprocess.run([COMMAND, "job", self.path], capture_output=True, text=True, env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        (self.folder / "duckdb.py").write_text("raise ImportError('No module named duckdb')")
        said = self.refusal(self.path, PYTHONPATH=f"{self.folder}:{BUILD / 'lib/hostprobe/python'}")
        self.assertIn("pip install", said)

    def test_without_pyspark_one_line_says_so(self):
        (self.folder / "pyspark.py").write_text("raise ImportError('No module named pyspark')")
        said = self.refusal(self.path, "--engine", "spark", PYTHONPATH=f"{self.folder}:{BUILD / 'lib/hostprobe/python'}")
        self.assertIn("pyspark", said)


class BadInput(Folder):
    def made(self, **changes):
        made = MadeJob(16, 40, **changes)
        made.write(self.data)
        return made

    def test_nothing_there(self):
        self.assertIn("there is no", self.refusal(self.folder / "absent"))
        self.data.mkdir()
        self.assertIn("neither step rows", self.refusal(self.data))
        (self.data / "a.txt").write_text("no rows")
        self.assertIn("neither step rows", self.refusal(self.data / "a.txt"))

    def test_files_that_are_cut_off_or_still_written_are_left_out_and_said(self):
        self.made()
        files = sorted(self.data.rglob("*.parquet"))
        self.assertEqual(len(files), 2)
        files[1].write_bytes(files[1].read_bytes()[:-100])
        (files[0].parent / ".x.parquet.1.part").write_bytes(b"PAR1")
        (files[0].parent / "empty.parquet").write_bytes(b"")
        done = asked(self.data, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 files", done.stderr)
        self.assertEqual(json.loads(done.stdout)["overview"][0]["ranks"], 8)

    def test_a_file_that_is_damaged_inside_is_one_line(self):
        self.made()
        file = sorted(self.data.rglob("*.parquet"))[0]
        file.write_bytes(b"PAR1" + b"\xff" * 1000 + b"PAR1")
        self.refusal(self.data)

    def test_pipes_and_links_are_not_opened(self):
        self.made()
        place = next(self.data.rglob("*.parquet")).parent
        os.mkfifo(place / "pipe.parquet")
        (place / "link.parquet").symlink_to("/etc/passwd")
        self.assertEqual(self.document()["overview"][0]["ranks"], 16)

    def test_columns_that_a_newer_version_added_and_older_files_without_one(self):
        self.made()
        file = sorted(self.data.rglob("*.parquet"))[0]
        rows = pyarrow.parquet.ParquetFile(file).read()
        rows = rows.append_column("lost_new_cause_ms", pyarrow.array([1.0] * rows.num_rows)).drop_columns(["own_us", "lost_gc_pause_ms"])
        pyarrow.parquet.write_table(rows.append_column("elsewhere", pyarrow.array(["x"] * rows.num_rows)), file)
        found = self.document()
        self.assertEqual(found["overview"][0]["ranks"], 16)
        self.assertIn("new_cause", {row["cause"] for row in found["causes"]})

    def test_rows_of_something_else_are_refused(self):
        self.data.mkdir()
        pyarrow.parquet.write_table(pyarrow.table({"rank": [1], "a": [2]}), self.data / "a.parquet")
        self.assertIn("no step rows", self.refusal(self.data))

    def test_names_of_jobs_and_hosts_are_never_paths_markup_or_sql(self):
        for job in ("../../up", "<script>alert(1)</script>", "a'; drop table step_rows; --", "back\\slash", "\x1b[31mred", "4711"):
            made = MadeJob(8, 20, job=job)
            made.host_name = lambda host: "../<b>'h\\"
            made.write(self.data)
            page = self.folder / "page.html"
            done = asked(self.data, "--job", job, "--html", page)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("\x1b", done.stdout)
            for markup in ("<script", "<b>'"):
                self.assertNotIn(markup, page.read_text())
            self.assertEqual(self.document("--job", job)["job"], job)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["data", "page.html"])
        self.assertEqual(len(list(self.data.iterdir())), 6)

    def test_a_job_that_looks_like_a_number_stays_text(self):
        MadeJob(8, 20, job="007").write(self.data)
        self.assertEqual(self.document("--job", "007")["jobs"], ["007"])

    def test_unknown_jobs_steps_and_engines(self):
        self.made()
        self.assertIn("4711", self.refusal(self.data, "--job", "other"))
        self.assertIn("no steps", self.refusal(self.data, "--steps", "500-600"))
        for words in (("--steps", "9-3"), ("--steps", "x"), ("--engine", "trino")):
            self.assertEqual(asked(self.data, *words).returncode, 2)

    def test_ranks_that_are_missing_and_ranks_that_ended_early_are_named(self):
        made = MadeJob(24, 40)
        for host in range(3):
            rows = made.of_host(host)
            if host == 1:
                rows = rows.filter(pyarrow.compute.invert(pyarrow.compute.is_in(rows["rank"], pyarrow.array([9, 10, 11], pyarrow.int32()))))
            if host == 2:
                rows = rows.filter(pyarrow.compute.or_(pyarrow.compute.not_equal(rows["rank"], 20), pyarrow.compute.less(rows["step"], 10)))
            write_rows(rows, self.data, "1")
        self.assertEqual(self.document()["missing"], [{"first_rank": 9, "last_rank": 11, "last_step": None},
                                                      {"first_rank": 20, "last_rank": 20, "last_step": 9}])

    def test_two_jobs_on_one_host_are_two_and_the_newest_is_shown(self):
        self.made(job="old")
        self.made(job="new", begin_ns=1_795_500_000_000_000_000)
        found = self.document()
        self.assertEqual((found["job"], found["jobs"]), ("new", ["old", "new"]))
        self.assertEqual([row["job"] for row in found["history"]], ["old", "new"])

    def test_a_job_that_was_started_again_under_its_id_keeps_both(self):
        self.made()
        self.made(begin_ns=1_795_400_100_000_000_000)
        self.assertEqual(self.document()["overview"][0]["ranks"], 16)
        self.assertEqual(len(list(self.data.rglob("*.parquet"))), 4)

    def test_rows_without_a_rank_or_without_losses(self):
        self.data.mkdir()
        rows = {"job": ["j"] * 3, "host": ["h"] * 3, "step": [0, 1, 2], "begin_ns": [1, 2, 3], "ms": [1.0, 2.0, 3.0]}
        pyarrow.parquet.write_table(pyarrow.table(rows), self.data / "a.parquet")
        found = self.document()
        self.assertEqual((found["overview"][0]["steps"], found["overview"][0]["waited_pct"], found["ranks"]), (3, None, []))
        self.assertEqual(asked(self.data, "--html", self.folder / "page.html").returncode, 0)

    def test_many_small_files(self):
        made = MadeJob(8, 200)
        rows = made.of_host(0)
        place = self.data / folder_of("job", "many") / "date=2026-01-01" / "host=h"
        place.mkdir(parents=True)
        for begin in range(0, rows.num_rows, 4):
            pyarrow.parquet.write_table(rows.slice(begin, 4).drop_columns(["job", "host"]), place / f"{begin}.parquet")
        self.assertEqual(self.document()["overview"][0]["steps"], 200)

    def test_every_query_says_what_it_answers(self):
        for name, sql in queries().items():
            self.assertTrue(sql.startswith("-- ") and len(sql.splitlines()[0]) > 30, name)


if __name__ == "__main__":
    unittest.main()
