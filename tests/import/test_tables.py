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


class RoundTrip(ExportTest):
    def both(self):
        """The report of the run, and of what was imported from its table."""
        path = self.export("--csv", "run.csv")
        copy = self.folder / "copy"
        self.run_program(COMMAND, "import", "-o", copy, "--csv", path)
        return self.report(), json.loads(self.run_program(COMMAND, "report", copy, "--json")[0])

    def about(self, expected, found, what):
        """Times are written in nanoseconds, and percentiles come from buckets of 6 %."""
        if expected is None or found is None:
            self.assertEqual(found, expected, what)
        else:
            self.assertAlmostEqual(found, expected, delta=max(0.07 * abs(expected), 0.003), msg=what)

    def compare(self, mine, copy, exact, near, what):
        for key in exact:
            self.assertEqual(copy[key], mine[key], f"{what} {key}")
        for key in near:
            self.about(mine[key], copy[key], f"{what} {key}")

    def check_process(self, mine, copy):
        self.compare(mine, copy, ("rank", "pid", "host", "lost", "kind"), (), mine["pid"])
        self.assertEqual(copy["command"].split(), mine["command"].split())
        self.assertEqual(Counter((t["tid"], t["name"], t["role"]) for t in copy["threads"]),
                         Counter((t["tid"], t["name"], t["role"]) for t in mine["threads"]))
        self.assertEqual("launches" in copy, bool(mine.get("launches", {}).get("count")))
        if "launches" in copy:
            self.compare(mine["launches"], copy["launches"], ("count", "kernels", "by_function", "gaps", "gaps_unknown"),
                         ("gap_p50_us", "gap_p99_us", "gap_max_us", "call_p50_us", "call_p99_us", "call_total_ms"), "launches")
        if "syncs" in copy:
            self.compare(mine["syncs"], copy["syncs"], ("count", "by_function"), ("total_ms", "max_us"), "syncs")
        # A table has calls that returned. A thread that was in its only one when the process ended is in the run alone.
        waits = [{(w["function"], w["library"], w["role"]): w for w in process["waits"] if w["count"] > 0}
                 for process in (mine, copy)]
        self.assertEqual(sorted(waits[1]), sorted(waits[0]))
        for key, wait in waits[0].items():
            again = waits[1][key]
            self.compare(wait, again, ("count", "timed_out"), ("total_ms", "p50_us", "p99_us", "max_us"), key)
            self.compare(wait["wake"], again["wake"], ("count", "waker_role", "waker_roles"),
                         ("total_ms", "p50_us", "p99_us", "max_us"), key)

    def check(self):
        mine, copy = self.both()
        self.assertEqual(len(copy["processes"]), len(mine["processes"]))
        order = lambda process: (process["rank"] is None, process["rank"], process["pid"])  # noqa: E731
        for pair in zip(sorted(mine["processes"], key=order), sorted(copy["processes"], key=order)):
            self.check_process(*pair)
        collectives = [{(c["comm"], c["op"]): c for c in report["collectives"]} for report in (mine, copy)]
        self.assertEqual(collectives[1].keys(), collectives[0].keys())
        for key, collective in collectives[0].items():
            self.compare(collective, collectives[1][key], ("ranks", "count", "bytes", "failed", "partly_seen"),
                         ("host_p50_us", "host_max_us", "skew_p50_us", "skew_max_us"), key)
            if collective["last"] is not None:
                self.assertEqual(collectives[1][key]["last"]["rank"], collective["last"]["rank"])
        return mine

    def test_records_of_ranks(self):
        self.record_ranks("trace")
        run = self.check()
        self.assertTrue(run["collectives"])
        self.assertTrue(all(process["launches"]["count"] for process in run["processes"] if process["kind"] == "rank"))

    def test_counters_of_ranks(self):
        self.record_ranks("monitor")
        self.check()

    def test_waits_and_wakers_of_threads(self):
        self.record_threads("trace")
        run = self.check()
        self.assertTrue(any(wait["wake"]["count"] for process in run["processes"] for wait in process["waits"]))

    def test_counters_of_threads(self):
        self.record_threads("monitor")
        self.check()

    def test_the_last_seconds(self):
        self.record_threads("flight")
        self.check()

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
