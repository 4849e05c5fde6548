#!/usr/bin/env python3
"""Java: threads, fork and join, monitors, parking, a server, children, the faults that the virtual machine itself catches, and
each way to end."""

import re
import signal
import tempfile
from pathlib import Path

import guest
from guest import GuestTest, program

SOURCE = Path(__file__).resolve().parent / "programs/Rooms.java"
PARTS = {"threads": 0, "forkjoin": 0, "locks": 0, "parking": 0, "serve": 0, "faults": 0, "children": 0, "exits": 7, "halts": 8,
         "throwing": 1, "terminated": 128 + signal.SIGTERM}


def without_stacks(out):
    """What SIGQUIT prints between the program's own lines: all threads, with addresses."""
    return re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\nFull thread dump.*?(?=^shutdown)", "all stacks\n", out, flags=re.S | re.M)


class Java(GuestTest):
    @classmethod
    def setUpClass(cls):
        cls.classes = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(cls.classes.cleanup)

    def setUp(self):
        super().setUp()
        if not (Path(self.classes.name) / "Rooms.class").exists():
            self.run_program(program("javac"), "-d", self.classes.name, SOURCE)

    def run_part(self, kind, part):
        out, err = self.run_kind(kind, program("java"), "-Xmx256m", "-cp", self.classes.name, "Rooms", part, status=PARTS[part])
        self.assert_silent(err)
        return without_stacks(out), err


for name in PARTS:
    setattr(Java, f"test_{name}", lambda self, name=name: self.check_part(name, "java"))

if __name__ == "__main__":
    guest.main()
