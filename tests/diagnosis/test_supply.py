#!/usr/bin/env python3
"""CPUs that are short by the job's own doing: its pool of threads is larger than they are many, or its mask narrower. Each with its twin."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[0] / "python")]

import probed  # noqa: E402
from outside import Quota  # noqa: E402
from probed import ProbedTest, main  # noqa: E402


class Supply(ProbedTest):
    def report_of(self, *options, quota=None):
        quota = quota and Quota(quota)
        if quota and (why := quota.cannot()):
            self.skipTest(why)
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("there is one CPU only")
        command = (probed.COMMAND, "run", "-o", self.run_folder, "--", probed.path_of("TORCH_PYTHON"),
                   HERE / "train_supply.py", *options)
        # Of a program that runs for seconds only.
        settings = {"HOSTPROBE_SAMPLES": "100", "HOSTPROBE_BUDGET": "0"}
        if not quota:
            self.run_program(*command, **settings)
            return self.report()
        # The shell enters the group and becomes the program.
        quota.prepare_group()
        with quota.around(None):
            self.run_program("/bin/sh", "-c", f'echo $$ > {quota.group}/cgroup.procs && exec "$@"', "sh", *command,
                             **settings)
        return self.report()

    def fixes(self, report):
        return {one["fix"]["name"] for one in report["findings"] if "fix" in one}

    def test_one_thread_under_the_same_quota_is_told_nothing_of_pools(self):
        report = self.report_of("--threads", "1", quota=1)
        self.assertNotIn("fewer_threads", self.fixes(report), report["headline"])

    def test_a_pool_that_fits_its_cpus_is_told_nothing_of(self):
        report = self.report_of("--threads", "2")
        self.assertNotIn("fewer_threads", self.fixes(report), report["headline"])

    def test_a_narrowed_mask_is_to_be_widened(self):
        report = self.report_of("--narrow", "main", "--workers", "2")
        told = [one for one in report["findings"] if one.get("fix", {}).get("name") == "widen_mask"]
        self.assertTrue(told, report["headline"])
        evidence = told[0]["evidence"]
        self.assertEqual(evidence["mask_cpus"], 1)
        self.assertGreater(evidence["mask_all_cpus"], 1)
        self.assertIn("narrow_mask (train_supply.py:", evidence["mask_set_from"])
        self.assertIsNotNone(evidence["mask_set_at_ms"])
        self.assertFalse(self.fixes(report) & {"num_workers", "more_cpus"}, report["headline"])

    def test_a_narrowed_mask_of_workers_is_to_be_widened(self):
        report = self.report_of("--narrow", "workers", "--workers", "2")
        told = [one for one in report["findings"] if one.get("fix", {}).get("name") == "widen_mask"]
        self.assertTrue(told, report["headline"])
        self.assertEqual(told[0]["evidence"]["mask_workers"], 2)
        self.assertFalse(self.fixes(report) & {"num_workers", "more_cpus"}, report["headline"])

    def test_masks_that_nobody_narrowed_are_not_told_of(self):
        report = self.report_of("--workers", "2")
        self.assertNotIn("widen_mask", self.fixes(report), report["headline"])


if __name__ == "__main__":
    main()
