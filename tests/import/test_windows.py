#!/usr/bin/env python3
"""Profiles that windows left in a run folder become traces by themselves, once.

test_windows.py [-v] [Test.test_…]; HOSTPROBE_TEST_PROFILES is a folder of real ones, without which theirs are skipped
"""

import gzip
import json
import subprocess
import threading
import unittest
from pathlib import Path

from imported import COMMAND, PROFILES, ImportTest, call, kernel, main, span

START = 1_700_000_000_000_000
EVENTS = [kernel("gemm", START + 20, 30, 42), call("cudaLaunchKernel", START + 10, 3, 42),
          span("ProfilerStep#1", START, 60), span("ProfilerStep#2", START + 60, 60)]


class Windows(ImportTest):
    def setUp(self):
        super().setUp()
        self.run_folder.mkdir()

    def leave(self, name="host-10-7-0001.profile.json", events=EVENTS):
        path = self.run_folder / name
        path.write_text(json.dumps({"traceEvents": events, "baseTimeNanoseconds": 0}))
        return path

    def names(self, pattern):
        return sorted(path.name for path in self.run_folder.glob(pattern))

    def test_the_first_command_joins_it_and_the_next_ones_find_it(self):
        self.leave()
        for command in (("dump", "--json"), ("report", "--json"), ("report",)):
            self.run_program(COMMAND, command[0], self.run_folder, *command[1:])
            self.assertEqual(self.names("*.json"), ["host-10-7-0001.profile.joined.json"])
            self.assertEqual(len(self.names("*.hptrace")), 1)
        [process] = self.report()["processes"]
        self.assertEqual((process["pid"], process["launches"]["kernels"]), (10, 1))

    def test_several_readers_at_a_time_make_one_trace(self):
        for number in range(8):
            self.leave(f"host-10-7-{number:04}.profile.json")
        readers = [threading.Thread(target=subprocess.run, args=([COMMAND, "report", self.run_folder],),
                                    kwargs={"capture_output": True}) for _ in range(4)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        self.assertEqual(len(self.names("*.hptrace")), 8)

    def test_one_that_is_being_written_is_left_alone(self):
        self.leave()
        part = self.run_folder / "host-10-7-0002.part.json"
        part.write_text('{"traceEvents": [')
        self.report()
        self.assertTrue(part.exists())
        self.assertEqual(len(self.names("*.hptrace")), 1)

    def test_one_that_is_damaged_is_said_and_the_others_are_read(self):
        self.leave()
        self.leave("host-10-7-0002.profile.json").write_text("no profile")
        _, said = self.run_program(COMMAND, "report", self.run_folder)
        self.assertIn("a profile window is not joined: ", said)
        self.assertIn("0002.profile.json: nothing of it can be used", said)
        self.assertEqual(self.run_program(COMMAND, "report", self.run_folder)[1], "")

    @unittest.skipUnless(PROFILES, "HOSTPROBE_TEST_PROFILES does not say where real profiles are")
    def test_real_ones_are_joined_as_if_they_were_imported(self):
        for profile in sorted(Path(PROFILES).glob("*.json.gz")):
            with self.subTest(profile=profile.name):
                self.run_folder = self.folder / profile.name
                self.run_folder.mkdir()
                (self.run_folder / "host-1-7-0001.profile.json").write_bytes(gzip.decompress(profile.read_bytes()))
                joined = self.report()
                self.run_folder = self.folder / f"imported-{profile.name}"
                self.bring_in("--kineto", profile)
                imported = self.report()
                for one, other in zip(joined["processes"], imported["processes"], strict=True):
                    self.assertEqual(one["gpu"], other["gpu"])
                    self.assertEqual(one["launches"], other["launches"])


if __name__ == "__main__":
    main()
