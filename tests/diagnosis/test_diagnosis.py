#!/usr/bin/env python3
"""The report names the cause of what was planted, on the rank where it sits; shares of the steps sum to 100."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import scenarios  # noqa: E402
import score  # noqa: E402
from probed import ProbedTest, main  # noqa: E402


class Diagnosis(ProbedTest):
    pass


def test_of(scenario):
    def test(self):
        if why := scenario.cannot():
            self.skipTest(why)
        report = score.report_of(scenario, self.run_folder)
        _, _, found = score.judge(scenario, report)
        shares = report["step_share_pct"]
        self.assertAlmostEqual(sum(shares.values()), 100, places=6)
        self.assertTrue(all(0 <= share <= 100 for share in shares.values()), shares)
        # On a busy machine a healthy run has late ranks as well.
        if not scenario.causes:
            return
        self.assertTrue(found, shares)
        self.assertIn(found[0]["cause"], scenario.causes, [(one["cause"], one["share_pct"]) for one in found])
        if scenario.rank is not None:
            self.assertEqual(found[0]["rank"], scenario.rank)
    return test


for one in scenarios.all_scenarios():
    if one.short:
        setattr(Diagnosis, f"test_{one.name}", test_of(one))

if __name__ == "__main__":
    main()
