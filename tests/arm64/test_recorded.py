#!/usr/bin/env python3
"""A program of aarch64 is recorded under qemu-user, and both builds of the command say the same of it.

test_recorded.py [-v]; HOSTPROBE_TEST_BUILD: scripts that run the build for aarch64, HOSTPROBE_TEST_EMULATOR, HOSTPROBE_TEST_PROGRAM,
HOSTPROBE_TEST_NATIVE: the command of this machine's own build; what compares with it is left out where that is missing
"""

import json
import os
import shlex
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HOSTPROBE_TEST_BUILD"])
EMULATOR = shlex.split(os.environ["HOSTPROBE_TEST_EMULATOR"])
PROGRAM = os.environ["HOSTPROBE_TEST_PROGRAM"]
NATIVE = Path(os.environ["HOSTPROBE_TEST_NATIVE"])
HEADER_BYTES, AARCH64 = 4096, 1


def run(*command, status=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if done.returncode != status:
        raise RuntimeError(f"{command} ended with {done.returncode}, not {status}: {done.stdout}{done.stderr}")
    return done.stdout


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="hostprobe-arm64-")
        cls.run_folder = Path(cls.folder.name) / "run"
        settings = {"LD_PRELOAD": BUILD / "lib/libhostprobe.so", "HOSTPROBE_TARGET": "all", "HOSTPROBE_MODE": "trace",
                    "HOSTPROBE_OUT": cls.run_folder}
        given = [word for name, value in settings.items() for word in ("-E", f"{name}={value}")]
        cls.said = run(*EMULATOR, *given, PROGRAM, status=5)
        cls.alone = run(*EMULATOR, PROGRAM, status=5)
        cls.rows = [json.loads(line) for line in run(BUILD / "bin/hostprobe", "dump", cls.run_folder, "--json").splitlines()]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rows_of(self, function):
        return [row for row in self.rows if row.get("function") == function]

    def test_the_program_says_the_same(self):
        self.assertEqual(self.said, self.alone)

    def test_waits_and_wakes_are_recorded(self):
        waits = self.rows_of("sem_wait")
        self.assertGreaterEqual(len(waits), 5)
        self.assertTrue(any(wait["duration_ns"] > 1e6 for wait in waits), waits)
        self.assertEqual(len(self.rows_of("pthread_create")), 1)
        self.assertEqual(len(self.rows_of("waitpid")), 1)

    def test_a_child_of_vfork_records_nothing(self):
        self.assertEqual(len(list(self.run_folder.glob("*.hptrace"))), 1)
        self.assertEqual(len({row["pid"] for row in self.rows}), 1)

    def test_the_trace_says_its_architecture(self):
        [trace] = self.run_folder.glob("*.hptrace")
        document = json.loads(run(BUILD / "bin/hostprobe", "report", self.run_folder, "--json"))
        self.assertEqual(document["processes"][0]["lost"], 0)
        # FileHeader::architecture, behind texts and losses; see format/file.h.
        at = struct.calcsize("=QIIQIIIIiiiiQQ") + 3 * 24 + 9 * 8 + 4 * 4 + 16 + 64 + 40 + 24 + 48 + 256 + 1024 + 512 + 8 * 8 + 4
        self.assertEqual(struct.unpack_from("=I", trace.read_bytes()[:HEADER_BYTES], at), (AARCH64,))

    def test_this_machine_reads_the_same(self):
        if not NATIVE.exists():
            self.skipTest(f"there is no {NATIVE}: build preset release")
        for words in (("dump", self.run_folder, "--json"), ("dump", self.run_folder), ("report", self.run_folder, "--json")):
            ours, theirs = (run(command, *words) for command in (NATIVE, BUILD / "bin/hostprobe"))
            if "report" in words:
                ours, theirs = ({**json.loads(text), "hostprobe": None} for text in (ours, theirs))
            self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main()
