#!/usr/bin/env python3
"""What a profile of a traced process says of the replay of its GPU. The profile is made here of what the simulated driver knows.

test_profile_check.py [-v] [Test.test_…]
"""

import json
import struct
import time

from imported import ImportTest, call, kernel, main
from probed import BUILD

LOOP = (BUILD / "examples/train_loop", "--steps", "150")
HEAD = struct.Struct("<QIIIIQQQQ40s256sQ")  # format/activity_file.h
ROW = struct.Struct("<QQQQIIIBBBB")
KERNEL = 1
HAND_OVER_NS = 1500


def kernels_of(path):
    """Begin and end of each kernel that ran, as CLOCK_MONOTONIC."""
    data = path.read_bytes()
    head = HEAD.unpack_from(data)
    head_bytes, rows = head[2], head[-1]
    all_rows = [ROW.unpack_from(data, head_bytes + n * ROW.size) for n in range(rows)]
    return sorted((row[0], row[1]) for row in all_rows if row[8] == KERNEL)


def busy_ns(spans):
    """From one kernel that is there to the next it is no idleness."""
    total, until = 0, spans[0][0]
    for begin, end in spans:
        total += max(0, end - (until if begin - until <= HAND_OVER_NS else begin))
        until = max(until, end)
    return total


class ProfileCheck(ImportTest):
    def setUp(self):
        super().setUp()
        self.record(*LOOP, options=("--simgpu", "1"), SIMNODE_ACTIVITIES=str(self.folder))
        [account] = [path for path in self.folder.glob("*.hpdevice") if kernels_of(path)]
        self.pid = int(account.name.split("-")[0])
        self.kernels = kernels_of(account)

    def leave_profile(self, number, kernels, pid=None):
        """As a window of PyTorch's profiler leaves it."""
        [trace] = self.run_folder.glob(f"*-{self.pid}-*.hptrace")
        to_wall = time.time_ns() - time.monotonic_ns()
        base = kernels[0][0] + to_wall
        events = [call("cudaLaunchKernel", 0, 1, 1, pid=pid or self.pid, tid=pid or self.pid)]
        events += [kernel("k", (begin + to_wall - base) / 1000, (end - begin) / 1000, n + 1) for n, (begin, end) in enumerate(kernels)]
        text = json.dumps({"traceEvents": events, "baseTimeNanoseconds": base})
        stem = trace.name.removesuffix(".hptrace").replace(f"-{self.pid}-", f"-{pid or self.pid}-")
        (self.run_folder / f"{stem}-{number:04}.profile.json").write_text(text)

    def part(self, begin, end):
        return self.kernels[int(begin * len(self.kernels)):int(end * len(self.kernels))]

    def check(self):
        [own] = [p for p in self.report()["processes"] if p["pid"] == self.pid and p["gpu"]["source"] == "events"]
        return own["gpu"].get("profile_check")

    def test_without_a_profile_there_is_none(self):
        self.assertIsNone(self.check())

    def test_the_share_that_was_busy_stands_beside_the_replayed_one(self):
        windows = [self.part(0.3, 0.5), self.part(0.6, 0.8)]
        for number, window in enumerate(windows):
            self.leave_profile(number + 1, window)
        check = self.check()
        all_ns = sum(max(end for _, end in window) - window[0][0] for window in windows)
        self.assertEqual(check["profiles"], 2)
        self.assertAlmostEqual(check["ms"], all_ns / 1e6, delta=0.01 * all_ns / 1e6)
        self.assertAlmostEqual(check["busy_pct"], 100 * sum(map(busy_ns, windows)) / all_ns, delta=0.5)
        self.assertLess(abs(check["replayed_busy_pct"] - check["busy_pct"]), 10)
        self.assertGreaterEqual(check["worst_points"] + 1e-6, abs(check["replayed_busy_pct"] - check["busy_pct"]))

    def test_a_wrong_replay_is_seen(self):
        """Half of what ran: so the profile says less than the replay."""
        self.leave_profile(1, [(begin, begin + (end - begin) // 2) for begin, end in self.part(0.3, 0.6)])
        check = self.check()
        self.assertGreater(check["replayed_busy_pct"] - check["busy_pct"], 20)
        self.assertAlmostEqual(check["worst_points"], check["replayed_busy_pct"] - check["busy_pct"], delta=0.1)

    def test_a_profile_of_another_process_checks_nothing(self):
        self.leave_profile(1, self.part(0.3, 0.5), pid=self.pid + 1)
        self.assertIsNone(self.check())


if __name__ == "__main__":
    main()
