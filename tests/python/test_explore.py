#!/usr/bin/env python3
"""examples/explore.py on a run of the simulated node, and on one that has hardly anything in it."""

import sys

import probed
from probed import BUILD, SOURCE, ProbedTest

EXAMPLE = SOURCE / "examples/explore.py"
PATHS = {"PYTHONPATH": str(BUILD / "lib/hostprobe/python"), "MPLCONFIGDIR": "/nonexistent"}


class Explore(ProbedTest):
    def explore(self, **changes):
        out, _ = self.run_program(sys.executable, EXAMPLE, self.run_folder, "picture.png", **PATHS, **changes)
        self.assertEqual((self.folder / "picture.png").read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        return out

    def test_a_run_of_two_ranks(self):
        self.record(BUILD / "examples/train_parallel", "--ranks", "2", "--steps", "8", "--pipeline", "1",
                    options=("--mode", "trace", "--simgpu", "2"))
        out = self.explore()
        for words in ("launches           rank, pid", "layer_op", "gap_us", "step_ms", "saved"):
            self.assertIn(words, out)

    def test_a_run_without_a_gpu(self):
        self.record(sys.executable, "-c", "import time; time.sleep(0.01)", options=("--mode", "trace"))
        self.assertIn("saved", self.explore())

    def test_without_a_run_it_shows_how_it_is_called(self):
        for words, status in ((["--help"], 0), ([], 2)):
            out, _ = self.run_program(sys.executable, EXAMPLE, *words, status=status, **PATHS)
            self.assertIn("usage: explore.py RUN", out)
            self.assertIn("example", out)


if __name__ == "__main__":
    probed.main()
