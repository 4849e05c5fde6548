#!/usr/bin/env python3
"""A trace that was recorded on aarch64 (under qemu-user, tests/arm64/waits.c) is read here as it always was.

test_stored.py [-v]; HOSTPROBE_TEST_BUILD is the build folder
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", HERE.parents[1] / "build")).absolute()
GOLDEN = HERE.parent / "golden"


def hostprobe(*words):
    with tempfile.TemporaryDirectory(prefix="hostprobe-arm64-") as folder:  # where nothing lies that could be read by chance
        return subprocess.run([BUILD / "bin/hostprobe", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=120).stdout


class Stored(unittest.TestCase):
    def test_its_dump_is_what_it_always_was(self):
        self.assertEqual(hostprobe("dump", GOLDEN / "aarch64.hptrace", "--json"), (GOLDEN / "aarch64.dump.jsonl").read_text())

    def test_its_report_counts_the_same(self):
        [process] = json.loads(hostprobe("report", GOLDEN / "aarch64.hptrace", "--json"))["processes"]
        rows = [json.loads(line) for line in (GOLDEN / "aarch64.dump.jsonl").read_text().splitlines()]
        self.assertEqual((process["records"], process["lost"]), (len(rows), 0))
        # The counter's ticks became times: five sleeps of 3 ms were waited for.
        [wait] = [one for one in process["waits"] if one["function"] == "sem_wait" and one["role"] == "main"]
        self.assertGreater(wait["total_ms"], 15)


if __name__ == "__main__":
    unittest.main()
