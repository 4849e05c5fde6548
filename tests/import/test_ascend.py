#!/usr/bin/env python3
"""Profiles of Ascend's devices: the lanes of a file become one process, work finds its call by its number or by the arrow to it, and
collectives of ranks meet. Only the documented schema was at hand.

test_ascend.py [-v] [Test.test_…]
"""

import json
import shutil
import subprocess

from ascend_profile import CANN, EPOCH_US, LAUNCHES, STEPS, AscendProfile, write_rank
from imported import COMMAND, ImportTest, main


class Ascend(ImportTest):
    def ranks(self, count=2, **args):
        paths = []
        for rank in range(count):
            folder = self.folder / f"rank{rank}"
            folder.mkdir(exist_ok=True)
            paths.append(folder / "trace_view.json")
            write_rank(paths[-1], rank, late_us=120 * rank, **args)
        return paths

    def lines(self):
        return [json.loads(line) for line in subprocess.check_output([COMMAND, "dump", self.run_folder, "--json"], text=True).splitlines()]

    def report(self):
        return json.loads(subprocess.check_output([COMMAND, "report", "--json", self.run_folder]))

    def test_lanes_are_one_process_of_the_machine(self):
        self.bring_in("--kineto", *self.ranks())
        report = self.report()
        self.assertEqual([(p["pid"], p["rank"]) for p in report["processes"]], [(383681, 0), (383682, 1)])
        self.assertEqual(report["steps"]["count"], STEPS)
        for process in report["processes"]:
            self.assertEqual(process["launches"]["by_function"], {"Node@launch": STEPS * (LAUNCHES + 1)})
            self.assertEqual(process["syncs"]["by_function"], {"aclrtSynchronizeStream": STEPS})
            self.assertEqual((process["gpu"]["source"], process["gpu"]["kernels"]), ("profile", STEPS * (LAUNCHES + 1)))
            self.assertEqual(process["gpu"]["copies"], STEPS)
            self.assertAlmostEqual(process["gpu"]["kernel_ms"], STEPS * (LAUNCHES * 0.0305 + 0.2), places=6)

    def test_times_have_all_their_digits(self):
        self.bring_in("--kineto", *self.ranks(1))
        kernels = [line for line in self.lines() if line["function"] == "kernel" and line["args"]["name"] == "MatMul"]
        self.assertEqual(kernels[0]["begin_ns"], EPOCH_US * 1000 + 40_250)
        self.assertEqual(kernels[0]["duration_ns"], 30_500)

    def test_work_finds_the_launch_that_it_names(self):
        self.bring_in("--kineto", *self.ranks(1))
        launches = {line["begin_ns"]: line["args"]["kernel"] for line in self.lines() if line["function"] == "Node@launch"}
        kernels = [line for line in self.lines() if line["function"] == "kernel" and line["args"]["name"] == "MatMul"]
        self.assertEqual(len(kernels), STEPS * LAUNCHES)
        for kernel in kernels:
            self.assertEqual(launches[kernel["begin_ns"] - 25_250], "MatMul")

    def test_collectives_of_ranks_meet_and_their_parts_are_not_counted_twice(self):
        self.bring_in("--kineto", *self.ranks())
        found = [line for line in self.lines() if line["function"] == "AllReduce"]
        self.assertEqual(len(found), 2 * STEPS)
        self.assertEqual({line["args"]["count"] for line in found}, {1 << 20})
        self.assertEqual(len({line["args"]["comm"] for line in found}), 1)
        row, = self.report()["collectives"]
        self.assertEqual((row["op"], row["ranks"], row["count"]), ("AllReduce", 2, STEPS))
        self.assertAlmostEqual(row["skew_p50_us"], 120, places=6)
        work = [line for line in self.lines() if line["function"] == "kernel" and line["args"]["name"] == "hcom_allReduce"]
        self.assertEqual({line["duration_ns"] for line in work}, {200_000})
        self.assertEqual({line["args"]["stream"] for line in work}, {11, 1 << 32 | 11})  # of devices 0 and 1

    def test_where_cann_was_not_recorded_the_arrow_tells_who_launched(self):
        _, said = self.bring_in("--kineto", *self.ranks(1, with_cann=False))
        self.assertIn(f"{STEPS * LAUNCHES} durations of launches that only an arrow tells of", "\n".join(said))
        launches = [line for line in self.lines() if line["function"] == "torch_to_npu"]
        self.assertEqual(len(launches), STEPS * LAUNCHES)
        self.assertEqual({line["args"]["kernel"] for line in launches}, {"MatMul"})
        self.assertEqual({line["duration_ns"] for line in launches}, {0})

    def test_what_waits_on_the_device_is_no_work_and_is_counted(self):
        _, said = self.bring_in("--kineto", *self.ranks(1))
        self.assertIn(f"{2 * STEPS} tasks of the device that wait or signal", "\n".join(said))

    def test_small_process_ids_as_of_containers(self):
        self.bring_in("--kineto", *self.ranks(1, pid=271))
        self.assertEqual([process["pid"] for process in self.report()["processes"]], [271])

    def test_rank_and_host_are_guessed_from_the_folder(self):
        folder = self.folder / "node-7_383681_20260101120000000_ascend_pt"
        (folder / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        (folder / "profiler_info_5.json").write_text("{}")
        write_rank(folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json", 0)
        _, said = self.bring_in("--kineto", folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json")
        self.assertIn("rank 5 and host node-7 guessed", "\n".join(said))
        process = self.report()["processes"][0]
        self.assertEqual((process["rank"], process["host"]), (5, "node-7"))

    def test_a_collective_without_its_call_is_counted(self):
        profile = AscendProfile(4711)
        profile.collective("allReduce", 0, 100, 4711, 200, 50, 11, 7, 64, 2)
        profile.events = [event for event in profile.events if event["pid"] != profile.lane(CANN)]
        profile.names()
        profile.write(self.folder / "trace_view.json")
        _, said = self.bring_in("--kineto", self.folder / "trace_view.json")
        self.assertIn("1 collectives of HCCL whose call on the host is not in the profile", "\n".join(said))
        self.assertFalse([line for line in self.lines() if line["function"] == "AllReduce"])

    def test_wild_arguments_end_nothing(self):
        path = self.ranks(1)[0]
        events = json.loads(path.read_text())
        wild = [None, -1, 2**64, "NPU", [], {}, "9" * 40, "-0", 1e300, ""]
        for number, event in enumerate(events):
            field = ("pid", "tid", "ts", "dur", "id", "name", "args")[number % 7]
            if number % 3 == 0:
                event[field] = wild[number % len(wild)]
        for value in wild:
            events.append({"ph": "X", "name": "hcom_allReduce__1_2_3", "pid": value, "tid": value, "ts": EPOCH_US, "dur": value,
                           "args": {"rank_size": value, "connection_id": value, "count": value, "data_type": value}})
            events.append({"ph": "M", "name": "process_labels", "pid": value, "tid": 0, "args": {"labels": value}})
        path.write_text(json.dumps(events))
        shutil.rmtree(self.run_folder, ignore_errors=True)
        self.bring_in("--kineto", path)
        self.assertTrue(self.report()["processes"])

    def test_the_kernels_trace_and_the_profile_stand_on_one_clock(self):
        """Beside what the probe wrote of the process: it knows both clocks."""
        program = ("import os,time\na=time.time_ns()\ntime.sleep(0.02)\nm=time.monotonic_ns()\ntime.sleep(0.02)\n"
                   "print(os.getpid(),a,m,time.time_ns())")
        out, _ = self.record("/usr/bin/python3", "-c", program, options=("--mode", "trace", "--target", "all"))
        pid, begin, inside, end = (int(word) for word in out.split())
        profile = AscendProfile(pid)
        profile.op("aten::sleeps", begin / 1000 - EPOCH_US, (end - begin) / 1000, pid)
        profile.launch("MatMul", (begin + 1000) / 1000 - EPOCH_US, pid, (begin + 100_000) / 1000 - EPOCH_US, 5, 2, 3)
        profile.names()
        profile.write(self.folder / "trace_view.json")
        self.bring_in("--kineto", self.folder / "trace_view.json")
        (self.folder / "trace.txt").write_text(
            f"  <idle>-0  [001] d..2. {inside // 10**9}.{inside % 10**9 // 1000:06}: sched_switch: prev_comm=swapper/1 prev_pid=0 "
            f"prev_prio=120 prev_state=R ==> next_comm=python3 next_pid={pid} next_prio=120\n")
        self.bring_in("--ftrace", "--clock", "mono", self.folder / "trace.txt")
        rows = self.lines()
        op, = [row for row in rows if row["function"] == "cpu_op" and row["args"]["name"] == "aten::sleeps"]
        switch, = [row for row in rows if row["function"] == "sched_switch"]
        self.assertLess(op["begin_ns"], switch["begin_ns"])
        self.assertLess(switch["begin_ns"], op["begin_ns"] + op["duration_ns"])
        self.assertEqual(len({process["host"] for process in self.report()["processes"]}), 1)


if __name__ == "__main__":
    main()
