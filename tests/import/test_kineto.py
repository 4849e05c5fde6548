#!/usr/bin/env python3
"""Profiles of PyTorch, imported, say what plain Python over their JSON says, to the microsecond.

test_kineto.py [-v] [Test.test_…]; HOSTPROBE_TEST_PROFILES is a folder of real ones, without which theirs are skipped
"""

import gzip
import json
import unittest
from collections import Counter, defaultdict
from pathlib import Path

from imported import COMMAND, PROFILES, ImportTest, call, kernel, main, span

GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "gpu_memset": "memset"}
START = 1_700_000_000_000_000


def union_us(spans):
    total, end = 0, float("-inf")
    for begin, stop in sorted(spans):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


def end_ns(row):
    return row["begin_ns"] + row["duration_ns"]


class Generated(ImportTest):
    def test_a_launch_is_told_by_its_kernel(self):
        self.import_profile([
            kernel("gemm", START + 20.5, 8.25, 42, grid=[4, 5, 6], block=[128, 2, 1], **{"shared memory": 1024}),
            call("cudaLaunchKernel", START + 10, 3.125, 42),
            call("cudaStreamSynchronize", START + 15, 20, 43)])
        launch, sync, work = self.dump()
        self.assertEqual(launch["args"], {"kernel": "gemm", "grid": [4, 5, 6], "block": [128, 2, 1], "stream": "0x7",
                                          "shared_bytes": 1024})
        self.assertEqual((launch["begin_ns"], launch["duration_ns"]), ((START + 10) * 1000, 3125))
        self.assertEqual((work["begin_ns"], work["duration_ns"]), ((START + 20) * 1000 + 500, 8250))
        self.assertEqual(work["args"]["launch"], launch["begin_ns"])
        process = self.report()["processes"][0]
        self.assertEqual(process["launches"]["by_function"], {"cudaLaunchKernel": 1})
        self.assertEqual(process["launches"]["kernels"], 1)
        self.assertEqual(process["syncs"]["by_function"], {"cudaStreamSynchronize": 1})
        self.assertAlmostEqual(process["syncs"]["total_ms"], 0.02)
        self.assertIsNone(process["own_cost_pct"])

    def test_base_time_may_stand_behind_the_events(self):
        events = [call("cudaLaunchKernel", 1000.001, 2, 1)]
        self.bring_in("--kineto", self.write_profile(events, "a.json.gz"))
        path = self.folder / "b.json"
        path.write_text(json.dumps({"traceEvents": events, "baseTimeNanoseconds": START * 1000, "host_name": "node-1",
                                    "distributedInfo": {"rank": 5, "world_size": 8}}))
        self.bring_in("--kineto", path)
        begins = sorted(row["begin_ns"] for row in self.dump())
        self.assertEqual(begins, [1_000_001, (START + 1000) * 1000 + 1])
        ranked = [p for p in self.report()["processes"] if p["rank"] == 5]
        self.assertEqual(ranked[0]["host"], "node-1")

    def test_steps_are_marks(self):
        self.import_profile([span(f"ProfilerStep#{n}", START + 100 * n, 90 + n) for n in range(5)])
        steps = self.report()["steps"]
        self.assertEqual((steps["source"], steps["count"]), ("marks", 5))
        self.assertAlmostEqual(steps["max_ms"], 0.094)

    def collective(self, rank, begin_us, sequence, **args):
        return span("record_param_comms", begin_us, 5, category="cpu_op",
                    **{"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000, "Out msg nelems": 1000,
                       "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": sequence, **args})

    def test_collectives_of_ranks_meet_by_their_numbers(self):
        for rank in range(2):
            events = [self.collective(rank, START + 100 * n + 30 * rank, 7 + n) for n in range(4)]
            events.append(span("nccl:all_reduce", START + 1, 1))  # the same operation once more, which counts once
            path = self.write_profile(events, f"rank{rank}.json", host_name="node",
                                      distributedInfo={"rank": rank, "world_size": 2})
            self.bring_in("--kineto", path)
        collective, = self.report()["collectives"]
        self.assertEqual((collective["op"], collective["count"], collective["ranks"]), ("AllReduce", 4, 2))
        self.assertEqual(collective["bytes"], 4 * 2000)
        self.assertAlmostEqual(collective["skew_p50_us"], 30, delta=1)
        self.assertEqual(collective["last"]["rank"], 1)

    def test_ranks_without_numbers_meet_only_by_the_same_first_step(self):
        for rank, first in ((0, 3), (1, 3), (2, 4)):
            events = [span(f"ProfilerStep#{first}", START, 1000)]
            events += [self.collective(rank, START + 100 * n + 1, 0) for n in range(3)]
            self.bring_in("--kineto", self.write_profile(events, f"{rank}.json", distributedInfo={"rank": rank % 2}))
        self.assertEqual(sorted(c["count"] for c in self.report()["collectives"]), [3, 3])

    def test_annotations_tell_collectives_of_older_profiles(self):
        self.import_profile([span("nccl:all_reduce", START, 7, **{"Input Dims": [[10, 20], [3]], "Input type": ["float", "int"]})])
        collective, = self.report()["collectives"]
        self.assertEqual((collective["op"], collective["count"], collective["bytes"]), ("AllReduce", 1, 800))

    def test_a_size_that_is_not_told_is_not_0(self):
        self.import_profile([span("nccl:broadcast", START, 7)])
        collective, = self.report()["collectives"]
        self.assertEqual((collective["op"], collective["count"], collective["bytes"]), ("Broadcast", 1, None))

    def test_several_ranks_in_one_file_with_clashing_ids(self):
        events = []
        for pid in (100, 200):
            events += [call("cudaLaunchKernel", START + pid + 10 * n, 1, n + 1, pid=pid, tid=pid) for n in range(3)]
            events += [kernel(f"of {pid}", START + pid + 10 * n + 5, 2, n + 1, device=pid // 100) for n in range(3)]
        traces, _ = self.import_profile(events)
        self.assertEqual(len(traces), 2)
        owners = {(row["pid"], row["args"]["kernel"]) for row in self.dump() if row["function"] == "cudaLaunchKernel"}
        self.assertEqual(owners, {(100, "of 100"), (200, "of 200")})

    def test_ids_of_ranks_that_run_in_step_go_by_the_device(self):
        """The call that came last before a kernel is the other rank's in every second step; not each kernel comes behind it."""
        events = []
        for pid, device, late in ((100, 1, 0), (200, 2, 3)):
            for n in range(20):
                events += [call("cudaLaunchKernel", START + 10 * n + late, 1, n + 1, pid=pid, tid=pid),
                           kernel(f"of {pid}", START + 10 * n + late + (1 if n % 2 else 6), 2, n + 1, device=device)]
        self.import_profile(events)
        owners = Counter((row["pid"], row["args"]["kernel"]) for row in self.dump() if row["function"] == "cudaLaunchKernel")
        self.assertEqual(owners, {(100, "of 100"): 20, (200, "of 200"): 20})

    def test_ids_may_have_64_bits(self):
        ids = (5 + (1 << 32), 5 + (1 << 33), (1 << 64) - 7)
        events = [call("cudaLaunchKernel", START + 10 * n, 1, one) for n, one in enumerate(ids)]
        events += [kernel(f"k{n}", START + 100 + 10 * n, 1, one) for n, one in enumerate(ids)]
        _, lines = self.import_profile(events)
        self.assertEqual(lines, [])
        self.assertEqual([row["args"]["kernel"] for row in self.dump() if row["function"] == "cudaLaunchKernel"], ["k0", "k1", "k2"])

    def test_a_device_may_be_called_by_its_process(self):
        one = kernel("k", START, 1, 1)
        one["pid"] = "GPU 3"
        del one["args"]["device"]
        self.import_profile([call("cudaLaunchKernel", START, 1, 1), one])
        work, = [row for row in self.dump() if row["function"] == "kernel"]
        self.assertEqual(work["args"]["stream"] >> 32, 3)

    def test_a_rank_is_of_the_head_or_of_its_process(self):
        events = [{**self.collective(rank, START + 10, 1, Rank=rank), "pid": 100 + rank} for rank in (0, 1)]
        events.append(call("cudaLaunchKernel", START, 1, 1, pid="rank 7", tid=5))
        self.import_profile(events, distributedInfo={"rank": 3, "world_size": 8})
        ranks = {process["pid"]: process["rank"] for process in self.report()["processes"]}
        self.assertEqual((ranks.pop(100), ranks.pop(101), *ranks.values()), (0, 1, 7))

    def test_the_first_screen_knows_how_many_ranks_the_profile_says(self):
        self.import_profile([call("cudaLaunchKernel", START, 1, 1)], distributedInfo={"rank": 0, "world_size": 128})
        self.assertIn("Seen: 1 of 128 ranks", self.run_program(COMMAND, "report", self.run_folder)[0])
        self.assertNotIn("unwritten_ranks", self.report()["run"])

    def test_a_rank_from_the_name_of_the_file_is_a_guess(self):
        path = self.write_profile([call("cudaLaunchKernel", START, 1, 1, pid=77)], "rank_5.json")
        named = self.folder / "node-9_77.1700000000.pt.trace.json"
        named.write_text(path.read_text())
        for file, key, value in ((path, "rank", 5), (named, "host", "node-9")):
            self.run_folder = self.folder / key
            _, lines = self.bring_in("--kineto", file)
            self.assertIn("guessed", lines[-1])
            process, = self.report()["processes"]
            self.assertEqual((process[key], process["imported"]["guessed"]), (value, [key]))

    def test_files_of_one_rank_are_one_rank(self):
        for first in (0, 5):
            events = [span(f"ProfilerStep#{n}", START + 1000 * n, 990) for n in range(first, first + 4)]
            events += [self.collective(3, START + 1000 * n + 5, n + 1) for n in range(first, first + 4)]
            self.bring_in("--kineto", self.write_profile(events, f"steps{first}.json", host_name="node", distributedInfo={"rank": 3}))
        report = self.report()
        self.assertEqual(report["run"]["ranks"], 1)
        self.assertEqual({process["rank"] for process in report["processes"]}, {3})
        self.assertEqual(sum(collective["count"] for collective in report["collectives"]), 8)

    def test_steps_of_one_rank_are_explained_by_the_file_that_has_the_most(self):
        """Which of two files is read first does not matter."""
        for first, count in ((0, 5), (5, 8), (13, 5)):
            events = []
            for n in range(first, first + count):
                at = START + 1000 * n
                events += [span(f"ProfilerStep#{n}", at, 990), call("cudaLaunchKernel", at + 10, 5, n + 1), kernel("k", at + 20, 100, n + 1),
                           call("cudaStreamSynchronize", at + 700, 280, 100 + n)]
            self.bring_in("--kineto", self.write_profile(events, f"steps{first}.json", host_name="node", distributedInfo={"rank": 3}))
        report = self.report()
        self.assertEqual(len(report["processes"]), 3)
        self.assertEqual((report["steps"]["count"], report["step_time"]["steps"]), (8, 8))
        self.assertIsNone(report.get("step_time_unknown"))
        self.assertIsNotNone(report["critical_path_pct"])

    def test_documents_of_one_file_are_ranks_of_their_own(self):
        text = "\n".join(json.dumps({"distributedInfo": {"rank": rank}, "traceEvents": [call("cudaLaunchKernel", START, 1, 1, pid=50 + rank)]})
                         for rank in (2, 4))
        path = self.folder / "both.json"
        path.write_text(text)
        traces, lines = self.bring_in("--kineto", path)
        self.assertEqual((len(traces), lines), (2, []))
        self.assertEqual({p["pid"]: p["rank"] for p in self.report()["processes"]}, {52: 2, 54: 4})

    def test_nothing_is_overwritten(self):
        for _ in range(2):
            self.import_profile([call("cudaLaunchKernel", START, 1, 1)])
        self.assertEqual(len(list(self.run_folder.glob("*.hptrace"))), 2)
        self.assertEqual({path.stat().st_mode & 0o777 for path in self.run_folder.iterdir()}, {0o600})


class Damaged(ImportTest):
    """What can be used is used, what is left out is counted, nothing crashes."""

    def counted(self, lines, kind):
        found = [line for line in lines if kind in line]
        self.assertEqual(len(found), 1, lines)
        return int(found[0].split(": ")[2].split(" ")[0])

    def test_each_kind_of_damage_is_counted(self):
        good = call("cudaLaunchKernel", START, 5, 1)
        events = [good, kernel("k", START + 9, -3, 1), kernel("lost", START + 9, 1, 77), {"ph": "X"}, 5, None, [], "x",
                  {"ph": "X", "cat": "cpu_op", "name": "no time"}, {"ph": "X", "cat": "cpu_op", "name": "t", "ts": "soon"},
                  call("hpuLaunch", START, 1, category="hpu_op"), call("cudaFree", 10**40, 1), {"ph": "B", "ts": START},
                  call("cudaMalloc", START + 1, "x", "y", tid="main"), span("far", START * 2, 1)]
        _, lines = self.import_profile(events)
        for kind, count in (("negative durations", 1), ("launch is not in the profile", 1), ("without a time", 1),
                            ("time that is no number", 2), ("'hpu_op'", 1), ("phase 'B'", 1), ("that are no events", 3),
                            ("durations that are missing", 1), ("numbers that are none", 1), ("thread ids", 1),
                            ("a year or more away", 1)):
            self.assertEqual(self.counted(lines, kind), count, lines)
        functions = Counter(row["function"] for row in self.dump())
        self.assertEqual(functions, {"cudaLaunchKernel": 1, "kernel": 2, "cudaMalloc": 1})

    def test_numbers_may_be_strings(self):
        event = {key: str(value) if key != "args" else {"correlation": "9"} for key, value in
                 call("cudaLaunchKernel", START + 0.5, 2.5).items()}
        self.import_profile([event, kernel("k", START + 5, 1, 9.0)])
        launch, work = self.dump()
        self.assertEqual((launch["begin_ns"], launch["duration_ns"], launch["tid"]), (START * 1000 + 500, 2500, 10))
        self.assertEqual(work["args"]["launch"], launch["begin_ns"])

    def test_what_stands_before_the_damage_is_used(self):
        events = [call("cudaLaunchKernel", START + 10 * n, 1, n + 1) for n in range(500)]
        whole = self.write_profile(events, "whole.json.gz").read_bytes()
        (self.folder / "cut.json.gz").write_bytes(whole[:len(whole) // 2])
        _, lines = self.bring_in("--kineto", self.folder / "cut.json.gz")
        self.assertIn("read in part", lines[-1])
        self.assertTrue(0 < len(self.dump()) < 500)

    def test_damage_is_carried_on_into_the_report(self):
        events, now = [], START
        for step in range(6):
            begin = now
            for launch in range(20):
                events += [call("cudaLaunchKernel", now, 5, 20 * step + launch + 1),
                           kernel("k", now + 6, 2, 20 * step + launch + 1)]
                now += 50
            events.append(call("cudaStreamSynchronize", now, 1500))
            now += 1500
            events.append(span(f"ProfilerStep#{step}", begin, now - begin, category="user_annotation"))
        whole = self.write_profile(events).read_text()
        self.bring_in("--kineto", self.folder / "profile.json")
        document = self.report()
        self.assertNotIn("imported", document["processes"][0])
        self.assertNotEqual(document["findings"], [])
        self.assertEqual({one["share_of"] for one in document["findings"]}, {"steps"})
        cut = self.folder / "cut.json"
        cut.write_text(whole[:len(whole) // 2])
        self.run_folder = self.folder / "cut"
        self.bring_in("--kineto", cut)
        document = self.report()
        imported = document["processes"][0]["imported"]
        self.assertTrue(imported["in_part"])
        self.assertGreater(imported["read_pct"], 99)
        damaged = self.folder / "damaged.json"
        half = len(whole) // 2
        damaged.write_text(whole[:half] + "\0" * (len(whole) - half))
        self.run_folder = self.folder / "damaged"
        self.bring_in("--kineto", damaged)
        document = self.report()
        imported = document["processes"][0]["imported"]
        self.assertAlmostEqual(imported["read_pct"], 50, delta=5)
        self.assertEqual(imported["all_bytes"], len(whole))
        # Of the stump: what is there is told as a part, what is not there proves nothing.
        self.assertEqual(document["step_time_unknown"], "lost_records")
        self.assertLessEqual({one["share_of"] for one in document["findings"]}, {"read_part"})
        self.assertNotIn("idle_in_steps_pct", {key for key, value in document["processes"][0]["gpu"].items() if value})
        losses, _ = self.run_program(COMMAND, "report", self.run_folder, "losses")
        self.assertIn("read in part", losses)

    def test_what_is_left_out_is_in_the_report(self):
        self.import_profile([call("cudaLaunchKernel", START, 5, 1), {"ph": "X", "cat": "cpu_op", "name": "no time"}])
        imported = self.report()["processes"][0]["imported"]
        self.assertFalse(imported["in_part"])
        place = (self.folder / "profile.json").read_text().index('{"ph": "X", "cat": "cpu_op"')
        self.assertEqual(imported["left_out"], [{"kind": "events without a time", "count": 1, "first_byte": place}])

    def test_what_lies_too_deep_ends_the_reading_and_says_so(self):
        text = json.dumps({"traceEvents": [call("cudaLaunchKernel", START, 1, 1)]})[:-2]
        for count, deep in enumerate(("[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300, "[" * 200_000), 1):
            path = self.folder / f"deep-{count}.json"
            path.write_text(text + ', {"args": ' + deep + "}]}")
            _, lines = self.bring_in("--kineto", path)
            self.assertIn("deep", lines[-1])
            self.assertEqual(len(self.dump()), count)

    def test_what_is_no_profile_makes_no_trace(self):
        texts = {"empty": "", "words": "not JSON", "list": "[1, 2]", "object": "{}", "none": '{"traceEvents": []}',
                 "names": '{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}}]}',
                 "deep": "[" * 200_000, "number": "7", "zeros": "\0" * 100, "strings": '{"traceEvents": "x"}'}
        for name, text in texts.items():
            path = self.folder / f"{name}.json"
            path.write_text(text)
            traces, lines = self.bring_in("--kineto", path, status=1)
            self.assertEqual(traces, [], name)
            self.assertTrue(any("nothing imported" in line for line in lines), name)
        self.assertEqual(list(self.folder.glob("run/*.hptrace")), [])

    def test_one_file_that_cannot_be_used_does_not_keep_the_others_out(self):
        good = self.write_profile([call("cudaLaunchKernel", START, 1, 1)])
        traces, _ = self.bring_in("--kineto", self.folder / "missing.json", good, status=1)
        self.assertEqual(len(traces), 1)

    def test_usage(self):
        good = self.write_profile([call("cudaLaunchKernel", START, 1, 1)])
        self.run_program("/bin/sh", "-c", 'exec "$@"', "sh", *self.words(good), status=2)
        self.run_program("/bin/sh", "-c", 'exec "$@"', "sh", *self.words("--ftrace", good), status=1)

    def words(self, *more):
        return [COMMAND, "import", "-o", self.run_folder, *more]


class WithTheProbe(ImportTest):
    def test_a_profile_stands_on_the_clock_of_the_probed_process(self):
        program = "import os,time\na=time.time_ns()\ntime.sleep(0.05)\nprint(os.getpid(),a,time.time_ns())"
        out, _ = self.record("/usr/bin/python3", "-c", program, options=("--mode", "trace", "--target", "all"))
        pid, begin, end = (int(word) for word in out.split())
        self.import_profile([span("sleeps", begin / 1000, (end - begin) / 1000, pid=pid, tid=pid)])
        rows = self.dump()
        sleep, = [row for row in rows if "nanosleep" in row["function"] or row["function"] == "select"
                  if row["duration_ns"] > 40_000_000]
        sleeps, = [row for row in rows if row["function"] == "user_annotation"]
        slack = 5_000  # of the two clocks' readings
        self.assertLessEqual(sleeps["begin_ns"], sleep["begin_ns"] + slack)
        self.assertLessEqual(end_ns(sleep), end_ns(sleeps) + slack)
        self.assertLess(sleeps["duration_ns"] - sleep["duration_ns"], 40_000_000)
        self.assertEqual(len({process["host"] for process in self.report()["processes"]}), 1)


@unittest.skipUnless(PROFILES and Path(PROFILES).is_dir(), "no folder of real profiles: set HOSTPROBE_TEST_PROFILES")
class Real(ImportTest):
    def check(self, name):
        path = Path(PROFILES) / name
        profile = json.loads(gzip.decompress(path.read_bytes()))
        self.bring_in("--kineto", path)
        by_category = defaultdict(list)
        for event in profile["traceEvents"]:
            if event.get("ph") == "X":
                by_category[event["cat"]].append(event)
        rows = self.dump()
        by_function = defaultdict(list)
        for row in rows:
            by_function[row["function"]].append(row)
        self.check_calls(by_category["cuda_runtime"], by_function)
        self.check_gpu(by_category, by_function)
        steps = [e for e in by_category["user_annotation"] if e["name"].startswith("ProfilerStep#")]
        self.assertEqual(sorted(1000 * e["dur"] for e in steps),
                         sorted(row["duration_ns"] for row in by_function["ProfilerStep"]))
        ranges = len(by_category["cpu_op"]) + len(by_category["user_annotation"]) - len(steps)
        self.assertEqual(len(by_function["cpu_op"]) + len(by_function["user_annotation"]), ranges)
        report = self.report()
        process = report["processes"][0]
        self.assertEqual(process["rank"], profile["distributedInfo"]["rank"])
        launches = Counter(e["name"] for e in by_category["cuda_runtime"] if "Launch" in e["name"])
        self.assertEqual(process["launches"]["by_function"], launches)
        syncs = [e for e in by_category["cuda_runtime"] if e["name"].endswith("Synchronize")]
        found = process.get("syncs", {"by_function": {}, "total_ms": 0})
        self.assertEqual(found["by_function"], Counter(e["name"] for e in syncs))
        self.assertAlmostEqual(found["total_ms"], sum(e["dur"] for e in syncs) / 1000, places=3)
        self.assertEqual(report["steps"]["count"], len(steps))
        self.check_gpu_answer(by_category, process["gpu"])

    def check_gpu_answer(self, by_category, gpu):
        spans = [(e["ts"], e["ts"] + e["dur"]) for category in GPU for e in by_category[category]]
        self.assertEqual((gpu["source"], gpu["kernels"]), ("profile", len(by_category["kernel"])))
        self.assertAlmostEqual(gpu["kernel_ms"], sum(e["dur"] for e in by_category["kernel"]) / 1000, places=3)
        self.assertAlmostEqual(gpu["busy_ms"], union_us(spans) / 1000, places=3)

    def check_calls(self, calls, by_function):
        for function, count in Counter(e["name"] for e in calls).items():
            expected = sorted((1000 * e["ts"], 1000 * e["dur"]) for e in calls if e["name"] == function)
            self.assertEqual(sorted((r["begin_ns"], r["duration_ns"]) for r in by_function[function]), expected)

    def check_gpu(self, by_category, by_function):
        launched = {e["args"]["correlation"]: 1000 * e["ts"] for e in by_category["cuda_runtime"]}
        expected, found, spans = [], [], []
        for category, function in GPU.items():
            for event in by_category[category]:
                expected.append((1000 * event["ts"], 1000 * event["dur"], event["name"], event["args"]["stream"],
                                 launched.get(event["args"]["correlation"], 0)))
                spans.append((event["ts"], event["ts"] + event["dur"]))
            for row in by_function[function]:
                args = row["args"]
                found.append((row["begin_ns"], row["duration_ns"], args["name"], args["stream"] & 0xffffffff, args["launch"]))
        self.assertEqual(sorted(found), sorted(expected))
        self.assertEqual(union_us((b / 1000, (b + d) / 1000) for b, d, *_ in found), union_us(spans))

    def test_control(self):
        self.check("control.json.gz")

    def test_test(self):
        self.check("test.json.gz")

    def test_alexnet(self):
        self.check("alexnet.json.gz")

    def test_sampled(self):
        self.check("sampled_rank-0.json.gz")


if __name__ == "__main__":
    main()
