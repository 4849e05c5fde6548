#!/usr/bin/env python3
"""What is held against a report: right and wrong findings about drawn runs whose twins are known."""

import sys
import types
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import verdict  # noqa: E402
from faults import Fault  # noqa: E402


def finding(cause, share, rank=None, gain=None, text=""):
    return {"cause": cause, "share_pct": share, "rank": rank, "gain_pct": gain, "evidence": {}, "text": text}


def judged(run_ms, twins_ms, faults, *found):
    drawn = types.SimpleNamespace(hidden=bool(faults) and faults[0].strength == 0)
    return verdict.Verdict(drawn, verdict.measure(run_ms, faults, twins_ms), list(found), 100, {})


LOCK = Fault("lock", 0.2, ("lock_contention",), 1, (("take_it",), ("raven", "hold_it")))
FILE = Fault("file", 0.2, ("file_io",))


class Verdicts(unittest.TestCase):
    def test_right_in_all(self):
        one = judged(10, [[8, 8.1]], [LOCK], finding("lock_contention", 19, 1, 18, "in take_it, for raven"))
        self.assertEqual((one.kind, one.right, one.rank_right, one.site_right, one.gain_right), ("planted", True, True, True, True))
        self.assertAlmostEqual(one.share_error, 0.5)

    def test_each_place_is_to_be_named(self):
        self.assertFalse(judged(10, [[8, 8]], [LOCK], finding("lock_contention", 19, 1, 18, "in take_it")).site_right)

    def test_rank_and_gain_can_be_wrong(self):
        one = judged(10, [[8, 8]], [LOCK], finding("lock_contention", 19, 0, 5))
        self.assertEqual((one.right, one.rank_right, one.gain_right), (True, False, False))

    def test_nothing_said_of_a_fault_is_wrong(self):
        self.assertFalse(judged(10, [[8, 8]], [LOCK]).right)

    def test_a_fault_that_costs_nothing_is_healthy(self):
        self.assertEqual(judged(10, [[10, 9.98]], [LOCK]).kind, "healthy")
        self.assertTrue(judged(10, [[10, 9.98]], [LOCK]).right)
        self.assertFalse(judged(10, [[10, 9.98]], [LOCK], finding("lock_contention", 9)).right)

    def test_a_hidden_one_that_costs_something_is_scored_as_what_it_is(self):
        hidden = Fault("hidden lock", 0, ("lock_contention",))
        self.assertEqual(judged(10, [[8, 8]], [hidden]).kind, "planted")
        self.assertEqual(judged(10, [[10, 10.4]], [hidden]).kind, "healthy")

    def test_twins_that_differ_say_nothing(self):
        one = judged(10, [[8, 10.5]], [LOCK])
        self.assertEqual((one.kind, one.right), ("unclear", True))
        self.assertFalse(judged(10, [[8, 10.5]], [LOCK], finding("sync_calls", 20)).right)
        self.assertTrue(judged(10, [[9.6, 11]], [LOCK], finding("lock_contention", 4, 1)).right)  # by the median it costs less than nothing

    def test_the_heavier_of_two_comes_first(self):
        both = [LOCK, FILE]
        self.assertFalse(judged(10, [[9, 9], [6, 6]], both, finding("lock_contention", 10, 1)).right)
        self.assertTrue(judged(10, [[9, 9], [6, 6]], both, finding("file_io", 40)).right)
        self.assertTrue(judged(10, [[6.5, 6.5], [6, 6]], both, finding("lock_contention", 35, 1)).right)


if __name__ == "__main__":
    unittest.main()
