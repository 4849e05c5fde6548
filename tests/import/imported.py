"""Imports files and reads back what became of them."""

import gzip
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from probed import COMMAND, ProbedTest, main  # noqa: E402,F401

PROFILES = os.environ.pop("HOSTPROBE_TEST_PROFILES", "")


class ImportTest(ProbedTest):
    def bring_in(self, form, *files, status=0):
        """`hostprobe import`: the paths of the traces, and the lines about what was left out."""
        out, err = self.run_program(COMMAND, "import", "-o", self.run_folder, form, *files, status=status)
        return out.splitlines(), err.splitlines()

    def write_profile(self, events, name="profile.json", **head):
        path = self.folder / name
        text = json.dumps({**head, "traceEvents": events})
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    def import_profile(self, events, status=0, **head):
        return self.bring_in("--kineto", self.write_profile(events, **head), status=status)


def call(name, begin_us, duration_us, correlation=0, pid=10, tid=10, category="cuda_runtime", **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin_us, "dur": duration_us,
            "args": {"correlation": correlation, **args}}


def kernel(name, begin_us, duration_us, correlation, category="kernel", device=0, stream=7, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": device, "tid": stream, "ts": begin_us, "dur": duration_us,
            "args": {"device": device, "stream": stream, "correlation": correlation, **args}}


def span(name, begin_us, duration_us, pid=10, tid=10, category="user_annotation", **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": begin_us, "dur": duration_us, "args": args}
