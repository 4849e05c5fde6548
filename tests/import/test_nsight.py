#!/usr/bin/env python3
"""Reports of Nsight Systems, exported as SQLite: launches find their kernels in their own process, waits of libc are waits, and files
that are damaged, of another program or of an older version are read as far as they go.

test_nsight.py [-v] [Test.test_…]
"""

import json
import os
import random
import shutil
import sqlite3
import subprocess

from imported import ImportTest, main
from nsight_report import EPOCH, NsightReport, write_job
from probed import BUILD, COMMAND, path_of

STEPS = 6


class Nsight(ImportTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "job.sqlite"
        write_job(self.path, STEPS)

    def imported(self, *files, status=0):
        shutil.rmtree(self.run_folder, ignore_errors=True)
        done = subprocess.run([COMMAND, "import", "-o", self.run_folder, "--nsight", *(files or [self.path])], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def lines(self):
        return [json.loads(line) for line in subprocess.check_output([COMMAND, "dump", self.run_folder, "--json"], text=True).splitlines()]

    def report(self):
        return json.loads(subprocess.check_output([COMMAND, "report", "--json", self.run_folder]))

    def test_calls_kernels_waits_and_ranges(self):
        said = self.imported()
        self.assertIn(f"{2 * STEPS} events of NVTX that are no ranges", said)
        processes = self.report()["processes"]
        self.assertEqual({(process["pid"], process["host"]) for process in processes}, {(4242, "gpu-node-1"), (4243, "gpu-node-1")})
        for process in processes:
            self.assertEqual(process["launches"]["by_function"], {"cudaLaunchKernel": 4 * STEPS})
            self.assertEqual((process["gpu"]["source"], process["gpu"]["kernels"]), ("profile", 4 * STEPS))
            self.assertAlmostEqual(process["gpu"]["kernel_ms"], 4 * STEPS * 0.018, places=6)
            self.assertEqual((process["gpu"]["copies"], process["gpu"]["fills"]), (STEPS, STEPS))
            waits = {(wait["function"], wait["role"] == "main"): (wait["count"], round(wait["total_ms"], 6)) for wait in process["waits"]}
            self.assertEqual(waits[("sem_clockwait", True)], (STEPS, round(0.7 * STEPS, 6)))
            self.assertEqual(waits[("pthread_cond_wait", False)], (STEPS, round(0.7 * STEPS, 6)))
            self.assertEqual(process["syncs"]["by_function"], {"cudaStreamSynchronize": STEPS})
            self.assertEqual({thread["name"] for thread in process["threads"] if thread["tid"] < 5000}, {"python3", "loader"})
        self.assertEqual(self.report()["steps"]["count"], STEPS)

    def test_each_kernel_is_that_of_its_own_process(self):
        self.imported()
        lines = self.lines()
        launches = {(line["pid"], line["begin_ns"]): line for line in lines if line["function"] == "cudaLaunchKernel"}
        kernels = [line for line in lines if line["function"] == "kernel"]
        self.assertEqual(len(kernels), 2 * 4 * STEPS)
        for kernel in kernels:
            launch = launches[kernel["pid"], kernel["begin_ns"] - 9_000]
            self.assertEqual(launch["args"]["kernel"], "gemm")
            self.assertEqual((launch["args"]["grid"], launch["args"]["block"]), ([8, 2, 1], [128, 1, 1]))

    def test_times_are_those_of_the_day(self):
        self.imported()
        self.assertEqual(min(line["begin_ns"] for line in self.lines()), EPOCH + 1_000_000)

    def test_rows_have_no_byte_of_a_text(self):
        with sqlite3.connect(self.path) as report:
            report.execute("UPDATE OSRT_API SET start = start + :far, end = end + :far WHERE rowid = 1", {"far": 2 * 366 * 24 * 3600 * 10**9})
        far, = [line for line in self.imported().splitlines() if "a year or more away" in line]
        self.assertTrue(far.endswith(": 1 events a year or more away from the others"), far)

    def test_the_file_and_its_folder_stay_as_they_are(self):
        folder = self.folder / "read only"
        folder.mkdir()
        path = folder / "a b%20#?.sqlite"
        shutil.copy(self.path, path)
        before = (path.read_bytes(), sorted(folder.iterdir()))
        self.imported(path)
        self.assertEqual((path.read_bytes(), sorted(folder.iterdir())), before)
        self.assertEqual(len(self.report()["processes"]), 2)

    def test_tables_and_columns_may_be_missing(self):
        database = sqlite3.connect(self.path)
        database.executescript("""drop table ThreadNames; drop table PROCESSES; drop table TARGET_INFO_SYSTEM_ENV; drop table NVTX_EVENTS;
            drop table CUPTI_ACTIVITY_KIND_MEMSET; alter table CUPTI_ACTIVITY_KIND_KERNEL drop column demangledName;
            alter table CUPTI_ACTIVITY_KIND_KERNEL drop column dynamicSharedMemory; alter table OSRT_API drop column correlationId;
            drop table TARGET_INFO_SESSION_START_TIME""")
        database.close()
        self.imported()
        processes = self.report()["processes"]
        self.assertEqual({process["gpu"]["kernels"] for process in processes}, {4 * STEPS})
        self.assertEqual({line["args"]["name"] for line in self.lines() if line["function"] == "kernel"}, {"gemm"})

    def test_hostile_schemas_do_nothing(self):
        database = sqlite3.connect(self.path)
        database.executescript("""drop table OSRT_API; create view OSRT_API as with recursive n(start) as (select 1 union all select start + 1 from n)
            select start, start as end, 1 as globalTid, 1 as correlationId, 1 as nameId from n;
            create table "x"" ; drop table StringIds; --" (a);
            insert into CUPTI_ACTIVITY_KIND_RUNTIME values ('text', x'00', 0, 'tid', -5, 9223372036854775807, 0, null);
            insert into CUPTI_ACTIVITY_KIND_RUNTIME values (9223372036854775807, -9223372036854775808, 0, 0, 0, 0, 0, null);
            insert into CUPTI_ACTIVITY_KIND_RUNTIME values (-9223372036854775808, 9223372036854775807, 0, -1, 1, 1, 0, null)""")
        database.close()
        said = self.imported()
        self.assertIn("rows of 'cuda_runtime' without an end", said)
        self.assertEqual({process["launches"]["by_function"].get("cudaLaunchKernel") for process in self.report()["processes"]
                          if process["pid"] in (4242, 4243)}, {4 * STEPS})

    def test_damaged_databases_give_what_can_be_read(self):
        whole = self.path.read_bytes()
        draw = random.Random(3)
        read = 0
        for number in range(40):
            broken = bytearray(whole)
            if number % 2:
                broken = broken[:draw.randrange(1, len(whole))]
            else:
                for _ in range(8):
                    broken[draw.randrange(100, len(broken))] = draw.randrange(256)
            self.path.write_bytes(broken)
            shutil.rmtree(self.run_folder, ignore_errors=True)
            done = subprocess.run([COMMAND, "import", "-o", self.run_folder, "--nsight", self.path], capture_output=True, text=True)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertLess(len(done.stderr.splitlines()), 60)
            if done.returncode == 0:
                self.assertEqual(subprocess.run([COMMAND, "report", "--json", self.run_folder], capture_output=True).returncode, 0)
                read += 1
        self.assertGreater(read, 3)

    def test_what_is_no_report_is_refused_with_a_reason(self):
        other = self.folder / "other.sqlite"
        sqlite3.connect(other).execute("create table t (a)").connection.commit()
        NsightReport(self.folder / "none.sqlite").close()
        for name, content in (("empty", b""), ("text", b"no database"), ("head", self.path.read_bytes()[:100]), ("random", os.urandom(9000))):
            (self.folder / name).write_bytes(content)
        for name in ("other.sqlite", "none.sqlite", "empty", "text", "head", "random", "nope"):
            said = self.imported(self.folder / name, status=1)
            self.assertEqual(len([line for line in said.splitlines() if "nothing imported" in line]), 1, (name, said))

    def parquet(self):
        """The report as `nsys export --type parquetdir` would write it: a file for each table."""
        folder = self.folder / "job_pqtdir"
        folder.mkdir()
        script = """
import sqlite3, sys
import pyarrow, pyarrow.parquet
database = sqlite3.connect(sys.argv[1])
for name, in database.execute("select name from sqlite_master where type = 'table'").fetchall():
    rows = database.execute(f"select * from {name}")
    names = [column[0] for column in rows.description]
    table = pyarrow.table(dict(zip(names, map(list, zip(*rows)))) or {column: [] for column in names})
    pyarrow.parquet.write_table(table, f"{sys.argv[2]}/{name}.parquet")
"""
        subprocess.run([path_of("TABLES_PYTHON"), "-c", script, self.path, folder], check=True)
        return folder

    def converted(self, *words):
        environment = {**os.environ, "PYTHONPATH": str(BUILD / "lib/hostprobe/python")}
        return subprocess.run([path_of("TABLES_PYTHON"), "-B", "-m", "hostprobe.nsight", *words], capture_output=True, text=True, env=environment)

    def test_parquet_becomes_the_same_trace(self):
        self.imported()
        expected = self.lines()
        made = self.folder / "converted.sqlite"
        done = self.converted(self.parquet(), made)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.imported(made)
        self.assertEqual(self.lines(), expected)

    def test_parquet_is_named_with_what_to_do(self):
        folder = self.parquet()
        for path in (folder, folder / "OSRT_API.parquet"):
            said = self.imported(path, status=1)
            self.assertIn("python3 -m hostprobe.nsight", said)

    def test_what_cannot_be_converted_leaves_nothing(self):
        folder = self.parquet()
        made = self.folder / "converted.sqlite"
        (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
        empty = self.folder / "empty"
        empty.mkdir()
        for words in ((folder, made), (empty, made), (self.folder / "nope", made), (folder, self.path)):
            done = self.converted(*words)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith("converted")], [])

    def test_rank_is_guessed_from_the_name_of_the_file(self):
        path = self.folder / "report_rank3.sqlite"
        report = NsightReport(path)
        report.call("cudaLaunchKernel_v7000", 10, 20, 77, 77, 1)
        report.close()
        self.assertIn("rank 3", self.imported(path))
        self.assertEqual(self.report()["processes"][0]["rank"], 3)


if __name__ == "__main__":
    main()
