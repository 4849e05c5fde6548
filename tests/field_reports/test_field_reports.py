#!/usr/bin/env python3
"""The report names the cause, the rank and the line of trouble that users reported in public, and advises none of it without the fault.

Four quick kinds. All of them, with their gains, on a quiet machine: bench/field_reports.py.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]

import kinds  # noqa: E402
import trial  # noqa: E402
import verdict  # noqa: E402
from probed import ProbedTest, main  # noqa: E402

QUICK = ("narrow_mask_parent", "collect_each_step", "slow_hook_always", "fresh_memory")
BESIDES = ("cpu_contention", "own_cost")  # of a machine that is busy besides


class FieldReports(ProbedTest):
    def heaviest(self, kind, healthy):
        """Of the findings that speak of the program; None: there is none."""
        findings = trial.run(kind, self.folder, healthy).findings
        return next((one for one in findings if one["cause"] in kind.causes or one["cause"] not in BESIDES), None)


def test_of_fault(kind):
    def test(self):
        found = self.heaviest(kind, healthy=False)
        self.assertIsNotNone(found)
        self.assertIn(found["cause"], kind.causes)
        self.assertEqual(found["rank"], kind.rank)
        self.assertEqual(verdict.fix_of(found), kind.fix)
        self.assertEqual([place for place in kind.places() if not verdict.has_place(found, place)], [])
    return test


def test_of_twin(kind):
    def test(self):
        found = self.heaviest(kind, healthy=True)
        if found is not None and found["cause"] in kind.causes:
            # The same cause may be there on a busy machine, and never with the line or the fix.
            self.assertFalse(kind.fix and verdict.fix_of(found) == kind.fix)
            self.assertFalse(verdict.has_place(found, kind.places()[0]))
    return test


for one in kinds.all_kinds():
    if one.name in QUICK:
        setattr(FieldReports, f"test_{one.name}", test_of_fault(one))
        setattr(FieldReports, f"test_twin_of_{one.name}", test_of_twin(one))

if __name__ == "__main__":
    main()
