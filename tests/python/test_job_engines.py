#!/usr/bin/env python3
"""Every query of `hostprobe job` on DuckDB and on Spark: the same rows. ClickHouse reads the files without anything of ours."""

import math
import subprocess
import sys
import unittest

import probed
from probed import BUILD

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import pyarrow
from hostprobe import job as hostprobe_job
from hostprobe._job_engine import queries
from hostprobe._step_rows import write_rows
from made_rows import MadeJob


class Engines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = probed.made_folder(cls.addClassCleanup)
        cls.made = MadeJob(16, 300)
        cls.made.write(cls.data)
        cls.write_in_parts(MadeJob(16, 40, job="in parts", begin_ns=1_795_200_000_000_000_000))
        MadeJob(8, 50, job="it's\\other", begin_ns=1_795_300_000_000_000_000).write(cls.data)
        cls.duckdb, _ = hostprobe_job.open_engine(str(cls.data))
        cls.spark, _ = hostprobe_job.open_engine(str(cls.data), "local[2]")
        cls.addClassCleanup(cls.spark.close)

    @classmethod
    def write_in_parts(cls, made):
        """As each host would write it alone: what its ranks waited was for ranks that it does not know."""
        for host in range(made.hosts):
            rows = made.of_host(host)
            none = pyarrow.array([0.0] * rows.num_rows)
            for name, values in (("lost_waits_for_rank_ms", rows["waited_ms"]), ("waited_ms", none), ("late_ms", none)):
                rows = rows.set_column(rows.schema.get_field_index(name), name, values)
            write_rows(rows.append_column("ranks", pyarrow.array([8] * rows.num_rows, pyarrow.uint64())), cls.data, str(made.begin_ns))

    def test_rows_of_hosts_that_knew_their_own_ranks_are_joined_alike(self):
        for engine in (self.duckdb, self.spark):
            engine.choose("in parts")
        found = dict(self.compare())
        self.assertEqual(found["ranks"][0]["rank"], 13)  # the drifting one
        self.assertEqual(found["causes"][0]["cause"], "gpu_bound")

    def assert_same(self, one, other, where):
        if isinstance(one, float) and isinstance(other, float):
            self.assertTrue(math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9), f"{where}: {one} and {other}")
        else:
            self.assertEqual(one, other, where)

    def compare(self):
        for name, sql in queries().items():
            rows, others = self.duckdb.rows(sql), self.spark.rows(sql)
            self.assertEqual(len(rows), len(others), name)
            for number, (row, other) in enumerate(zip(rows, others)):
                self.assertEqual(list(row), list(other), name)
                for column in row:
                    self.assert_same(row[column], other[column], f"{name}, row {number}, {column}")
            yield name, rows

    def test_every_query_gives_the_same_rows_on_both(self):
        self.assertEqual(self.duckdb.jobs(), self.spark.jobs())
        for engine in (self.duckdb, self.spark):
            engine.choose(self.made.job)
        empty = {name for name, rows in self.compare() if not rows}
        self.assertEqual(empty, {"missing"})

    def test_so_it_is_of_a_span_and_of_a_job_with_an_odd_name(self):
        for engine in (self.duckdb, self.spark):
            engine.choose("it's\\other", (3, 40))
        found = dict(self.compare())
        self.assertEqual(found["overview"][0]["steps"], 38)

    def test_clickhouse_reads_the_files_alone(self):
        import chdb
        said = str(chdb.query(f"select count(), round(sum(ms)) from file('{self.data}/job={self.made.job}/*/*/*.parquet', Parquet)", "CSV"))
        rows, total = said.strip().split(",")
        self.assertEqual(int(rows), 16 * 300)
        self.assertEqual(float(total), round(16 * sum(self.made.step_ms)))


if __name__ == "__main__":
    unittest.main()
