"""What spans ranks, hosts and runs, held against plain calculations over `dump --json` and against planted clock errors."""

import json
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path

from probed import BUILD, COMMAND, ProbedTest

PROGRAM = BUILD / "examples/train_parallel"


def size_class(size):
    return -1 if size == 0 else (size.bit_length() - 1) // 2


BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp64": 8, "int8": 1, "uint8": 1, "int32": 4, "int64": 8}


class Spans(ProbedTest):
    def train(self, name, *words, **environment):
        folder = self.folder / name
        self.finish(self.start(COMMAND, "run", "-o", folder, "--mode", "trace", "--simgpu", "2", "--", PROGRAM, "--ranks", "2",
                               "--pipeline", "1", *words, **environment))
        return folder

    def ask(self, *words):
        done = subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def calls(self, run):
        """Collective calls of a run by communicator and operation, then by running number."""
        found = defaultdict(lambda: defaultdict(list))
        for line in self.ask("dump", run, "--json").splitlines():
            call = json.loads(line)
            name, args = call.get("function", ""), call.get("args", {})
            if not name.startswith("nccl") or "call" not in args or name in ("ncclSend", "ncclRecv"):
                continue
            key = (args["comm"].removeprefix("0x").rjust(16, "0"), name.removeprefix("nccl"))
            found[key][args["call"]["sequence"]].append(call)
        return found

    def test_collectives_are_what_a_plain_calculation_finds(self):
        run = self.train("run", "--steps", "12")
        expected, report = self.calls(run), json.loads(self.ask("report", run, "--json"))
        self.assertEqual(len(expected), len(report["collectives"]))
        all_us = sum(call["duration_ns"] for numbers in expected.values() for calls in numbers.values() for call in calls) / 1e3
        for one in report["collectives"]:
            numbers = expected[one["comm"], one["op"]]
            self.assertEqual(one["count"], len(numbers))
            if one["ranks"] > 1:
                self.check_arrivals(one, numbers)
            if one["sizes"] and one["sizes"][0]["source"] == "host":
                self.check_sizes(one, numbers, all_us)

    def check_arrivals(self, one, numbers):
        lasts, late = defaultdict(int), []
        for calls in numbers.values():
            self.assertEqual(len(calls), one["ranks"])
            order = sorted(calls, key=lambda call: call["begin_ns"])
            lasts[order[-1]["args"]["place"]["rank"]] += 1
            late.append((order[-1]["begin_ns"] - order[0]["begin_ns"]) / 1e3)
        self.assertAlmostEqual(one["skew_max_us"], max(late), delta=1)
        self.assertAlmostEqual(one["last"]["share_pct"], 100 * max(lasts.values()) / len(numbers), delta=0.01)

    def check_sizes(self, one, numbers, all_us):
        durations = defaultdict(list)
        for calls in numbers.values():
            for call in calls:
                size = call["args"]["count"] * BYTES[call["args"]["call"]["type"]]
                durations[size_class(size)].append(call["duration_ns"] / 1e3)
        self.assertEqual(len(one["sizes"]), len(durations))
        for row in one["sizes"]:
            own = durations[size_class(row["from_bytes"])]
            self.assertEqual(row["count"], len(own))
            self.assertAlmostEqual(row["avg_us"], sum(own) / len(own), delta=1)
            self.assertAlmostEqual(row["min_us"], min(own), delta=1)
            self.assertAlmostEqual(row["max_us"], max(own), delta=1)
            self.assertAlmostEqual(row["share_pct"], 100 * sum(own) / all_us, delta=0.1)

    def test_clocks_of_simulated_hosts_are_told_within_the_printed_error(self):
        run = self.train("run", "--steps", "60", SIMNODE_HOSTS="2", SIMNODE_CLOCK_OFFSET_MS="0,100", SIMNODE_CLOCK_PPM="0,50")
        report = json.loads(self.ask("report", run, "--json"))
        clock = {one["host"]: one for one in report["clocks"]}
        (name,) = [host for host in clock if host.endswith("sim1")]
        own_ns = clock[name]["at_ns"]
        planted_us = (own_ns - (own_ns - 100e6) / (1 + 50e-6)) / 1e3
        self.assertLessEqual(abs(clock[name]["offset_us"] - planted_us), report["run"]["clock_error_us"])
        self.assertEqual(clock[name.replace("sim1", "sim0")]["error_us"], 0)
        across = [one for one in report["collectives"] if one["ranks"] == 2]
        self.assertTrue(across)
        for one in across:
            self.assertIsNotNone(one["skew_p50_us"], one)
            self.assertLess(one["skew_max_us"], 90e3, "the planted offset is not in the skew")

    def test_a_run_against_itself_is_the_same_and_against_a_slower_one_is_not(self):
        steps = ("--steps", "40", "--checkpoint-every", "0", "--loader-threads", "0", "--load-us", "0")
        first = self.train("first", *steps)
        same = json.loads(self.ask("diff", first, first, "--json"))
        self.assertFalse(same["steps"]["significant"])
        self.assertEqual({finding["change"] for finding in same["findings"]} - {"same"}, set())
        for table in ("kernels", "collectives", "waits", "wakes"):
            self.assertEqual([row["name"] for row in same[table] if row["significant"]], [], table)
        slower = self.train("slower", *steps, "--host-us", "400")
        diff = json.loads(self.ask("diff", first, slower, "--json"))
        self.assertGreater(diff["launch_gaps"]["b_median_us"], diff["launch_gaps"]["a_median_us"])
        self.assertGreater(diff["launch_gaps"]["change_pct"], 0)
        self.assertIn("WHAT CHANGED", self.ask("diff", first, slower))

    def test_what_cannot_be_compared_is_refused_in_one_line(self):
        run = self.train("run", "--steps", "2")
        (self.folder / "empty").mkdir()
        (self.folder / "broken").mkdir()
        (self.folder / "broken" / "x.1.hptrace").write_bytes(b"no trace")
        for other, status in (("empty", 1), ("broken", 1), ("missing", 1)):
            done = subprocess.run([COMMAND, "diff", run, self.folder / other], capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertEqual(subprocess.run([COMMAND, "diff", run], capture_output=True).returncode, 2)

    def test_runs_of_counters_only_are_compared_by_their_sums(self):
        folder = self.folder / "monitor"
        self.finish(self.start(COMMAND, "run", "-o", folder, "--mode", "monitor", "--simgpu", "2", "--", PROGRAM, "--ranks", "2",
                               "--pipeline", "1", "--steps", "3"))
        diff = json.loads(self.ask("diff", folder, folder, "--json"))
        self.assertFalse(diff["nothing_in_common"])
        self.assertEqual([row["name"] for row in diff["collectives"] if row["significant"]], [])


if __name__ == "__main__":
    unittest.main()
