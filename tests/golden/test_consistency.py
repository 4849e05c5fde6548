#!/usr/bin/env python3
"""No report of the golden runs contradicts itself, and a report that does is found out.

test_consistency.py [-v] [Test.test_…]; HOSTPROBE_TEST_BUILD is the build folder
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "diagnosis")]

import documents  # noqa: E402
from consistency import contradictions  # noqa: E402
from documents_runs import make_runs  # noqa: E402

BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", HERE.parents[1] / "build")).absolute()


class Consistency(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.reports = {}
        build = documents.Build(BUILD)
        for run, made in make_runs(build, Path(folder.name)).items():
            if made != "made":
                build.run(made, folder.name)
            done = subprocess.run([build.command, "report", "--json", run], cwd=folder.name, capture_output=True,
                                  env=documents.environment(), text=True)
            if done.returncode == 0:
                cls.reports[run] = json.loads(done.stdout)

    def test_no_report_contradicts_itself(self):
        self.assertGreater(len(self.reports), 30)
        self.assertGreater(sum(len(report["findings"]) for report in self.reports.values()), 20)
        for run, report in self.reports.items():
            with self.subTest(run=run):
                self.assertEqual(contradictions(report), [])

    def test_each_contradiction_is_found(self):
        whole = next(report for report in self.reports.values() if report["findings"] and report["step_share_pct"] and
                     report["findings"][0]["gain_pct"] and report["findings"][0]["cause"] not in ("slow_gpu", "comm_bandwidth"))
        share = whole["findings"][0]["share_pct"]
        for change in ({"share_pct": 101}, {"gain_pct": share + 5}, {"gain_pct": 0.2, "gain_low_pct": 0, "gain_high_pct": 0.4},
                       {"gain_low_pct": 99, "gain_high_pct": 99}, {"text": "It loses 140 % of its steps."}, {"rank": 12345}):
            broken = copy.deepcopy(whole)
            broken["findings"][0].update(change)
            with self.subTest(change=change):
                self.assertNotEqual(contradictions(broken), [])
        broken = copy.deepcopy(whole)
        broken["step_share_pct"]["gpu_bound"] = broken["step_share_pct"].get("gpu_bound", 0) + 3
        self.assertNotEqual(contradictions(broken), [])


if __name__ == "__main__":
    unittest.main()
