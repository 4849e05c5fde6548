#!/usr/bin/env python3
"""Programs compute the same with the fixes of place as without them, bit by bit."""

import re

import probed
from probed import BUILD, ProbedTest

FIXES = ("pin", "spin", "timer_slack", "nice", "numa", "pin,spin,timer_slack,nice,numa")


class FixesKeepResults(ProbedTest):
    def results(self, fix, program, *words):
        """What it prints, without times."""
        run = self.folder / fix.replace(",", "-")
        out, _ = self.run_program(probed.COMMAND, "run", "-o", run, "--simgpu", "2", "--fix", fix, "--", BUILD / "examples" / program, *words,
                                  XDG_RUNTIME_DIR=str(self.folder))
        return re.sub(r"step ms: .*", "", out)

    def test_a_training_loop(self):
        words = ("train_loop", "--steps", "300")
        without = self.results("none", *words)
        self.assertIn("checksum", without)
        for fix in FIXES:
            self.assertEqual(self.results(fix, *words), without, fix)

    def test_ranks(self):
        words = ("train_parallel", "--ranks", "2", "--tensor", "1", "--pipeline", "1", "--steps", "60", "--checkpoint-every", "20")
        without = self.results("none", *words)
        self.assertIn("gradients right", without)
        for fix in FIXES:
            self.assertEqual(self.results(fix, *words), without, fix)


if __name__ == "__main__":
    probed.main()
