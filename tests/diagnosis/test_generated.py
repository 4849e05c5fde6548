#!/usr/bin/env python3
"""Twelve programs that nobody has seen are run and scored. What the score has to be is not promised yet."""

import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import generated  # noqa: E402
from consistency import contradictions  # noqa: E402
from generated import draw, verdict  # noqa: E402

SEEDS = 12


class Generated(unittest.TestCase):
    def test_fresh_seeds_are_run_and_scored(self):
        seeds = generated.fresh_seeds(SEEDS)
        print("seeds: " + " ".join(map(str, seeds)), flush=True)
        for seed in seeds:
            self.assertEqual(draw.draw(seed), draw.draw(seed))
        runner = generated.Runner(keeps=False)
        verdicts, failed = generated.score_seeds(seeds, runner)
        print("\n".join([*verdict.summary(verdicts), *generated.accused_twins(runner.twin_reports), *generated.disturbed(runner)]))
        self.assertEqual(failed, [])
        for seed, report in [*((one.drawn.seed, one.report) for one in verdicts), *runner.twin_reports]:
            self.assertEqual(contradictions(report), [], seed)
        for one in verdicts:
            self.assertTrue(all(math.isfinite(fault.gain_pct) for fault in one.measured), one.drawn.seed)


if __name__ == "__main__":
    unittest.main()
