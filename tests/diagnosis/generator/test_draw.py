#!/usr/bin/env python3
"""What is drawn: the same from the same seed, everything sooner or later, and in its range."""

import collections
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import draw  # noqa: E402
import faults  # noqa: E402
import structure  # noqa: E402

SEEDS = 2000
# Ids that a program on the simulated node can earn; those of Python, of clocks and of the machine's devices it cannot.
REACHED = {"dataloader_wait", "producer_wait", "lock_contention", "file_io", "remote_wait", "page_faults", "host_work", "launch_bound",
           "sync_calls", "alloc_stall", "pageable_copy", "jit_compile", "cpu_contention", "cpu_throttle", "process_stopped",
           "idle_state_exit", "proxy_delay", "slow_gpu", "comm_bandwidth", "poor_overlap"}


class DrawnPlans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.all = [draw.draw(seed) for seed in range(SEEDS)]
        cls.planted = [fault for one in cls.all for fault in one.faults if fault.strength > 0]

    def test_same_seed_same_plan(self):
        script = Path(draw.__file__)
        for seed in (0, 1, 4711, 2 ** 32 - 1):
            texts = {subprocess.run([sys.executable, "-B", script, str(seed), "--plan"], capture_output=True, text=True, check=True,
                                    env={**os.environ, "PYTHONHASHSEED": hashing}).stdout for hashing in ("1", "2")}
            self.assertEqual(texts, {draw.draw(seed).plan() + "\n"})

    def test_other_seeds_have_other_plans(self):
        self.assertEqual(len({one.plan() for one in self.all}), SEEDS)

    def test_every_structure_is_reached(self):
        keys = collections.defaultdict(set)
        for one in self.all:
            for key, value in one.structure.keys.items():
                if not isinstance(value, list):
                    keys[key].add(value)
        self.assertEqual(keys["structure"], {"single", "data", "sharded", "pipeline", "tensor", "decode"})
        self.assertEqual(keys["loader"], {"none", "threads", "processes"})
        self.assertEqual(keys["hand_over"], {"condition", "semaphore", "pipe"})
        self.assertEqual(keys["sync"], {"auto", "spin", "yield", "block"})
        self.assertEqual(keys["ranks"], {1, 2, 3, 4})
        self.assertEqual(keys["run_ahead"], {0, 1, 2, 3})
        for key in ("graph", "marks", "vary", "one_f_one_b", "copy_stream"):
            self.assertEqual(keys[key], {0, 1}, key)

    def test_every_cause_is_reached(self):
        self.assertEqual({cause for fault in self.planted for cause in fault.causes}, REACHED)

    def test_every_pattern_is_reached(self):
        words = " ".join(fault.pattern for fault in self.planted)
        for word in ("constant", "every ", " % of the steps", "on rank ", "one rank after the other"):
            self.assertIn(word, words)

    def test_strengths_are_in_range(self):
        strengths = [fault.strength for fault in self.planted]
        self.assertGreaterEqual(min(strengths), faults.WEAKEST)
        self.assertLessEqual(max(strengths), faults.STRONGEST)
        self.assertGreater(sum(strength > 0.4 for strength in strengths), SEEDS / 20)
        self.assertGreater(sum(strength < 0.1 for strength in strengths), SEEDS / 20)

    def test_a_quarter_is_healthy(self):
        healthy = [one for one in self.all if not one.faults or one.hidden]
        self.assertAlmostEqual(len(healthy) / SEEDS, draw.HEALTHY, delta=0.04)
        self.assertGreater(sum(one.hidden for one in healthy), len(healthy) / 3)
        self.assertGreater(sum(len(one.faults) == 2 for one in self.all), SEEDS / 20)

    def test_nobody_shares_a_function(self):
        for one in self.all:
            of_roles = [name for role, name in one.structure.names.items() if role.endswith("_function")]
            self.assertEqual(len(of_roles), len(set(of_roles)))
            own = [set(what["function"] for what in fault.deeds) - {one.structure["partner_function"]} for fault in one.faults]
            for functions in own:
                self.assertFalse(functions & set(of_roles), one.seed)
            self.assertFalse(len(own) == 2 and own[0] & own[1], one.seed)

    def test_names_are_of_the_list_and_fit(self):
        for one in self.all:
            for role, name in one.structure.names.items():
                self.assertTrue(name in structure.FUNCTIONS if role.endswith("_function") else len(name) < 16, name)

    def test_a_twin_differs_by_its_fault_only(self):
        for one in self.all:
            for number, fault in enumerate(one.faults):
                run, twin = one.run(), one.without(number)
                self.assertNotEqual(run.key(), twin.key(), one.seed)
                self.assertEqual((run.gpus, run.cpus, run.environment), (twin.gpus, twin.cpus, twin.environment))
                changed = len(set(run.plan.splitlines()) ^ set(twin.plan.splitlines()))
                most = 2 * len(fault.changes) + len(fault.deeds) + len(fault.instead)
                self.assertLessEqual(changed, most, one.seed)

    def test_the_program_reads_every_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            for one in self.all[:200]:
                path = Path(folder) / "plan"
                path.write_text(one.plan())
                done = subprocess.run([draw.PROGRAM, "--check", path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, f"{one.seed}: {done.stderr}")


if __name__ == "__main__":
    unittest.main()
