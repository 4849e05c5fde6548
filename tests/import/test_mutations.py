#!/usr/bin/env python3
"""Every damage of mutations.py, at the begin, the middle and the end of a profile: what is whole is read, what is not is counted with
the place of the first, and nothing is made up: the traces are those of an intact profile without the events that are lost.

test_mutations.py [-v] [Test.test_…]
test_mutations.py --table [PROFILE.json.gz …]   prints kind × place: events kept, counted, message; by default of a made profile
HOSTPROBE_TEST_PROFILES is a folder of real profiles, without which the tests take only the made one
"""

import json
import re
import sys
import unittest
from pathlib import Path

import mutations
from imported import COMMAND, PROFILES, ImportTest, call, kernel, main, span

START = 1_700_000_000_000_000
REAL = ("alexnet.json.gz", "sampled_rank-0.json.gz")


def made_profile():
    """Calls, kernels and ranges of two threads; as PyTorch writes it: one field a line, the head in front and behind."""
    events = [{"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": START, "args": {"name": "python"}}]
    for n in range(12):
        at = START + 100 * n
        events += [span(f"aten::op{n % 3}", at, 60, category="cpu_op"),
                   call("cudaLaunchKernel", at + 10.5, 5.25, n + 1, tid=10 + n % 2),
                   kernel(f"gemm{n % 3}", at + 20.125, 8.5, n + 1, grid=[4, n + 1, 1], block=[128, 1, 1]),
                   call("cudaStreamSynchronize", at + 40, 7, 100 + n, tid=10 + n % 2)]
    head = '{\n  "schemaVersion": 1,\n  "distributedInfo": {"rank": 3, "world_size": 8},\n  "host_name": "node-1",\n  "traceEvents": [\n  '
    text = head + ",\n  ".join(json.dumps(event, indent=1) for event in events) + '\n  ],\n  "traceName": "made.json",\n  "baseTimeNanoseconds": 1000\n}\n'
    return mutations.split(text.encode())


class Reading:
    """What one import made of a file: rows of its traces, kinds that were counted, and why it was read in part."""

    def __init__(self, test, data, name):
        several = data if isinstance(data, tuple) else (data,)
        paths = [test.folder / f"{n}{name}" for n in range(len(several))]
        for path, text in zip(paths, several):
            path.write_bytes(text)
        test.run_folder = test.folder / "run"
        for old in test.run_folder.glob("*"):
            old.unlink()
        process = test.start(COMMAND, "import", "-o", test.run_folder, "--kineto", *paths)
        _, err = process.communicate()
        self.status, self.kinds, self.message = process.returncode, {}, ""
        for line in err.splitlines():
            words = re.sub(r"^hostprobe: \S*: ", "", line, count=1)
            counted = re.fullmatch(r"(\d+) (.*?)(?:, the first at byte (\d+))?", words)
            if counted:
                self.kinds[counted[2]] = self.kinds.get(counted[2], 0) + int(counted[1])
            else:
                self.message = words
        out, _ = test.run_program(COMMAND, "dump", test.run_folder, "--json") if self.status == 0 else ("", "")
        self.rows = sorted(out.splitlines())

    def count(self, word):
        return sum(count for kind, count in self.kinds.items() if word in kind)

    def beyond(self, other):
        return {kind: count - other.kinds.get(kind, 0) for kind, count in self.kinds.items() if count > other.kinds.get(kind, 0)}


class Table(ImportTest):
    def read(self, data):
        if data not in self.readings:
            self.readings[data] = Reading(self, data, "profile.json")
        return self.readings[data]

    def rows(self, profile):
        """(name, place, damage, what was read of it) of each mutation."""
        self.readings = {}
        self.whole = self.read(profile.text())
        for name, place, damage in mutations.rows(profile):
            yield name, place, damage, Reading(self, damage.bytes, "profile.json")

    def check(self, damage, found):
        expected = self.read(damage.expected)
        self.assertEqual((found.status, expected.status), (0, 0), found.message)
        self.assertEqual(found.rows, expected.rows)
        for word, count in damage.counted.items():
            self.assertEqual(found.count(word) - self.whole.count(word), count, found.kinds)
        for kind in found.beyond(expected):
            self.assertTrue(any(word in kind for word in damage.counted), kind)
        self.assertEqual(bool(found.message), bool(damage.message), found.message)
        self.assertIn(damage.message, found.message)

    def check_all(self, profile):
        for name, place, damage, found in self.rows(profile):
            with self.subTest(name, place=place):
                self.check(damage, found)

    def test_a_made_profile(self):
        self.check_all(made_profile())

    @unittest.skipUnless(PROFILES and Path(PROFILES).is_dir(), "no folder of real profiles: set HOSTPROBE_TEST_PROFILES")
    def test_real_profiles(self):
        for name in REAL:
            with self.subTest(name):
                self.check_all(mutations.split((Path(PROFILES) / name).read_bytes()))


def print_table(paths):
    table = Table()
    table.setUp()
    try:
        for profile in [mutations.split(Path(path).read_bytes()) for path in paths] or [made_profile()]:
            print(f"{'damage':26} {'place':7} {'kept':>12}  {'counted':60} message")
            for name, place, damage, found in table.rows(profile):
                all_events = len(profile.events)
                counted = ", ".join(f"{count} {kind}" for kind, count in found.beyond(table.whole).items())
                print(f"{name:26} {place:7} {all_events - damage.lost:>5} of {all_events:<5} {counted:60} {found.message}")
    finally:
        table.doCleanups()


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table([word for word in sys.argv[1:] if word != "--table"])
    else:
        main()
