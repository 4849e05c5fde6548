#!/usr/bin/env python3
"""hostprobe.open: every table in pyarrow, pandas, Polars and DuckDB, held against `dump --json` and `report --json` of one run."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from collections import Counter
from pathlib import Path

import probed
from probed import BUILD, COMMAND, SOURCE

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import duckdb
import hostprobe
import pandas
import polars
import pyarrow

RECORDS = ("launches", "waits", "syncs", "collectives", "regions", "marks", "events")
MARKED = """
import hostprobe
for i in range(40):
    with hostprobe.region("work" if i % 2 else "rest"):
        hostprobe.mark("loss", i / 4)
    hostprobe.step(i)
"""
MODULES = {"PYTHONPATH": str(BUILD / "lib/hostprobe/python")}


def ask(*words):
    done = subprocess.run([str(word) for word in (COMMAND, *words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def record(run, *command, options=("--simgpu", "2"), **changes):
    subprocess.run([str(word) for word in (COMMAND, "run", "-o", run, "--mode", "trace", "--budget", "0", *options, "--",
                                           *command)],
                   check=True, capture_output=True, env={**os.environ, **changes}, cwd=Path(run).parent)


def rows_of(table):
    return pyarrow.table(table).to_pylist()


class Jobs(unittest.TestCase):
    """A folder of two jobs: a program that was run twice."""

    def test_one_job_is_opened_and_none_is_mixed_in(self):
        with tempfile.TemporaryDirectory(prefix="hostprobe-test.") as folder:
            path = Path(folder, "run")
            for steps in (40, 7):
                record(path, sys.executable, "-c", MARKED.replace("40", str(steps)), options=(), **MODULES)
            newest, first = hostprobe.open(path), hostprobe.open(path, job=1)
            self.assertEqual((newest.job, newest.jobs, first.job, first.jobs), (2, 2, 1, 2))
            for run, steps in ((newest, 7), (first, 40)):
                self.assertEqual(pyarrow.table(run.marks).num_rows, steps)
                self.assertEqual(pyarrow.table(run.processes).num_rows, 1)
                self.assertEqual(run.report()["run"]["job"], run.job)
            for job in (0, 3, -1):
                self.assertRaises(ValueError, hostprobe.open, path, job=job)


class Tables(unittest.TestCase):
    """One job of two programs: ranks that train, and a program that marks what it does."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name, "run")
        record(cls.path, "sh", "-c", '"$0" --ranks 2 --steps 12 --pipeline 1 && "$1" -c "$2"', BUILD / "examples/train_parallel",
               sys.executable, MARKED, options=("--simgpu", "2", "--target", "all"), **MODULES,
               SIMNODE_FAULT="launch_delay,rank=1,from_ms=0,to_ms=600000,amount=100")  # so that there is something to find
        cls.run_ = hostprobe.open(cls.path)
        cls.dumped = [line for line in map(json.loads, ask("dump", cls.path, "--json").splitlines()) if "function" in line]
        cls.report = json.loads(ask("report", cls.path, "--json"))

    def functions(self, name):
        return Counter(row["function"] for row in rows_of(self.run_.table(name, ["function"])))

    def test_every_reader_takes_every_table(self):
        for rows in self.run_:
            with self.subTest(rows.name):
                arrow = pyarrow.table(rows)
                arrow.validate(full=True)
                self.assertEqual(arrow.column_names, list(rows.columns))
                self.assertEqual(arrow.schema, pyarrow.schema(rows))
                self.assertEqual(pandas.DataFrame.from_arrow(rows).shape, arrow.shape)
                self.assertEqual(arrow.to_pandas().shape, arrow.shape)
                self.assertEqual(polars.DataFrame(rows).to_dicts(), arrow.to_pylist())
                self.assertEqual(sorted(map(repr, duckdb.sql("select * from rows").fetchall())),
                                 sorted(repr(tuple(row.values())) for row in arrow.to_pylist()))

    def test_the_run_is_worth_looking_at(self):
        for table in self.run_:
            self.assertGreater(pyarrow.table(table).num_rows, 0, table.name)

    def test_each_record_stands_in_one_table(self):
        found = {name: self.functions(name) for name in RECORDS}
        self.assertEqual(sum(found.values(), Counter()), Counter(line["function"] for line in self.dumped))
        names = [function for functions in found.values() for function in functions]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual({"cuLaunchKernel"}, set(found["launches"]))
        self.assertLessEqual({"cuStreamSynchronize"}, set(found["syncs"]))
        self.assertEqual(set(found["regions"]), {"hostprobe_region"})
        self.assertEqual(set(found["marks"]), {"hostprobe_mark"})

    def test_records_are_those_of_dump_in_its_order(self):
        shift = {row["pid"]: row["monotonic_ns"] for row in rows_of(self.run_.processes)}
        for name in RECORDS:
            functions = set(self.functions(name))
            expected = [(line["pid"], line["tid"], line["role"], line["function"], line["begin_ns"], line["duration_ns"],
                         line.get("failed", False)) for line in self.dumped if line["function"] in functions]
            columns = ["pid", "tid", "role", "function", "begin_ns", "duration_ns"]
            columns += ["failed"] if "failed" in self.run_.table(name).columns else []
            rows = rows_of(self.run_.table(name, columns))
            self.assertEqual([(row["pid"], row["tid"], row["role"], row["function"], row["begin_ns"] + shift[row["pid"]],
                               row["duration_ns"], row.get("failed", False)) for row in rows], expected, name)

    def arguments(self, name):
        """Rows of a table, each with what dump says of the same record."""
        functions = set(self.functions(name))
        lines = [line for line in self.dumped if line["function"] in functions]
        rows = rows_of(self.run_.table(name))
        self.assertEqual(len(rows), len(lines))
        return [(row, line, line["args"]) for row, line in zip(rows, lines)]

    def test_launches_say_what_dump_says(self):
        for row, line, args in self.arguments("launches"):
            self.assertEqual(row["kernel"], args.get("kernel"))
            self.assertEqual(row["stream"], int(args["stream"], 16))
            if "grid" in args:
                self.assertEqual([row["grid_x"], row["grid_y"], row["grid_z"]], args["grid"])
                self.assertEqual([row["block_x"], row["block_y"], row["block_z"]], args["block"])
                self.assertEqual(row["shared_bytes"], args["shared_bytes"])
            self.assertEqual((row["nodes"], row["kernels"]), (args.get("nodes"), args.get("kernels")))
            self.assertEqual(row["captured"], line.get("captured", False))

    def test_waits_say_what_dump_says(self):
        for row, line, args in self.arguments("waits"):
            self.assertEqual(row["caller"], args["site"])
            self.assertEqual([row["timed_out"], row["at_once"], row["on_file"]],
                             [line.get(flag, False) for flag in ("timed_out", "at_once", "file")])
            self.assertFalse(row["aggregated"])  # not in this mode
            self.assertEqual(row["stack"], ";".join(line["stack"]) if line.get("stack") else None)
            waker = args.get("waker")
            if waker and not row["timed_out"] and not row["aggregated"]:
                self.assertEqual((row["waker_tid"], row["waker_role"], row["wake_ns"]),
                                 (waker["tid"], waker["role"], waker["wake_ns"]))
            else:
                self.assertEqual((row["waker_tid"], row["waker_role"], row["wake_ns"]), (None, None, None))
        self.assertTrue(any(row["wake_ns"] for row, _, _ in self.arguments("waits")))

    def test_collectives_say_what_dump_says(self):
        sizes = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1, "uint8": 1}
        for row, line, args in self.arguments("collectives"):
            call, place = args["call"], args["place"]
            self.assertEqual(row["comm"], args["comm"].removeprefix("0x").rjust(16, "0"))
            self.assertEqual((row["sequence"], row["group"], row["data_type"], row["reduction"]),
                             (call["sequence"], call["group"] or None, call["type"], call["op"]))
            self.assertEqual((row["comm_rank"], row["comm_size"], row["peer"]),
                             (place["rank"], place["size"], place["peer"]))
            self.assertEqual((row["elements"], row["bytes"]), (args["count"], args["count"] * sizes[call["type"]]))
            self.assertEqual(row["op"], row["function"].removeprefix("nccl"))

    def test_marks_regions_and_events_say_what_dump_says(self):
        for row, _, args in self.arguments("marks"):
            self.assertEqual((row["name"], row["value"]), (args["name"], args["value"]))
        for row, _, args in self.arguments("regions"):
            self.assertEqual(row["name"], args["name"])
        for row, _, args in self.arguments("events"):
            self.assertEqual(json.loads(row["arguments"]), args)

    def test_counts_are_those_of_the_report(self):
        by_pid = {process["pid"]: process for process in self.report["processes"]}
        launches = Counter(row["pid"] for row in rows_of(self.run_.launches))
        syncs = Counter(row["pid"] for row in rows_of(self.run_.syncs))
        activities = rows_of(self.run_.gpu_activities)
        kernels = Counter(row["pid"] for row in activities if row["type"] == "kernel")
        for pid, process in by_pid.items():
            if "launches" not in process:
                continue
            self.assertEqual(launches[pid], process["launches"]["count"])
            self.assertEqual(syncs[pid], process["syncs"]["count"])
            gpu = process["gpu"]
            self.assertEqual({row["source"] for row in activities if row["pid"] == pid}, {gpu["source"]})
            self.assertGreaterEqual(gpu["kernels"], process["launches"]["kernels"])
            if gpu["source"] == "events":  # else a row is from a launch into the empty GPU until it was known to be empty again
                self.assertEqual(kernels[pid], gpu["kernels"])
        collectives = Counter((row["comm"], row["op"], row["comm_rank"]) for row in rows_of(self.run_.collectives))
        for one in self.report["collectives"]:
            if one["op"] not in ("Send", "Recv"):
                self.assertEqual({count for (comm, op, _), count in collectives.items() if (comm, op) == (one["comm"], one["op"])},
                                 {one["count"]})

    def test_the_document_is_that_of_the_report(self):
        without = {"hostprobe": None}  # the commits of two files
        self.assertEqual(self.run_.report() | without, self.report | without)

    def test_answers_are_those_of_the_report(self):
        processes = self.report["processes"]
        for row, process in zip(rows_of(self.run_.processes), processes, strict=True):
            for key in ("rank", "pid", "host", "kind", "command", "wall_ms", "cpu_ms", "records", "lost", "trace"):
                self.assertEqual(row[key], process[key], key)
            self.assertEqual(row["launches"], process.get("launches", {}).get("count"))
            self.assertEqual(row["end_how"], process["end"]["how"])
        threads = [(process, thread) for process in processes for thread in process["threads"]]
        for row, (process, thread) in zip(rows_of(self.run_.threads), threads, strict=True):
            self.assertEqual((row["rank"], row["pid"], row["thread"]), (process["rank"], process["pid"], thread["name"]))
            for key in ("tid", "role", "wall_ms", "cpu_ms", "wait_ms", "unexplained_ms", "records", "lost"):
                self.assertEqual(row[key], thread[key], key)
        for row, site in zip(rows_of(self.run_.wait_sites), [s for p in processes for s in p["waits"]], strict=True):
            for key in ("function", "library", "role", "count", "total_ms", "p99_us", "share_pct"):
                self.assertEqual(row[key], site[key], key)
            self.assertEqual((row["wake_count"], row["wake_p50_us"]), (site["wake"]["count"], site["wake"]["p50_us"]))
        for row, one in zip(rows_of(self.run_.collective_sites), self.report["collectives"], strict=True):
            for key in ("comm", "op", "count", "bytes", "skew_p50_us"):
                self.assertEqual(row[key], one[key], key)
        for row, finding in zip(rows_of(self.run_.findings), self.report["findings"], strict=True):
            for key in ("cause", "rank", "text", "share_pct"):
                self.assertEqual(row[key], finding[key], key)
            self.assertEqual(json.loads(row["evidence"]), finding["evidence"])

    def test_steps_are_counted_and_lie_on_the_axis_of_the_records(self):
        steps = rows_of(self.run_.steps)
        for rank in (0, 1):
            pid = next(process["pid"] for process in self.report["processes"] if process["rank"] == rank)
            own = [step for step in steps if step["pid"] == pid]
            if not own:  # nobody marks them here, and where a busy machine stretches some none is found
                continue
            self.assertEqual({step["rank"] for step in own}, {rank})
            self.assertTrue(all(step["duration_ns"] > 0 for step in own))
            begins = [row["begin_ns"] for row in rows_of(self.run_.launches) if row["pid"] == pid]
            inside = [sum(step["begin_ns"] <= begin < step["begin_ns"] + step["duration_ns"] for begin in begins) for step in own]
            self.assertEqual(len(set(inside[1:-1])), 1, inside)  # each step launches the same
        marked = [step for step in steps if step["source"] == "marks" and step["rank"] is None]
        self.assertEqual([step["number"] for step in marked], list(range(1, 40)))
        ends = [row["begin_ns"] for row in rows_of(self.run_.events) if row["function"] == "hostprobe_step"]
        for step, mark in zip(marked, ends, strict=True):
            self.assertLess(abs(step["begin_ns"] - mark), 100)  # a step's record spans it

    def test_columns_are_taken_in_the_order_asked_for(self):
        table = self.run_.table("launches", ["duration_ns", "rank"])
        self.assertEqual(pyarrow.table(table).column_names, ["duration_ns", "rank"])
        self.assertEqual(rows_of(table), [{"duration_ns": row["duration_ns"], "rank": row["rank"]}
                                          for row in rows_of(self.run_.launches)])
        self.assertEqual(pyarrow.table(self.run_.table("launches", [])).num_columns, 0)

    def test_words_of_a_stream_are_numbered_once(self):
        reader = pyarrow.RecordBatchReader.from_stream(self.run_.launches)
        words = []
        for batch in reader:
            own = batch.column("kernel").dictionary.to_pylist()
            self.assertEqual(own[:len(words)], words)
            words = own
        self.assertEqual(len(words), len(set(words)))

    def test_streams_begin_anew_and_side_by_side(self):
        table, results = self.run_.launches, []
        threads = [threading.Thread(target=lambda: results.append(pyarrow.table(table))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 4)
        self.assertTrue(all(result.equals(results[0]) for result in results))

    def test_the_start_of_the_run_is_said(self):
        schema = pyarrow.schema(self.run_.waits)
        self.assertEqual(int(schema.metadata[b"hostprobe.start_realtime_ns"]), self.run_.start_realtime_ns)
        self.assertEqual(schema.metadata[b"hostprobe.run"].decode(), str(self.path))
        self.assertEqual(min(row["begin_ns"] for row in rows_of(self.run_.processes)), 0)
        self.assertGreaterEqual(min(row["begin_ns"] for name in RECORDS for row in rows_of(self.run_.table(name, ["begin_ns"]))), 0)

    def test_the_definitions_say_what_there_is(self):
        for name, _, _, columns in hostprobe._run._tables.definitions():
            schema = pyarrow.schema(self.run_.table(name))
            said = {column: (kind, nullable) for column, kind, nullable, _, _ in columns}
            real = {field.name: (str(field.type).replace("values=", "").replace("indices=", "").split(", ordered")[0].rstrip(">"),
                                 field.nullable) for field in schema}
            self.assertEqual({name: (kind.replace("dictionary<int32, string>", "dictionary<string, int32"), nullable)
                              for name, (kind, nullable) in said.items()}, real)


class Words(unittest.TestCase):
    def test_words_that_come_late_are_read_right_over_many_batches_and_processes(self):
        """A dictionary grows from batch to batch, and readers keep what they made of an earlier one."""
        with tempfile.TemporaryDirectory(prefix="hostprobe-test.") as folder:
            run = Path(folder, "run")
            programs = [("import hostprobe\n"
                         "for i in range(90_000):\n"
                         f"    with hostprobe.region(f'r{{i // 15_000 + {2 * process}}}'): pass\n") for process in range(3)]
            record(run, "sh", "-c", 'for program; do "$0" -c "$program"; done', sys.executable, *programs,
                   options=("--target", "all"), HOSTPROBE_BUFFER_MB="256", **MODULES)
            regions = hostprobe.open(run).regions
            dumped = (json.loads(line) for line in ask("dump", run, "--json").splitlines())
            expected = Counter(line["args"]["name"] for line in dumped if line.get("function") == "hostprobe_region")
            self.assertGreater(sum(expected.values()), 3 * 65_536)
            self.assertEqual(len(expected), 10)
            reader = pyarrow.RecordBatchReader.from_stream(regions)
            self.assertGreater(sum(1 for _ in reader), 3)
            self.assertEqual(dict(duckdb.sql("select name, count(*) from regions group by name").fetchall()), expected)
            self.assertEqual(Counter(duckdb.sql("select name from regions").arrow().read_all()["name"].to_pylist()), expected)
            self.assertEqual(Counter(polars.DataFrame(regions)["name"].to_list()), expected)
            self.assertEqual(Counter(pandas.DataFrame.from_arrow(regions)["name"].tolist()), expected)
            self.assertEqual(Counter(pyarrow.table(regions)["name"].to_pylist()), expected)


class OfProfiles(unittest.TestCase):
    def test_an_imported_profile_is_a_run(self):
        def event(category, name, begin_us, length_us, tid=100, **args):
            return {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": tid, "ts": 1_700_000_000_000_000 + begin_us,
                    "dur": length_us, "args": args}
        events = [event("kernel", "gemm", 20.5, 8.25, 7, device=0, stream=7, correlation=42, grid=[4, 5, 6], block=[128, 2, 1],
                        **{"shared memory": 1024}),
                  event("gpu_memcpy", "Memcpy HtoD", 120.5, 8.25, 7, device=0, stream=7, correlation=44, bytes=4096),
                  event("cuda_runtime", "cudaLaunchKernel", 10, 3.125, correlation=42),
                  event("cuda_runtime", "cudaMemcpyAsync", 110, 3.125, correlation=44),
                  event("cuda_runtime", "cudaStreamSynchronize", 150, 20, correlation=45),
                  event("cpu_op", "aten::mm", 5, 12)]
        with tempfile.TemporaryDirectory(prefix="hostprobe-test.") as folder:
            profile = Path(folder, "profile.json")
            profile.write_text(json.dumps({"distributedInfo": {"rank": 3, "world_size": 8}, "traceEvents": events}))
            ask("import", "-o", Path(folder, "run"), "--kineto", profile)
            run = hostprobe.open(Path(folder, "run"))
            launch, = rows_of(run.launches)
            self.assertEqual([launch[key] for key in ("rank", "pid", "function", "begin_ns", "duration_ns", "stream", "kernel",
                                                      "grid_z", "block_x", "shared_bytes")],
                             [3, 100, "cudaLaunchKernel", 5000, 3125, 7, "gemm", 6, 128, 1024])
            work, copy = rows_of(run.gpu_activities)
            self.assertEqual([work[key] for key in ("type", "name", "stream", "begin_ns", "duration_ns", "launch_tid",
                                                    "launch_begin_ns", "correlation", "source")],
                             ["kernel", "gemm", 7, 15500, 8250, 100, 5000, 42, "profile"])
            self.assertEqual((copy["type"], copy["bytes"]), ("copy", 4096))
            self.assertEqual([(row["name"], row["category"]) for row in rows_of(run.regions)], [("aten::mm", "cpu_op")])
            self.assertEqual([len(rows_of(run.table(name))) for name in ("syncs", "events", "waits")], [1, 1, 0])


class OfTheObject(unittest.TestCase):
    """What is asked for that cannot be, and who lets go of what first."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.path = Path(folder.name, "run")
        record(cls.path, BUILD / "examples/train_loop")

    def assert_says(self, error, *parts):
        text = str(error.exception)
        self.assertNotIn("\n", text)
        for part in parts:
            self.assertIn(part, text)

    def test_unknown_names_are_answered_with_those_there_are(self):
        run = hostprobe.open(self.path)
        for ask_for in (lambda: run.table("launch"), lambda: hostprobe._run._tables.schema(run._opened, "launch", [])):
            with self.assertRaises(ValueError) as error:
                ask_for()
            self.assert_says(error, "no table launch", "launches, waits")
        with self.assertRaises(AttributeError) as error:
            run.launch
        self.assert_says(error, "launches, waits")
        for ask_for in (lambda: run.table("syncs", ["grid_x"]), lambda: run.syncs.select(["grid_x"]),
                        lambda: hostprobe._run._tables.schema(run._opened, "syncs", ["grid_x"])):
            with self.assertRaises(ValueError) as error:
                ask_for()
            self.assert_says(error, "no column grid_x in syncs", "rank, pid")
        for wrong in (["rank", "rank"], "rank"):
            with self.assertRaises(ValueError) as error:
                run.table("syncs", wrong)
            self.assert_says(error, "syncs")

    def test_a_stream_outlives_its_run(self):
        rows = pyarrow.table(hostprobe.open(self.path).launches).num_rows
        reader = pyarrow.RecordBatchReader.from_stream(hostprobe.open(self.path).launches)
        gc.collect()
        self.assertEqual(reader.read_all().num_rows, rows)

    def test_a_batch_outlives_its_stream(self):
        reader = pyarrow.RecordBatchReader.from_stream(hostprobe.open(self.path).launches)
        batch = reader.read_next_batch()
        column = batch.column("kernel")
        del reader, batch
        gc.collect()
        column.validate(full=True)
        self.assertIn(column[0].as_py(), column.dictionary.to_pylist())

    def test_a_stream_may_be_dropped_at_any_moment(self):
        run = hostprobe.open(self.path)
        for _ in range(20):
            run.launches.__arrow_c_stream__()  # by nobody taken over
            run.findings.__arrow_c_schema__()
            pyarrow.RecordBatchReader.from_stream(run.launches)  # taken over, not read
            pyarrow.RecordBatchReader.from_stream(run.waits).read_next_batch()
        gc.collect()
        self.assertGreater(pyarrow.table(run.launches).num_rows, 0)

    def test_a_capsule_is_taken_once(self):
        capsule = hostprobe.open(self.path).launches.__arrow_c_stream__()
        pyarrow.RecordBatchReader._import_from_c_capsule(capsule).read_all()
        with self.assertRaises(Exception):
            pyarrow.RecordBatchReader._import_from_c_capsule(capsule)

    def test_a_requested_schema_has_the_same_columns_or_is_refused(self):
        table = hostprobe.open(self.path).table("launches", ["rank", "kernel"])
        schema = pyarrow.schema(table)
        plain = pyarrow.schema([("rank", pyarrow.int64()), ("kernel", pyarrow.string())])
        for asked in (schema, plain):
            capsule = table.__arrow_c_stream__(asked.__arrow_c_schema__())
            self.assertEqual(pyarrow.RecordBatchReader._import_from_c_capsule(capsule).schema, schema)
        self.assertEqual(pyarrow.table(table, schema=schema).schema, schema)
        for other in (pyarrow.schema([("rank", pyarrow.int32())]), pyarrow.schema([("kernel", pyarrow.string()), ("rank", pyarrow.int32())])):
            with self.assertRaises(ValueError) as error:
                table.__arrow_c_stream__(other.__arrow_c_schema__())
            self.assert_says(error, "rank, kernel")
        with self.assertRaises(ValueError):
            table.__arrow_c_stream__(pyarrow.int32().__arrow_c_schema__())
        with self.assertRaises((TypeError, ValueError)):
            table.__arrow_c_stream__("no capsule")

    def test_the_stream_keeps_its_place_behind_the_end(self):
        reader = pyarrow.RecordBatchReader.from_stream(hostprobe.open(self.path).syncs)
        reader.read_all()
        for _ in range(3):
            with self.assertRaises(StopIteration):
                reader.read_next_batch()

    def test_one_trace_file_is_a_run_too(self):
        trace = max(self.path.glob("*.hptrace"), key=lambda path: path.stat().st_size)
        self.assertEqual(pyarrow.table(hostprobe.open(str(trace)).launches).num_rows,
                         pyarrow.table(hostprobe.open(self.path).launches).num_rows)


if __name__ == "__main__":
    probed.main()
