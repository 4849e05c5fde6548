#!/usr/bin/env python3
"""`hostprobe job` on the made rows of 4096 ranks x 10 000 steps: what is planted is found, in bounded memory, from less than a gigabyte."""

import json
import os
import resource
import subprocess
import sys
import unittest

import probed
from probed import BUILD

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

from made_rows import PERIOD, SLOW_HOST, MadeJob

RANKS, STEPS = 4096, 10000


class Size(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = probed.made_folder(cls.addClassCleanup)
        cls.made = MadeJob(RANKS, STEPS)
        cls.made.write(cls.data)
        done = subprocess.run([sys.executable, "-m", "hostprobe.job", str(cls.data), "--json"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(BUILD / "lib/hostprobe/python")})
        assert done.returncode == 0, done.stderr
        cls.found = json.loads(done.stdout)

    def test_rows_take_less_than_a_gigabyte(self):
        self.assertLess(sum(path.stat().st_size for path in self.data.rglob("*.parquet")), 10**9)

    def test_the_queries_take_less_than_four_gibibytes(self):
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 4 << 20)

    def test_the_job_is_counted(self):
        whole = self.found["overview"][0]
        self.assertEqual((whole["ranks"], whole["hosts"], whole["steps"]), (RANKS, self.made.hosts, STEPS))

    def test_what_is_planted_is_found(self):
        slow = max(self.found["hosts"], key=lambda row: row["late_ranks"])
        self.assertEqual((slow["host"], slow["cause"]), (self.made.host_name(SLOW_HOST), "cpu_contention"))
        self.assertEqual([row["rank"] for row in self.found["growth"]], [self.made.drifting])
        self.assertEqual(self.found["stalls"][0]["every_steps"], PERIOD)
        self.assertEqual(self.found["stalled_ranks"][0]["rank"], self.made.stalling)


if __name__ == "__main__":
    unittest.main()
