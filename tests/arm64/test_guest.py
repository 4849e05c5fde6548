#!/usr/bin/env python3
"""What was recorded in the machine of arm64 (guest.sh) is read on this machine as there, and says what a recording of this one says.

test_guest.py FOLDER [-v]: FOLDER is what guest_tests.sh filled. HOSTPROBE_TEST_BUILD is this machine's own build (default: build/)
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", HERE.parents[1] / "build")).absolute()
FOLDER = Path()


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def hostprobe(*words):
    return run(BUILD / "bin/hostprobe", *words)


def document(text):
    """A report, but for the build that made it. Only the machine itself has its libc, and knows the functions in it."""
    named = re.sub(r'[^"]+ \((lib(c|stdc\+\+)\.so\.6)\)|(lib(c|stdc\+\+)\.so\.6)\+0x[0-9a-f]+', r"\1\3", text)
    return {**json.loads(named), "hostprobe": None}


def rows(text):
    return [document(line) for line in text.splitlines()]


def without_offset(text):
    """main+0xc4d (train_loop) is main (train_loop)."""
    return re.sub(r"\+0x[0-9a-f]+", "", text)


def said_of(report):
    """What a report of the demo says, but for times, ids and what follows from them."""
    [process] = report["processes"]
    launches, syncs, gpu = process["launches"], process["syncs"], process["gpu"]
    first = report["findings"][0]  # what an emulator makes of the rest depends on what else this machine does
    return {
        "verdict": report["verdict"]["word"],
        "finding": [first["cause"], first["thread"], first["site"]["function"], first["site"]["library"], first["evidence"]["held_by"],
                    without_offset(first["evidence"]["held_in"])],
        "its stack": [without_offset(frame) for frame in first["site"]["stack"]],
        "steps": [report["steps"][name] for name in ("source", "detected_by", "count")],
        "command": process["command"].split(" ", 1)[1],
        "end": [process["end"]["how"], process["end"]["status"]],
        "lost": process["lost"],
        "threads": Counter((thread["name"], thread["role"], thread.get("type")) for thread in process["threads"]),
        "scheduler": process["scheduler"]["source"],
        "launches": [launches["by_function"], launches["kernels"], launches["captured"]],
        "syncs": syncs["by_function"],
        "gpu": [gpu["source"], gpu["kernels"], gpu["copies"], gpu["fills"]],
    }


class Guest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.there = document((FOLDER / "demo.json").read_text())

    def test_this_machine_reads_the_same(self):
        self.maxDiff = None
        self.assertEqual(document(hostprobe("report", FOLDER / "demo", "--json")), self.there)
        self.assertEqual(rows(hostprobe("dump", FOLDER / "demo", "--json")), rows((FOLDER / "demo.jsonl").read_text()))

    def test_it_says_what_a_recording_of_this_machine_says(self):
        with tempfile.TemporaryDirectory(prefix="hostprobe-guest-") as folder:
            said = run(BUILD / "bin/hostprobe", "run", "-o", f"{folder}/demo", "--simgpu", "1", "--", BUILD / "examples/train_loop",
                       "--steps", "30", "--kernels", "20", "--load-us", "200000")
            here = document(hostprobe("report", f"{folder}/demo", "--json"))
        self.maxDiff = None
        self.assertEqual(said_of(self.there), said_of(here))
        checksums = [re.findall(r"^checksum .*", text, re.M) for text in (said, (FOLDER / "demo.said").read_text())]
        self.assertEqual(len(checksums[0]), 1)
        self.assertEqual(*checksums)


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop(1)).absolute()
    unittest.main()
