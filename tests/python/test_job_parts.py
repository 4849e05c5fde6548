#!/usr/bin/env python3
"""Step rows that each host made of its own ranks, joined: they name the rank, the cause and the host that the analysis of all ranks names."""

import os
import shutil
import subprocess
import sys
import unittest

import probed
from probed import BUILD, COMMAND, SOURCE

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import hostprobe
import pyarrow
from hostprobe import job as hostprobe_job
from hostprobe._step_rows import write_rows

class InParts(unittest.TestCase):
    """A job on this machine; its ranks are dealt out to hosts afterwards, so that all of them can be analysed together as well."""

    ranks_of_a_host = 2

    def setUp(self):
        self.folder = probed.made_folder(self.addCleanup)

    def host_of(self, rank):
        return f"n{rank // self.ranks_of_a_host}"

    def record(self, *command, options=(), **changes):
        done = subprocess.run([str(word) for word in (COMMAND, "run", "-o", self.folder / "run", "--job", "dealt", "--mode", "trace", *options, "--", *command)],
                              capture_output=True, text=True, env={**os.environ, **changes})
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.run_ = hostprobe.open(self.folder / "run")
        self.ranks = self.run_.report()["run"]["ranks"]

    def add(self, run, data):
        rows = pyarrow.table(run.step_rows)
        hosts = [self.host_of(rank) for rank in rows["rank"].to_pylist()]
        write_rows(rows.set_column(rows.schema.get_field_index("host"), "host", pyarrow.array(hosts)), self.folder / data, str(run.start_realtime_ns))
        return rows

    def answers(self, data):
        engine, notes = hostprobe_job.open_engine(str(self.folder / data))
        self.assertEqual(notes, [])
        self.addCleanup(engine.close)
        engine.choose("dealt")
        self.rows = engine.rows("select * from step_rows")
        return {name: engine.rows(sql) for name, sql in hostprobe_job.queries().items()}

    def both(self):
        """The answers by the analysis of all ranks, and by the rows that each host made alone."""
        self.add(self.run_, "whole")
        ranks = {path.name: rank for path, rank in self.traces()}
        for host in {self.host_of(rank) for rank in ranks.values()}:
            own = self.folder / host
            own.mkdir()
            for path, rank in self.traces():
                if self.host_of(rank) == host:
                    shutil.copy(path, own)
            rows = self.add(hostprobe.open(own), "parts")
            self.assertEqual(set(rows["ranks"].to_pylist()), {self.ranks_of_a_host})
            self.assertEqual(rows.filter(pyarrow.compute.is_valid(rows["late_ms"])).num_rows, rows.num_rows)
        return self.answers("whole"), self.answers("parts")

    def traces(self):
        from hostprobe import _tables
        from pathlib import Path
        return [(Path(path), rank) for path, _, rank in _tables.traces(self.run_._opened) if rank is not None]

    def assert_same_first(self, whole, parts, rank, cause):
        for found in (whole, parts):
            self.assertEqual(found["ranks"][0]["rank"], rank)
            self.assertIn(found["ranks"][0]["cause"], (cause, "cpu_contention"), "these ranks have two CPUs, and perhaps neighbours")
            self.assertEqual(found["hosts"][0]["host"], self.host_of(rank))
        self.assertEqual(parts["ranks"][0]["cause"], whole["ranks"][0]["cause"])

    def assert_same_steps(self, whole, parts):
        for key in ("ranks", "hosts", "steps", "first_step", "last_step"):
            self.assertEqual(parts["overview"][0][key], whole["overview"][0][key], key)

    def test_of_pytorch_with_gloo(self):
        for rank, kind, amount, cause in ((3, "gc", 100, "gc_pause"), (0, "sleep", 60, "host_work")):
            with self.subTest(kind):
                self.folder = probed.made_folder(self.addCleanup)
                self.record(probed.path_of("TORCH_PYTHON"), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4",
                            SOURCE / "tests/diagnosis/train_cpu.py", "--workers", "0", "--plant", kind, "--amount", amount, "--rank", rank, "--steps", "40")
                whole, parts = self.both()
                self.assert_same_steps(whole, parts)
                self.assert_same_first(whole, parts, rank, cause)
                late, joined = whole["ranks"][0]["late_ms_per_step"], parts["ranks"][0]["late_ms_per_step"]
                self.assertAlmostEqual(joined / late, 1, delta=0.4)
                waited, joined = whole["overview"][0]["waited_pct"], parts["overview"][0]["waited_pct"]
                self.assertAlmostEqual(joined / waited, 1, delta=0.4)
                for row in self.rows:  # it adds up as a report does
                    lost = sum(value or 0 for name, value in row.items() if name.startswith("lost_") and name.endswith("_ms"))
                    self.assertAlmostEqual(lost + row["waited_ms"], row["ms"], delta=0.05)

    def test_of_simulated_ranks_with_tensor_parallel_ranks_on_a_host(self):
        self.record(BUILD / "examples/train_parallel", "--ranks", "8", "--tensor", "2", "--pipeline", "1", "--steps", "30", options=("--simgpu", "8"),
                    SIMNODE_FAULT="launch_delay,rank=3,amount=300")
        whole, parts = self.both()
        self.assert_same_steps(whole, parts)
        self.assert_same_first(whole, parts, 3, "launch_bound")

    def test_of_64_simulated_ranks_on_8_hosts(self):
        self.ranks_of_a_host = 8
        self.record(BUILD / "examples/train_parallel", "--ranks", "64", "--tensor", "2", "--pipeline", "1", "--layers", "2", "--kernels", "5", "--steps", "20",
                    options=("--simgpu", "64"), SIMNODE_FAULT="launch_delay,rank=37,amount=5000")
        whole, parts = self.both()
        self.assert_same_steps(whole, parts)
        self.assert_same_first(whole, parts, 37, "launch_bound")

    def test_a_step_that_a_host_has_no_row_of_is_not_joined(self):
        rows = []
        for rank in range(4):
            for step in range(10):
                late = rank == 1
                rows.append({"job": "dealt", "host": self.host_of(rank), "rank": rank, "step": step, "begin_ns": step * 10**8, "ms": 100.0, "type": "train",
                             "lost_gpu_bound_ms": 40.0, "lost_gc_pause_ms": 50.0 if late else 0.0, "lost_waits_for_rank_ms": 10.0 if late else 60.0,
                             "lost_unknown_ms": 0.0, "waited_ms": 0.0, "late_ms": 0.0, "ranks": 2})
        rows = [row for row in rows if not (row["rank"] == 3 and row["step"] >= 8)]
        write_rows(pyarrow.Table.from_pylist(rows), self.folder / "parts", "1")
        found = self.answers("parts")
        self.assertEqual(found["ranks"][0]["rank"], 1)
        for row in self.rows:
            if row["step"] >= 8:
                self.assertEqual((row["late_ms"], row["waited_ms"]), (None, 0.0))
            else:
                self.assertAlmostEqual(row["late_ms"], 50 if row["rank"] == 1 else 0)
                self.assertAlmostEqual(row["waited_ms"], 0 if row["rank"] == 1 else 50)
                self.assertAlmostEqual(row["lost_gpu_bound_ms"], 50)
        self.assertEqual([(row["first_rank"], row["last_step"]) for row in found["missing"]], [(3, 7)])


if __name__ == "__main__":
    unittest.main()
