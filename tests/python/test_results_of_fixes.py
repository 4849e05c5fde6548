#!/usr/bin/env python3
"""Programs compute the same with each fix, and with all of them, as without them, bit by bit."""

import re

import probed
from probed import BUILD, SOURCE, ProbedTest, path_of

ALL = "gc,pin,spin,timer_slack,nice,numa,batch_launch"
FIXES = (*ALL.split(","), ALL, "auto")


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

    def test_data_parallel_training(self):
        words = (path_of("TORCH_PYTHON").parent / "torchrun", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "60")
        without, _ = self.run_program(*words)
        self.assertRegex(without, r"^loss -?0x1\.[0-9a-f]+p[+-]\d+\n$")
        for fix in (ALL, "auto"):
            self.assertEqual(self.run_program(probed.COMMAND, "run", "-o", self.folder / fix[:4], "--fix", fix, "--", *words)[0], without, fix)


if __name__ == "__main__":
    probed.main()
