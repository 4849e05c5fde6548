#!/usr/bin/env python3
"""`hostprobe agent --data`: the step rows of running jobs, once each whatever dies; what they add up to; what hostile files, answers and clocks do."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import probed
from probed import BUILD, COMMAND

sys.path.insert(0, str(BUILD / "lib/hostprobe/python"))

import pyarrow
import pyarrow.dataset
import pyarrow.parquet
from hostprobe import _row_looks, _row_store
from hostprobe import job as hostprobe_job
from hostprobe._row_looks import RowLooks
from hostprobe._row_store import RowStore
from hostprobe._row_totals import RowTotals
from made_rows import MadeJob
from prometheus_client import core
from test_agent import ENVIRONMENT, WithFolder, free_port, get, wait_for

DAY_NS = 86400 * 10**9


@contextlib.contextmanager
def other(module, name, value):
    """In the place of what the module has."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def rows_below(data):
    """Every row, with the columns that stand in names of folders."""
    if not data.is_dir():
        return []
    files = [str(path) for path in data.rglob("*.parquet")]
    return pyarrow.dataset.dataset(files, partitioning=pyarrow.dataset.partitioning(
        pyarrow.schema([("job", pyarrow.string()), ("date", pyarrow.string()), ("host", pyarrow.string())]), flavor="hive")).to_table().to_pylist() if files else []


class OfAJob(WithFolder):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.name = f"nightly {os.getpid()} {self.id()[-20:]}"  # the agent of root sees the jobs of other tests too

    def record(self, *words, **changes):
        job = self.start(COMMAND, "run", "-o", self.folder / "run", "--simgpu", "2", "--job", self.name, "--flight-s", "5", "--", BUILD / "examples/train_parallel",
                         "--ranks", "2", "--pipeline", "1", *words, start_new_session=True, env={**os.environ, "SIMNODE_HOSTS": "2", **changes})

        def end():
            try:
                os.killpg(job.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.addCleanup(end)
        return job

    def rows(self):
        return [row for row in rows_below(self.data) if row["job"] == self.name]

    def rows_agent(self):
        self.port = free_port()
        return self.agent("--listen", f"127.0.0.1:{self.port}", "--data", self.data, "--rows-cpu", "100")

    def assert_once_each(self, rows):
        """No two rows of a rank are of the same time."""
        for rank in {row["rank"] for row in rows}:
            own = sorted((row["begin_ns"], row["ms"], row["step"]) for row in rows if row["rank"] == rank)
            for (begin, ms, step), (next_begin, _, next_step) in zip(own, own[1:]):
                self.assertGreater(next_begin, begin + 4e5 * ms)
                self.assertGreater(next_step, step)

    def test_rows_of_each_host_are_written_once_whoever_is_killed(self):
        job = self.record("--steps", "1000000")
        first = self.rows_agent()
        wait_for(lambda: {row["rank"] for row in self.rows()} == {0, 1})
        first.kill()
        first.wait()
        before = self.rows()
        self.rows_agent()
        wait_for(lambda: len(self.rows()) > len(before))
        os.killpg(job.pid, signal.SIGKILL)
        wait_for(lambda: not [line for line in get(f"http://127.0.0.1:{self.port}/metrics").splitlines()
                              if line.startswith("hostprobe_steps_total") and f'job="{self.name}"' in line])
        after = self.rows()
        self.assert_once_each(after)
        self.assertEqual({(row["job"], row["rank"], row["host"].rpartition("-")[2]) for row in after if row["rank"] is not None}, {(self.name, 0, "sim0"), (self.name, 1, "sim1")})
        self.assertIn("hostprobe_lost_seconds_total", get(f"http://127.0.0.1:{self.port}/metrics"))
        engine, notes = hostprobe_job.open_engine(str(self.data))
        self.assertEqual(notes, [])
        self.assertIn(self.name, engine.jobs())

    def test_a_job_that_ends_has_all_its_rows_and_they_are_those_of_its_report(self):
        self.rows_agent()
        job = self.record("--steps", "200", HOSTPROBE_MODE="trace")
        self.assertEqual(job.wait(), 0)
        import hostprobe
        run = hostprobe.open(self.folder / "run", host=next(self.folder.glob("run/*sim1-*.hptrace")).name.rsplit("-", 2)[0])
        wanted = pyarrow.table(run.step_rows).to_pylist()
        self.assertEqual({row["rank"] for row in wanted}, {1})
        rows = wait_for(lambda: len(own := [row for row in self.rows() if row["rank"] == 1]) >= len(wanted) and own)
        self.assert_once_each(rows)
        self.assertEqual(len(rows), len(wanted))

    def test_damage_and_pipes_in_a_run_cost_one_line_and_no_row(self):
        job = self.record("--steps", "1000000")
        wait_for(lambda: len(list(self.folder.glob("run/*sim*.hptrace"))) == 2)
        os.mkfifo(self.folder / "run/pipe-1-1.hptrace")
        (self.folder / "run/x-1-1.hptrace").write_bytes(os.urandom(5000))
        (self.folder / "run/y-1-1.hptrace").symlink_to("/dev/zero")
        self.rows_agent()
        wait_for(lambda: {row["rank"] for row in self.rows()} == {0, 1})
        self.assertIsNone(job.poll())

    def test_without_pyarrow_one_line_says_what_to_install(self):
        (self.folder / "pyarrow.py").write_text("raise ImportError('No module named pyarrow')")
        done = subprocess.run([sys.executable, "-m", "hostprobe.agent", "--data", self.data], capture_output=True, text=True,
                              env={**ENVIRONMENT, "PYTHONPATH": f"{self.folder}:{ENVIRONMENT['PYTHONPATH']}"})
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn("pip install", done.stderr)

    def test_a_second_agent_and_a_folder_that_is_none_are_refused(self):
        self.rows_agent()
        (self.folder / "file").write_text("")
        for folder, words in ((self.data, "another agent"), (self.folder / "file", "File exists")):
            done = subprocess.run([sys.executable, "-m", "hostprobe.agent", "--data", folder], capture_output=True, text=True, env=ENVIRONMENT)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(words, done.stderr)
        for words in (("--rows-cpu", "0"), ("--keep-days", "0"), ("--keep-mb", "-1"), ("--rows-cpu", "nan")):
            self.assertEqual(subprocess.run([sys.executable, "-m", "hostprobe.agent", *words], capture_output=True, env=ENVIRONMENT).returncode, 2)


class WithStore(WithFolder):
    """Files of rows, without a job."""

    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.store = RowStore(str(self.data), "n0000")
        self.addCleanup(self.store.close)
        self.made = MadeJob(8, 40)


class Store(WithStore):
    def files(self):
        return sorted(str(path.relative_to(self.data)) for path in self.data.rglob("*.parquet"))

    def add(self, begin, end, made=None, run_ns=7):
        made = made or self.made
        rows = made.of_host(0)
        self.store.add(rows.filter(pyarrow.compute.and_(pyarrow.compute.greater_equal(rows["step"], begin), pyarrow.compute.less(rows["step"], end))), run_ns)

    def test_a_file_grows_until_it_is_full_and_what_is_there_is_known_after_a_restart(self):
        with other(_row_store, "_MOST_ROWS", 100):
            for begin in range(0, 40, 5):
                self.add(begin, begin + 5)
        self.assertEqual(len(self.files()), 3)
        self.assertEqual(len(rows_below(self.data)), 8 * 40)
        self.store.close()
        self.store = RowStore(str(self.data), "n0000")
        written = self.store.written("4711", "n0000", 7)
        self.assertEqual((written.steps, set(written.until_ns)), (40, set(map(str, range(8)))))
        last = self.made.step_begin_ns[-1]
        self.assertTrue(all(last < until < last + 1e6 * self.made.step_ms[-1] for until in written.until_ns.values()))
        self.assertEqual(self.store.written("4711", "n0000", 8).until_ns, {})
        self.assertEqual(self.store.written("other*", "n0000", 7).until_ns, {})

    def test_columns_of_another_version_stand_beside_each_other(self):
        rows = self.made.of_host(0)
        self.store.add(rows.slice(0, 10).append_column("lost_new_ms", pyarrow.array([1.0] * 10)), 7)
        self.store.add(rows.slice(10, 10).drop_columns(["own_us"]), 7)
        self.assertEqual(sum(row["lost_new_ms"] or 0 for row in rows_below(self.data)), 10)

    def test_old_days_go_and_the_clock_is_that_of_the_rows(self):
        for day in range(5):
            self.add(0, 10, MadeJob(8, 10, begin_ns=self.made.begin_ns + day * DAY_NS), run_ns=day)
        self.store.close()
        self.store = RowStore(str(self.data), "n0000", keep_days=2)
        self.assertEqual(self.store.remove_old(), 2)
        self.assertEqual(len(self.files()), 3)
        self.assertEqual(self.store.remove_old(), 0)
        self.assertEqual(len(list(self.data.glob("job=*/date=*"))), 3)

    def test_beyond_the_size_the_oldest_go_and_the_newest_stays(self):
        for day in range(3):
            self.add(0, 10, MadeJob(8, 10, begin_ns=self.made.begin_ns + day * DAY_NS), run_ns=day)
        self.store._keep_bytes = 1
        self.assertEqual(self.store.remove_old(), 2)
        self.assertEqual(len(self.files()), 1)

    def test_files_of_others_are_neither_removed_nor_added_to(self):
        self.add(0, 10)
        place = self.data / Path(self.files()[0]).parent
        (place / "1.parquet").write_bytes(b"PAR1 mine")
        (place / "7-99999999999999999999.parquet").symlink_to("/etc/passwd")
        os.mkfifo(place / "7-99999999999999999998.parquet")
        foreign = self.data / "job=4711" / place.parent.name / "host=n0001" / "7-1.parquet"
        foreign.parent.mkdir()
        foreign.write_bytes(b"PAR1 another host's")
        self.store._keep_bytes = 1
        self.add(10, 20)
        self.store.remove_old()
        self.assertEqual(self.store.written("4711", "n0000", 7).steps, 20)
        self.assertTrue((place / "1.parquet").exists() and foreign.exists() and (place / "7-99999999999999999999.parquet").is_symlink())

    def test_a_file_that_was_damaged_stays_and_rows_go_beside_it(self):
        self.add(0, 10)
        path = self.data / self.files()[0]
        path.write_bytes(path.read_bytes()[:-50])
        self.add(10, 20)
        self.assertEqual(len(self.files()), 2)

    def test_folders_that_lead_elsewhere_are_refused(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (self.data / "job=4711").symlink_to(elsewhere)
        with self.assertRaises(OSError):
            self.add(0, 10)
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_odd_names_of_jobs_stay_below_the_folder(self):
        for job in ("../../up", "", "a/b", "*", "[x]", "x" * 64):
            made = MadeJob(8, 10, job=job)
            self.add(0, 10, made)
            self.assertEqual(self.store.written(job, "n0000", 7).steps, 10)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["data"])

    def test_a_full_disk_leaves_what_was_there(self):
        self.add(0, 10)
        before = (self.data / self.files()[0]).read_bytes()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            with self.assertRaises(OSError):
                self.add(10, 20)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.assertEqual((self.data / self.files()[0]).read_bytes(), before)
        self.assertEqual([path for path in self.data.rglob("*.part")], [])
        self.add(10, 20)
        self.assertEqual(len(rows_below(self.data)), 160)


class Looks(WithStore):
    """Answers in the place of the analysis."""

    def setUp(self):
        super().setUp()
        self.totals = RowTotals(lambda: 0.0)
        self.said = []
        self.looks = RowLooks(self.store, self.totals, 1.0, str, self.said.append)
        self.records = 0

    def answer(self, rows, **about):
        about = {"run_ns": 7, "are_detected": False, "is_all": True, "cpu_s": 0.0, **about}
        out = pyarrow.BufferOutputStream()
        rows = rows.replace_schema_metadata({"hostprobe": json.dumps(about)})
        with pyarrow.ipc.new_stream(out, rows.schema) as stream:
            stream.write_table(rows)
        return out.getvalue().to_pybytes()

    def look(self, answer, **status):
        self.records += 1
        process = {"pid": os.getpid(), "trace": "/run/a-1-1.hptrace", "host": "n0000", "job": "4711", "records": self.records, **status}
        with other(_row_looks, "_answer", answer if callable(answer) else lambda *_: answer):
            if status.get("pid") != 0:
                self.looks.note([process])
            self.looks.look()

    def test_rows_that_are_there_are_not_written_again(self):
        rows = self.made.of_host(0)
        early = rows.filter(pyarrow.compute.less(rows["step"], 30))
        for answer in (early, rows, rows):
            self.look(self.answer(answer))
        self.assertEqual(len(rows_below(self.data)), 320)
        self.looks = RowLooks(self.store, self.totals, 1.0, str, self.said.append)
        self.look(self.answer(rows))
        self.assertEqual((len(rows_below(self.data)), self.looks.counts(), self.said), (320, (0, 0), []))

    def test_a_clock_that_jumps_back_makes_another_run_and_one_that_jumps_ahead_removes_nothing(self):
        self.look(self.answer(self.made.of_host(0)))
        self.look(self.answer(MadeJob(8, 40, begin_ns=self.made.begin_ns - 3 * 10**9).of_host(0), run_ns=8), trace="/other/a-2-2.hptrace")
        self.look(self.answer(MadeJob(8, 40, begin_ns=self.made.begin_ns + 20 * DAY_NS).of_host(0), run_ns=9), trace="/third/a-2-2.hptrace")
        self.assertEqual(len(rows_below(self.data)), 3 * 320)

    def test_steps_that_were_found_are_numbered_on(self):
        rows = self.made.of_host(0)
        self.look(self.answer(rows, are_detected=True))
        later = MadeJob(8, 40, begin_ns=self.made.begin_ns + 3600 * 10**9)
        self.look(self.answer(later.of_host(0), are_detected=True))
        self.assertEqual(sorted({row["step"] for row in rows_below(self.data)}), list(range(80)))

    def test_answers_that_are_none_write_nothing_and_are_said_once(self):
        rows = self.made.of_host(0)
        whole = self.answer(rows)
        bad = [b"", b"\0" * 100, whole[:5000], b"\xff" * 100000, self.answer(rows.drop_columns(["rank"])), self.answer(rows.drop_columns(["step"])),
               self.answer(rows.set_column(0, "job", pyarrow.array(["other"] * 319 + ["4711"]))),
               self.answer(rows.set_column(1, "host", pyarrow.array(["n0001"] * 320))),
               self.answer(rows.set_column(rows.schema.get_field_index("ms"), "ms", pyarrow.array([float("nan")] * 320))),
               self.answer(rows, run_ns="x"), self.answer(rows, cpu_s=[])]
        for answer in bad:
            self.looks = RowLooks(self.store, self.totals, 1.0, str, self.said.append)
            self.look(answer)
            self.look(answer)
            self.assertEqual(self.looks.counts(), (0, 1))
        self.assertEqual(rows_below(self.data), [])
        self.assertEqual([line.count("\n") for line in self.said], [0] * len(bad))

    def test_a_run_whose_look_failed_waits_before_the_next(self):
        calls = []

        def fails(*words):
            calls.append(words)
            raise _row_looks.BadAnswer("no")
        for _ in range(5):
            self.look(fails)
        self.assertEqual(len(calls), 1)

    def test_a_run_is_looked_at_once_more_after_its_end_and_what_did_not_fit_is_taken(self):
        rows = self.made.of_host(0)
        early = rows.filter(pyarrow.compute.less(rows["step"], 10))
        self.look(self.answer(early))
        later = [self.answer(rows.filter(pyarrow.compute.less(rows["step"], 25)), is_all=False), self.answer(rows)]
        living = []

        def answer(*words):
            living.append(words[3])
            return later.pop(0)
        self.look(answer, pid=0)
        self.assertEqual(living, [])  # it gives no answer, but is there
        with other(_row_looks, "start_of", lambda pid: "another's"):
            self.look(answer, pid=0)
            self.assertEqual((living, len(rows_below(self.data))), ([False, False], 320))
            self.look(answer, pid=0)

    def test_statuses_that_name_no_trace_are_left_out(self):
        def fails(*_):
            raise AssertionError("it was asked")
        for changes in ({"trace": None}, {"trace": 7}, {"trace": "relative/a.hptrace"}, {"host": ""}, {"host": []}, {"pid": "x"}, {"pid": 2**40}):
            self.look(fails, **changes)

    def test_the_program_gives_up_on_what_is_no_run(self):
        for trace in (str(self.folder / "a-1-1.hptrace"), "/nowhere/a-1-1.hptrace"):
            with self.assertRaisesRegex(_row_looks.BadAnswer, "a-1-1|No such file|holds no trace"):
                _row_looks._answer(trace, "n0000", {}, True, (0, 0))

    def test_an_answer_without_end_is_cut_off(self):
        for command, most, patience in ((["cat", "/dev/zero"], 1 << 20, 60), (["sleep", "1000"], 100, 0.2)):
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                with self.assertRaises(_row_looks.BadAnswer):
                    _row_looks._read(process, most, patience)
                process.kill()


class Totals(unittest.TestCase):
    def samples(self, totals):
        return {(sample.name, *sorted(sample.labels.items())): sample.value for family in totals.families(core) for sample in family.samples}

    def of(self, found, name, **labels):
        return found[(name, *sorted({"job": "4711", "host": "n", **labels}.items()))]

    def test_they_are_what_the_rows_add_up_to(self):
        made = MadeJob(8, 100)
        totals = RowTotals(lambda: 0.0)
        rows = made.of_host(0).to_pylist()
        totals.add(rows, "4711", "n")
        found = self.samples(totals)
        for rank in range(8):
            own = [row for row in rows if row["rank"] == rank]
            label = {"rank": str(rank)}
            self.assertAlmostEqual(self.of(found, "hostprobe_step_seconds_sum", **label), 1e-3 * sum(row["ms"] for row in own))
            self.assertEqual(self.of(found, "hostprobe_step_seconds_bucket", le="+Inf", **label), 100)
            self.assertEqual(self.of(found, "hostprobe_step_seconds_bucket", le="0.5", **label), sum(row["ms"] <= 500 for row in own))
            self.assertAlmostEqual(self.of(found, "hostprobe_late_seconds_total", **label), 1e-3 * sum(row["late_ms"] for row in own))
            self.assertAlmostEqual(self.of(found, "hostprobe_lost_seconds_total", cause="gpu_bound", **label), 1e-3 * sum(row["lost_gpu_bound_ms"] for row in own))
        drifting, waiting = (self.of(found, "hostprobe_last_steps_total", rank=str(rank)) for rank in (made.drifting, 0))
        self.assertGreater(drifting, 50)
        self.assertEqual(waiting, 0)

    def test_rows_that_are_not_explained_count_as_steps_alone(self):
        row = {"rank": None, "step": 1, "ms": 20.0, "waited_ms": None, "late_ms": None, "lost_gc_pause_ms": None}
        totals = RowTotals(lambda: 0.0)
        totals.add([row], "4711", "n")
        found = self.samples(totals)
        self.assertEqual(self.of(found, "hostprobe_step_seconds_bucket", le="+Inf", rank=""), 1)
        self.assertEqual([key for key in found if key[0] == "hostprobe_lost_seconds_total"], [])

    def test_what_gains_no_rows_is_left_out_and_there_is_a_most(self):
        now = [0.0]
        totals = RowTotals(lambda: now[0])
        rows = [{"rank": rank, "step": 1, "ms": 20.0, "waited_ms": None, "late_ms": None} for rank in range(5000)]
        totals.add(rows, "4711", "n")
        self.assertEqual(len({key for key in self.samples(totals) if key[0] == "hostprobe_step_seconds_sum"}), 4096)
        now[0] = 1000.0
        self.assertEqual(self.samples(totals), {})


if __name__ == "__main__":
    probed.main()
