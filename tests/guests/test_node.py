#!/usr/bin/env python3
"""node: its event loop, thread pool, workers, child processes, a server with its clients, and each way to end."""

import re
import signal
from pathlib import Path

import guest
from guest import GuestTest, program

SCRIPT = Path(__file__).resolve().parent / "programs/loops.js"
PARTS = {"order": 0, "pool": 0, "workers": 0, "children": 0, "serve": 0, "signals": -signal.SIGTERM, "exits": 42, "throws": 1,
         "aborts": -signal.SIGABRT}


class Node(GuestTest):
    def run_part(self, kind, part):
        out, err = self.run_kind(kind, program("node"), SCRIPT, part, status=PARTS[part])
        self.assert_silent(err)
        return out, re.sub(r"0x[0-9a-f]+|\d+", "N", err) if part != "aborts" else ""  # that one prints addresses of its stack


for name in PARTS:
    setattr(Node, f"test_{name}", lambda self, name=name: self.check_part(name, "node"))

if __name__ == "__main__":
    guest.main()
