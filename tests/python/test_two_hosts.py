#!/usr/bin/env python3
"""A PyTorch job over gloo on two hosts, which are network namespaces with an agent each: examples/two_hosts.sh."""

import json
import os
import subprocess
import sys
import unittest

import probed
from probed import BUILD, COMMAND, SOURCE

SCRIPT = SOURCE / "examples/two_hosts.sh"


class TwoHosts(unittest.TestCase):
    def setUp(self):
        self.folder = probed.made_folder(self.addCleanup)
        self.environment = {**os.environ, "HOSTPROBE": str(COMMAND), "PYTHON": sys.executable, "TORCH": str(probed.path_of("TORCH_PYTHON")),
                            "PYTHONPATH": str(BUILD / "lib/hostprobe/python")}

    def run_script(self, *words):
        done = subprocess.run([str(word) for word in (SCRIPT, "-o", self.folder / "two", *words)], capture_output=True, text=True, env=self.environment)
        if done.returncode == 3:
            self.skipTest(done.stderr.strip())
        return done

    def namespaces(self):
        return {line.split()[0] for line in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout.splitlines()}

    def test_the_late_rank_of_the_other_host_is_named_with_its_cause(self):
        before = self.namespaces()
        done = self.run_script(SOURCE / "tests/diagnosis/train_cpu.py", "--workers", "0", "--plant", "gc", "--amount", "60", "--rank", "3", "--steps", "40")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 ranks on 2 hosts", done.stdout)
        told = subprocess.run([sys.executable, "-m", "hostprobe.job", self.folder / "two/rows", "--json"], check=True, capture_output=True, text=True,
                              env=self.environment)
        found = json.loads(told.stdout)
        first = found["ranks"][0]
        self.assertEqual((first["rank"], first["host"], first["cause"]), (3, "host-b", "gc_pause"))
        self.assertEqual((found["hosts"][0]["host"], found["missing"]), ("host-b", []))
        self.assertGreaterEqual(found["overview"][0]["steps"], 38)
        self.assertLessEqual(self.namespaces(), before)

    def test_a_job_that_fails_is_said_and_leaves_no_namespace(self):
        before = self.namespaces()
        done = self.run_script(self.folder / "absent.py")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("the job failed", done.stderr)
        self.assertLessEqual(self.namespaces(), before)


if __name__ == "__main__":
    unittest.main()
