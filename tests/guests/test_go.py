#!/usr/bin/env python3
"""A Go program with C in it: goroutines in C functions that wait, preemption by signals, children, a server with its clients,
and its ends, most of them by the bare system call."""

import re
import tempfile
from pathlib import Path

import guest
from guest import GuestTest, program

SOURCE = Path(__file__).resolve().parent / "programs/calls.go"
PARTS = {"locks": 0, "sleeps": 0, "callbacks": 0, "preemption": 0, "signals": 0, "children": 0, "serve": 0, "exits": 9,
         "panics": 2, "faults": 2}


def first_lines(complaints):
    """What went wrong; what follows are stacks, with addresses."""
    return re.sub(r"0x[0-9a-f]+", "N", complaints.partition("\n\n")[0])


class Go(GuestTest):
    @classmethod
    def setUpClass(cls):
        cls.build_folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(cls.build_folder.cleanup)
        cls.calls = Path(cls.build_folder.name) / "calls"

    def setUp(self):
        super().setUp()
        if not self.calls.exists():
            home = self.build_folder.name
            self.run_program(program("go"), "build", "-o", self.calls, SOURCE, GO111MODULE="off", CGO_ENABLED="1",
                             GOCACHE=f"{home}/cache", GOPATH=f"{home}/path", GOFLAGS="")

    def run_part(self, kind, part):
        out, err = self.run_kind(kind, self.calls, part, status=PARTS[part])
        self.assert_silent(err)
        return out, first_lines(err)


for name in PARTS:
    setattr(Go, f"test_{name}", lambda self, name=name: self.check_part(name))

if __name__ == "__main__":
    guest.main()
