#!/usr/bin/env python3
"""The timeline for the Perfetto UI and chrome://tracing is what those read: every event valid, slices of a row inside or beside
each other, arrows whole; and it has what the dump has.

test_timeline.py [-v] [Test.test_…]
"""

import gzip
import json
import unittest
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import accumulate
from pathlib import Path

from imported import COMMAND, PROFILES, call, kernel, main, span
from runs import ExportTest

POLLS = "sched_yield"


def nanoseconds(micros):
    return round(micros * 1000)


class Timeline(ExportTest):
    def timeline(self):
        path = self.export("--chrome", "timeline.json")
        document = json.loads(path.read_text())
        self.assertEqual(document["displayTimeUnit"], "ns")
        self.check_valid(document["traceEvents"])
        return document["traceEvents"]

    def check_valid(self, events):
        named, rows, arrows = set(), defaultdict(list), defaultdict(dict)
        for event in events:
            self.assertIn(event["ph"], "MXsf")
            self.assertIsInstance(event["pid"], int)
            self.assertIsInstance(event["tid"], int)
            self.assertIsInstance(event["name"], str)
            if event["ph"] == "M":
                self.assertTrue(event["args"])
                if event["name"] in ("thread_name", "process_name"):
                    named.add((event["pid"], event["tid"] if event["name"] == "thread_name" else "process"))
                continue
            self.assertGreaterEqual(event["ts"], 0)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)
                rows[event["pid"], event["tid"]].append((nanoseconds(event["ts"]), nanoseconds(event["ts"]) + nanoseconds(event["dur"])))
            else:
                self.assertNotIn(event["ph"], arrows[event["id"]])
                arrows[event["id"]][event["ph"]] = event
        for pid, tid in rows:
            self.assertLessEqual({(pid, tid), (pid, "process")}, named)
        for slices in rows.values():
            self.check_nested(slices)
        reach = {row: self.longest_ends(slices) for row, slices in rows.items()}
        for arrow in arrows.values():
            self.assertEqual(set(arrow), {"s", "f"})
            self.assertLessEqual(nanoseconds(arrow["s"]["ts"]), nanoseconds(arrow["f"]["ts"]))
            self.assertIn((arrow["s"]["pid"], arrow["s"]["tid"]), named)
            begins, ends = reach[arrow["f"]["pid"], arrow["f"]["tid"]]
            moment = nanoseconds(arrow["f"]["ts"])
            self.assertGreaterEqual(ends[bisect_right(begins, moment) - 1], moment)
            self.assertLessEqual(begins[0], moment)

    def longest_ends(self, slices):
        """Of slices, sorted by begin: begins, and the latest end of all up to each."""
        slices = sorted(slices)
        return [begin for begin, _ in slices], list(accumulate((end for _, end in slices), max))

    def check_nested(self, slices):
        ends = []
        for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and end > ends[-1] + 1:  # a rounded nanosecond
                self.fail(f"{begin} {end} {ends}")
            ends.append(end)

    def check_same_as_dump(self, events):
        slices = Counter(e["cat"] == "gpu" for e in events if e["ph"] == "X" and e["cat"] != "thread_state")
        rows = [row for row in self.dump() if "function" in row and row["function"] != POLLS]
        gpu = sum(row["function"] in ("kernel", "memcpy", "memset") for row in rows)
        self.assertEqual(slices[False], len(rows) - gpu)
        if gpu:
            self.assertEqual(slices[True], gpu)
        return rows

    def test_ranks(self):
        self.record_ranks("trace", steps=80)
        events = self.timeline()
        self.check_same_as_dump(events)
        names = Counter(e["name"] for e in events if e["ph"] == "X")
        self.assertTrue(names["cuLaunchKernel"] and names["ncclAllReduce"])
        gpu = sum(e["ph"] == "X" and e["cat"] == "gpu" for e in events)
        # Of a process whose GPU was timed too little nobody knows what ran when.
        known = [p["gpu"]["kernels"] for p in self.report()["processes"] if (p.get("gpu") or {}).get("source") == "events"]
        self.assertTrue(known)
        self.assertGreaterEqual(gpu, sum(known))
        processes = [e["args"]["name"] for e in events if e["name"] == "process_name"]
        self.assertEqual(sum(name.startswith("rank ") for name in processes), 2)

    def test_wakers(self):
        self.record_threads("trace")
        events = self.timeline()
        rows = self.check_same_as_dump(events)
        woken = sum(bool(row["args"].get("waker")) and row["args"]["waker"]["role"] != "unknown" and not row.get("timed_out")
                    for row in rows if row["function"] != POLLS)
        self.assertEqual(sum(e["ph"] == "f" and e["cat"] == "wake" for e in events), woken)
        self.assertTrue(woken)

    def test_arrows_lead_from_launch_to_kernel(self):
        base = 1_700_000_000_000_000
        self.import_profile([call("cudaLaunchKernel", base + 1, 3, 5), kernel("gemm", base + 9, 4, 5), span("ProfilerStep#2", base, 20),
                             kernel("no launch", base + 15, 1, 77)], distributedInfo={"rank": 2})
        events = self.timeline()
        slices = {e["name"]: e for e in events if e["ph"] == "X"}
        self.assertEqual(set(slices), {"cudaLaunchKernel", "gemm", "step 2", "no launch"})
        begin, = [e for e in events if e["ph"] == "s"]
        end, = [e for e in events if e["ph"] == "f"]
        self.assertEqual((begin["tid"], begin["ts"]), (10, slices["cudaLaunchKernel"]["ts"]))
        self.assertEqual((end["tid"], end["ts"]), (slices["gemm"]["tid"], slices["gemm"]["ts"]))
        self.assertEqual(slices["cudaLaunchKernel"]["args"]["kernel"], "gemm")

    def test_what_overlaps_goes_to_a_row_of_its_own(self):
        self.import_profile([span("a", 1000, 10), span("b", 1005, 10), kernel("k", 1000, 5, 0), kernel("l", 1001, 5, 0)])
        self.assertEqual(len({(e["tid"]) for e in self.timeline() if e["ph"] == "X"}), 4)

    def test_compressed_where_the_name_says_so_and_replaced_when_complete(self):
        self.import_profile([span("a", 1000, 10)])
        path = self.folder / "t.json.gz"
        path.write_text("old")
        self.export("--chrome", "t.json.gz")
        self.assertEqual(len([e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e["ph"] == "X"]), 1)
        self.run_program(COMMAND, "export", self.folder / "nothing", "--chrome", path, status=1)
        self.assertTrue(gzip.decompress(path.read_bytes()))
        self.run_program(COMMAND, "export", self.run_folder, "--chrome", self.folder / "no/such/folder", status=1)
        self.run_program(COMMAND, "export", self.run_folder, status=2)
        self.assertEqual(sorted(p.name for p in self.folder.glob("*unfinished*")), [])

    @unittest.skipUnless(PROFILES and Path(PROFILES).is_dir(), "no folder of real profiles: set HOSTPROBE_TEST_PROFILES")
    def test_real_profile(self):
        self.bring_in("--kineto", Path(PROFILES) / "alexnet.json.gz")
        events = self.timeline()
        self.check_same_as_dump(events)
        self.assertEqual(sum(e["ph"] == "s" for e in events), 98)


if __name__ == "__main__":
    main()
