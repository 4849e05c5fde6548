#!/usr/bin/env python3
"""A run that is exported as a table and imported again has the same launches, waits and collectives; tables of others.

test_tables.py [-v] [Test.test_…]
"""

import csv
import json
from collections import Counter

from imported import COMMAND, main
from runs import ExportTest

COLUMNS = ("timestamp_ns,event_type,pid,tid,comm,cpu,grid_x,grid_y,grid_z,block_x,block_y,block_z,shared_mem,stream,last_offcpu_ns,"
           "last_oncpu_ns,irq_num,irq_name,duration_ns")


def said_of(args):
    """What the table says of a launch or a collective; nothing of other calls."""
    of_launch = ("kernel", "grid", "block", "shared_bytes", "stream") if "kernel" in args else ()
    of_collective = ("comm", "count", "place") if "comm" in args else ()
    return json.dumps({key: args.get(key) for key in of_launch + of_collective})


def waker_of(line):
    """The thread that ended a wait; a post from before the wait ended none, and none ended a wait whose time was up."""
    waker = line["args"].get("waker") or {"wake_ns": 0}
    return waker.get("tid") if waker["wake_ns"] <= line["duration_ns"] and not line.get("timed_out") else None


class RoundTrip(ExportTest):
    def import_again(self):
        """The folder of a run that is made of the run's table."""
        path = self.export("--csv", "run.csv")
        copy = self.folder / "copy"
        self.run_program(COMMAND, "import", "-o", copy, "--csv", path)
        return copy

    def calls(self, run, functions=None):
        """Of each process and thread: what it called, from when to when; of launches, waits and collectives what they say."""
        lines = [json.loads(line) for line in self.run_program(COMMAND, "dump", run, "--json")[0].splitlines()]
        return Counter((line["pid"], line["tid"], line["function"], line["begin_ns"], line["duration_ns"], said_of(line["args"]),
                        waker_of(line)) for line in lines
                       if "function" in line and (functions is None or line["function"] in functions))

    def check(self):
        """Every launch, wait, synchronisation and collective that has a record comes back."""
        copy = self.import_again()
        found = self.calls(copy)
        self.assertTrue(found)
        functions = {call[2] for call in found}
        self.assertEqual(found, self.calls(self.run_folder, functions))
        again = json.loads(self.run_program(COMMAND, "report", copy, "--json")[0])
        mine = self.report()
        order = lambda process: (process["rank"] is None, process["rank"], process["pid"])  # noqa: E731
        pairs = list(zip(sorted(mine["processes"], key=order), sorted(again["processes"], key=order), strict=True))
        for one, other in pairs:
            for key in ("rank", "pid", "host", "kind"):
                self.assertEqual(other[key], one[key], key)
            self.assertEqual(other["command"].split(), one["command"].split())
            self.assertEqual(Counter((t["tid"], t["name"], t["role"]) for t in other["threads"]),
                             Counter((t["tid"], t["name"], t["role"]) for t in one["threads"]))
        return mine, again, functions

    def test_records_of_ranks(self):
        self.record_ranks("trace")
        mine, again, functions = self.check()
        self.assertLessEqual({"cuLaunchKernel", "ncclAllReduce"}, functions)
        for one, other in zip(mine["processes"], again["processes"]):
            if one["kind"] == "rank":
                self.assertEqual(other["launches"]["by_function"], one["launches"]["by_function"])
        collectives = [{(c["comm"], c["op"]): [c[key] for key in ("ranks", "count", "bytes", "failed", "partly_seen")]
                        for c in report["collectives"]} for report in (mine, again)]
        self.assertTrue(collectives[0])
        self.assertEqual(collectives[1], collectives[0])

    def test_waits_and_wakers_of_threads(self):
        self.record_threads("trace")
        self.check()
        self.assertTrue(any(call[-1] for call in self.calls(self.run_folder)))

    def test_the_last_seconds(self):
        self.record_threads("flight")
        self.check()

    def test_calls_that_only_counters_know_are_said_to_be_missing(self):
        self.record_ranks("monitor")
        path = self.export("--csv", "run.csv")
        rows = list(csv.DictReader(path.read_text().splitlines()))
        self.assertGreater(sum(int(row["count"]) for row in rows if row["type"] == "counted"), 0)
        copy = self.folder / "copy"
        self.run_program(COMMAND, "import", "-o", copy, "--csv", path)
        again = json.loads(self.run_program(COMMAND, "report", copy, "--json")[0])
        self.assertGreater(sum(process["lost"] for process in again["processes"]), 0)

    def test_columns_are_those_of_the_tracers_first(self):
        self.record_ranks("trace")
        path = self.export("--csv", "run.csv")
        self.assertTrue(path.read_text().startswith(COLUMNS + ","))
        rows = list(csv.DictReader(path.read_text().splitlines()))
        launches = [row for row in rows if row["event_type"] == "cuLaunchKernel"]
        found = Counter((int(row["timestamp_ns"]), int(row["duration_ns"]), int(row["grid_x"]), row["kernel"]) for row in launches)
        expected = Counter((row["begin_ns"], row["duration_ns"], row["args"]["grid"][0], row["args"]["kernel"])
                           for row in self.dump() if row.get("function") == "cuLaunchKernel")
        self.assertEqual(found, expected)


class OfOthers(ExportTest):
    def bring_table(self, *lines, header=COLUMNS, status=0):
        path = self.folder / "table.csv"
        path.write_text("\n".join(([header] if header else []) + list(lines)) + "\n")
        return self.bring_in("--csv", path, status=status)

    LAUNCH = '{},cuLaunchKernel,7,7,"py, thon",2,4,5,6,128,1,1,1024,0x7f00,,,,,'

    def test_tables_of_tracers(self):
        _, lines = self.bring_table(
            self.LAUNCH.format(0), self.LAUNCH.format(2500), "3000,syncEnter,7,7,python,1,,,,,,,,,,,,,",
            "5000,syncExit,7,7,python,1,,,,,,,,,,,,,2000", "6000,schedSwitch,7,7,python,1,,,,,,,,,6000,0,,,",
            "6100,hardirqExit,7,7,python,1,,,,,,,,,,,32,eth0,700", "7000,cudaLaunchKernel,9,9,b,0,1,1,1,1,1,1,0,0x0,,,,,")
        self.assertEqual(lines, [])
        self.assertEqual([row["function"] for row in self.dump() if row["function"] in ("sched_switch", "irq_handler_exit")],
                         ["sched_switch", "irq_handler_exit"])
        first, second = self.report()["processes"]
        self.assertEqual({first["pid"], second["pid"]}, {7, 9})
        self.assertEqual(first["launches"]["by_function"], {"cuLaunchKernel": 2})
        self.assertAlmostEqual(first["launches"]["gap_max_us"], 2.5)
        self.assertEqual((first["syncs"]["count"], first["syncs"]["total_ms"]), (1, 0.002))
        self.assertEqual(second["launches"]["by_function"], {"cudaLaunchKernel": 1})
        launch = next(row for row in self.dump() if row["function"] == "cuLaunchKernel")
        self.assertEqual(launch["args"]["grid"], [4, 5, 6])
        self.assertEqual(launch["args"]["stream"], "0x7f00")

    def test_columns_may_stand_in_any_order_and_be_missing(self):
        self.bring_table("cuLaunchKernel,100,5,5,x", "cuLaunchKernel,200,5,5,x", header="event_type,timestamp_ns,tid,pid,mine")
        self.assertEqual([row["begin_ns"] for row in self.dump()], [100, 200])

    def test_a_table_without_a_first_line(self):
        self.bring_table(self.LAUNCH.format(10), header="")
        self.assertEqual(len(self.dump()), 1)

    def test_bad_lines_are_counted(self):
        _, lines = self.bring_table(
            self.LAUNCH.format(0), "x,cuLaunchKernel,7,7", ",,,,,,,", '5,cuLaunchKernel,7,7,"open', "5,cuLaunchKernel,,7",
            "5,nothing,7,7", "5,cuLaunchKernel,7,many,x,,-1,1e9,x,1,1,1,1,zz", "9" * 30 + ",cuLaunchKernel,7,7",
            "5,syncExit,7,7,x", "5,wait counter,8,8,x", self.LAUNCH.format(7) + ",," * 40)
        text = "\n".join(lines)
        for kind in ("without a process or a time", "never closed", "'nothing'", "numbers that are none",
                     "without a begin", "too long"):
            self.assertIn(kind, text)
        self.assertEqual(self.report()["processes"][0]["launches"]["count"], 3)

    def test_what_is_no_table_makes_no_trace(self):
        for text in ("", "\0" * 50, "hello", "{}", COLUMNS):
            path = self.folder / "no.csv"
            path.write_text(text)
            traces, lines = self.bring_in("--csv", path, status=1)
            self.assertEqual(traces, [])
            self.assertTrue(any("nothing imported" in line for line in lines), text)


if __name__ == "__main__":
    main()
