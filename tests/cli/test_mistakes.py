#!/usr/bin/env python3
"""What the command answers to mistakes: each test is one slip of a new user, named by what is promised about it.

test_mistakes.py [-v] [Class.test_…]

Answers are one line on standard error with the reason, and a status: 1 could not, 2 usage. Whole sentences are not compared.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", Path(__file__).resolve().parents[2] / "build"))
COMMAND = BUILD / "bin/hostprobe"
PROBE = BUILD / "lib/libhostprobe.so"
PROGRAMS = BUILD / "tests/programs"
RECORDED = ("sleep", "0.01")  # one wait
COMMANDS = ("run", "report", "diff", "explain", "dump", "export", "import", "sched", "recover", "stacks", "top", "ctl", "hooks", "options", "schema",
            "doctor")


class MistakeTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hostprobe-mistakes-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("HOSTPROBE_") and k not in ("LD_PRELOAD", "RANK")}
        return {**clean, **more}

    def ask(self, *words, status=0, folder=None, env=None, **options):
        """stdout and the lines of stderr of `hostprobe WORDS`, run in the folder of the test."""
        done = subprocess.run([str(word) for word in (COMMAND, *words)], cwd=folder or self.folder, capture_output=True, text=True,
                              timeout=100, env=self.environment(env or {}), **options)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr.splitlines()

    def refused(self, *words, status=2, **options):
        """The one line on stderr; nothing is said on stdout."""
        out, lines = self.ask(*words, status=status, **options)
        self.assertEqual(out, "", words)
        self.assertEqual(len(lines), 1, f"{words}: {lines}")
        return lines[0]

    def record(self, name="recorded", **more):
        """A run folder below the folder of the test."""
        self.ask("run", "-o", name, "--", *RECORDED, **more)
        return self.folder / name


class HelpTest(MistakeTest):
    def test_no_arguments_are_answered_by_what_to_do_first(self):
        out, lines = self.ask(status=2)
        self.assertEqual(out, "")
        examples = [line.strip() for line in lines if line.startswith("  hostprobe ")]
        self.assertEqual([line.split()[1] for line in examples], ["run", "report", "diff", "doctor"])

    def test_help_is_a_command_and_lists_all_commands(self):
        out, lines = self.ask("help")
        self.assertEqual(lines, [])
        self.assertEqual((out, lines), self.ask("--help"))
        for command in COMMANDS:
            self.assertRegex(out, rf"(?m)^  {command} ")

    def test_help_of_a_command_is_that_of_the_command(self):
        for command in COMMANDS:
            self.assertEqual(self.ask("help", command), self.ask(command, "--help"))

    def test_help_of_what_is_no_command_names_the_nearest(self):
        self.assertIn("the nearest is report", self.refused("help", "repot"))
        self.assertIn("the nearest is help", self.refused("hepl"))

    def test_help_starts_no_program(self):
        self.refused("help", "run", "touch", "started")
        self.assertFalse((self.folder / "started").exists())

    def test_version_is_answered_however_it_is_asked_for(self):
        answers = {self.ask(word)[0] for word in ("version", "-V", "--version")}
        self.assertEqual(len(answers), 1)
        self.assertRegex(answers.pop(), r"^hostprobe \d+\.\d+\.\d+ ")
        self.assertIn("'x'", self.refused("version", "x"))


class ValueTest(MistakeTest):
    # setting, value, what the answer names
    BAD = (("fix", "gcc", "gc"), ("fix", "pin,auto:gc,spn", "spin"), ("fix", "", ""), ("trigger_signal", "FOO", "USR2"),
           ("trigger_signal", "USR3", "USR1"), ("trigger_signal", "SEGV", "USR2"), ("mode", "bogus", "monitor|flight|trace"),
           ("mode", "fligth", "flight"), ("out", "", ""), ("out", "x" * 600, "511"), ("target", "", ""), ("target", "x" * 600, "511"),
           ("buffer_mb", "1025", "1024"), ("buffer_mb", "-1", "1024"), ("budget", "1.2345", "three"), ("off", "2", "0 or 1"),
           ("steps", "mark", "marks"), ("sched", "on", "auto|off"))
    GOOD = (("fix", "none"), ("fix", "gc, pin"), ("fix", "pin,auto:gc,spin"), ("fix", "auto"), ("trigger_signal", "SIGUSR2"),
            ("trigger_signal", "12"), ("trigger_signal", "RTMIN+3"), ("trigger_signal", "none"), ("budget", "0.125"),
            ("buffer_mb", "007"), ("target", "sleep,python*"))

    def check_refused(self, words, environment, name, answer):
        line = self.refused("run", *words, "--", "touch", "started", env=environment)
        self.assertIn(name, line)
        self.assertIn(answer, line)
        self.assertEqual(list(self.folder.iterdir()), [], line)

    def test_bad_values_of_flags_are_refused_before_the_job_starts(self):
        for setting, value, answer in self.BAD:
            flag = "--" + setting.replace("_", "-")
            self.check_refused((flag, value), {}, flag, answer)

    def test_bad_values_of_the_environment_are_refused_before_the_job_starts(self):
        for setting, value, answer in self.BAD:
            name = "HOSTPROBE_" + setting.upper()
            self.check_refused((), {name: value}, name, answer)

    def test_what_the_command_lets_through_the_probe_takes(self):
        for setting, value in self.GOOD:
            _, lines = self.ask("run", "-o", "run", f"--{setting.replace('_', '-')}", value, *RECORDED)
            self.assertEqual([line for line in lines if "cannot be used" in line or "there is no fix" in line], [], value)

    def test_each_fix_that_is_listed_is_one_of_the_probe(self):
        text = (Path(__file__).resolve().parents[2] / "include/hostprobe/fixes.def").read_text()
        names = re.findall(r"^HP_FIX\(\w+, (\w+),", text, flags=re.M)
        self.assertGreaterEqual(len(names), 7)
        _, lines = self.ask("run", "-o", "run", "--fix", ",".join(names), *RECORDED)
        self.assertEqual([line for line in lines if "there is no fix" in line], [])

    def test_flag_counts_and_not_the_environment_below_it(self):
        self.ask("run", "-o", "run", "--mode", "trace", "true", env={"HOSTPROBE_MODE": "bogus"})

    def test_path_that_becomes_too_long_for_the_probe_is_refused(self):
        deep = self.folder / ("d" * 200) / ("e" * 200)
        deep.mkdir(parents=True)
        line = self.refused("run", "-o", "f" * 150, "true", folder=deep)
        self.assertIn("511", line)
        self.assertEqual(list(deep.iterdir()), [])

    def test_flag_given_twice_is_said_in_plain_words(self):
        line = self.refused("run", "--out", "a", "--out", "b", "--", "true")
        self.assertIn("--out is given 2 times", line)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_what_takes_a_number_says_so(self):
        self.assertIn("--rank takes a number, not 'x'", self.refused("report", "--rank", "x", "run"))
        self.assertIn("neither a process id nor a run folder", self.refused("ctl", "x", "status"))
        self.assertIn("--json takes no value, not 'x'", self.refused("report", "--json=x", "run"))

    def test_unknown_setting_far_from_all_is_given_no_nearest(self):
        _, lines = self.ask("run", "-o", "run", *RECORDED, env={"HOSTPROBE_FOO": "1"})
        self.assertEqual([("nearest" in line) for line in lines if "HOSTPROBE_FOO" in line], [False])
        _, lines = self.ask("run", "-o", "run", *RECORDED, env={"HOSTPROBE_BUDGT": "1"})
        self.assertEqual([("HOSTPROBE_BUDGET" in line) for line in lines if "HOSTPROBE_BUDGT" in line], [True])


class ProgramTest(MistakeTest):
    def test_program_that_is_not_there_leaves_no_folder(self):
        self.assertIn("nosuchprogram", self.refused("run", "nosuchprogram", status=127))
        self.refused("run", "-o", "mine/", "nosuchprogram", status=127)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_program_that_cannot_be_executed_leaves_no_folder(self):
        (self.folder / "text").write_text("words")
        self.refused("run", "./text", status=126)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["text"])

    def test_folder_that_was_there_stays_and_keeps_the_reason(self):
        (self.folder / "old").mkdir()
        self.refused("run", "-o", "old", "nosuchprogram", status=127)
        job = json.loads(next((self.folder / "old").glob("*.job.json")).read_text())
        self.assertNotEqual(job["start_error"], "")

    def test_doctor_says_how_to_check_whether_a_program_records(self):
        out, _ = self.ask("doctor")
        line = next(line for line in out.splitlines() if "HOSTPROBE_VERBOSE=1" in line)
        preload = re.search(r"LD_PRELOAD=(\S+)", line).group(1)
        self.assertTrue(os.path.samefile(preload, PROBE))
        done = subprocess.run(["/bin/true"], capture_output=True, text=True, timeout=60, cwd=self.folder,
                              env=self.environment({"HOSTPROBE_VERBOSE": "1", "LD_PRELOAD": preload}))
        self.assertIn("HOSTPROBE_TARGET", done.stderr)

    def on_small_disk(self, size, program, before="true"):
        """What `run` and then `report` say in a mount namespace of its own, on a file system of `size`."""
        script = f"mkdir -p run; mount -t tmpfs -o size={size} tmpfs run || exit 99; {before}; " \
                 f'"$@" --compress none -- {program}; echo "status $?"; "$1" report run'
        words = [COMMAND, "run", "-o", "run", "--mode", "trace"]
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=100, env=self.environment({}))
        if done.returncode == 99 or done.stderr.startswith("unshare:"):
            self.skipTest("this machine lets nobody mount a small file system")
        return done

    def test_full_disk_is_one_sentence_of_the_report(self):
        for size in ("128k", "256k", "512k"):
            done = self.on_small_disk(size, f"{PROGRAMS / 'works'} 4000")
            self.assertIn("status 5", done.stdout)
            damaged = re.findall(r"(?m)^! Process ", done.stdout)
            self.assertEqual(len(damaged), 1, f"{size}: {done.stdout}{done.stderr}")
            self.assertIn("not taken by the file system", done.stdout)

    def test_disk_without_room_for_the_job_file_leaves_the_status_to_the_program(self):
        done = self.on_small_disk("4k", "sh -c 'exit 7'", before="head -c 4096 /dev/zero > run/filler")
        self.assertIn("status 7", done.stdout, done.stderr)


class RunFolderTest(MistakeTest):
    def test_path_that_is_not_there_is_answered_with_the_newest_run_folders(self):
        for number in range(5):
            path = self.folder / f"run-{number}"
            path.mkdir()
            (path / "h-1-1.job.json").write_text("{}")
            os.utime(path, (1000 + number, 1000 + number))
        (self.folder / "no-run").mkdir()
        for words in (("report",), ("dump",), ("recover",), ("hooks",), ("diff", "run-1"), ("export", "--csv", "x")):
            line = self.refused(*words, "nope", status=1)
            self.assertRegex(line, r"nope: No such file or directory.* run-4, run-3, run-2$")
        outside = self.refused("report", self.folder / "nope", status=1, folder="/")
        self.assertIn(f"{self.folder}/run-4", outside)

    def test_path_that_is_not_there_is_the_whole_answer_where_nothing_was_run(self):
        self.assertTrue(self.refused("report", "nope", status=1).endswith("nope: No such file or directory"))

    def test_gate_without_its_run_is_neither_passed_nor_failed(self):
        recorded = self.record()
        (self.folder / "empty").mkdir()
        for run in ("nope", "empty"):
            for words in ((recorded, run), (run, recorded)):
                self.refused("diff", *words, "--fail-over", "3%", status=3)
        _, lines = self.ask("diff", recorded, recorded, "--json", "--fail-over", "3", status=3)
        self.assertEqual(len(lines), 1, lines)  # no steps were made
        for limit in ("-3", "3x", "", "%", "nan", "inf", "1e400", "0x3"):
            self.refused("diff", recorded, recorded, f"--fail-over={limit}")

    def test_empty_folder_is_answered_shortly(self):
        (self.folder / "empty").mkdir()
        line = self.refused("report", "empty", status=1)
        self.assertIn("nothing recorded", line)
        self.assertLess(len(line), 120)
        self.assertNotIn("NCCL", line)

    def test_run_that_recorded_nothing_is_answered_shortly(self):
        _, lines = self.ask("run", "-o", "quiet", "true")
        self.assertEqual(len(lines), 1, lines)
        self.assertLess(len(lines[0]) - len(str(self.folder)), 220)
        self.assertLess(len(self.refused("report", "quiet", status=1)), 220)

    def test_run_of_another_user_is_answered_by_the_reason_alone(self):
        run = self.record()
        shut, stranger = 0, {}
        if os.geteuid() == 0:  # no mode stops root
            shut, stranger = 0o700, {"user": 65534, "group": 65534, "extra_groups": []}
            self.folder.chmod(0o755)
            if subprocess.run(["test", "-x", COMMAND], **stranger).returncode:
                self.skipTest("the build folder is closed to others")
        for trace in run.glob("*.hptrace"):
            trace.chmod(shut)
        self.assertIn("Permission denied", self.refused("report", "recorded", status=1, **stranger))
        self.addCleanup(run.chmod, 0o700)
        run.chmod(shut)
        self.assertIn("Permission denied", self.refused("report", "recorded", status=1, **stranger))


class ControlTest(MistakeTest):
    def start(self, *words):
        """A recorded program that stays until the test ends: its process id."""
        command = subprocess.Popen([str(word) for word in (COMMAND, "run", "-o", "live", "--", *words)], cwd=self.folder,
                                   stderr=subprocess.DEVNULL, env=self.environment({}))
        self.addCleanup(command.wait)
        self.addCleanup(command.send_signal, signal.SIGTERM)
        for _ in range(600):
            for trace in (self.folder / "live").glob("**/*.hptrace"):
                return int(trace.stem.split("-")[-2])
            for job in (self.folder / "live").glob("**/*.job.json"):
                pid = json.loads(job.read_text() or "{}").get("pid")
                if pid and "sh" in words:
                    return pid
            time.sleep(0.05)
        return self.fail("nothing is recorded")

    def test_program_that_makes_no_recorded_call_is_told_apart_at_once(self):
        pid = self.start("sh", "-c", "while :; do :; done")
        line = self.refused("ctl", pid, "status", status=1)
        self.assertNotIn("HOSTPROBE_TARGET", line)

    def test_stacks_of_a_recorded_process_know_that_it_is(self):
        out, _ = self.ask("stacks", self.start(PROGRAMS / "stays"))
        self.assertNotIn("does not record", out)

    def test_set_is_all_or_nothing(self):
        pid = self.start(PROGRAMS / "stays")
        self.assertIn("bogus", self.refused("ctl", pid, "set", "stack_us=200", "bogus=3", status=1))
        self.assertIn("stack_us=1000", self.ask("ctl", pid, "status")[0].replace(" ", ""))

    def test_verbs_take_a_run(self):
        self.start(PROGRAMS / "stays")
        self.ask("ctl", "live", "trigger", "looks", "odd")


class ProgramThatCannotLoadTest(MistakeTest):
    @unittest.skipUnless(shutil.which("musl-gcc"), "no compiler for musl")
    def test_program_of_musl_runs_as_without(self):
        (self.folder / "main.c").write_text("int main(void) { return 7; }")
        subprocess.run(["musl-gcc", "-o", "musl", "main.c"], cwd=self.folder, check=True)
        _, lines = self.ask("run", "-o", "run", "./musl", status=7)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("musl", lines[0])

    def test_bare_preload_says_at_the_end_where_its_folder_is(self):
        done = subprocess.run([PROGRAMS / "works"], cwd=self.folder, capture_output=True, text=True, timeout=100,
                              env=self.environment({"LD_PRELOAD": str(PROBE), "HOSTPROBE_TARGET": "all", "RANK": "0"}))
        self.assertIn("hostprobe report", done.stderr)


class TwoJobsTest(MistakeTest):
    def test_job_that_recorded_nothing_does_not_count_the_traces_of_others(self):
        self.record("both")
        _, lines = self.ask("run", "-o", "both", "--", "true")
        self.assertEqual([line for line in lines if re.search(r"\b[1-9]\d* traces? in", line)], [])

    def test_report_of_two_jobs_shows_the_newest_and_names_the_other(self):
        self.record("both")
        self.record("both")
        out, _ = self.ask("report", "both")
        self.assertIn("--job", out)
        self.assertEqual(len(json.loads(self.ask("report", "both", "--json")[0])["processes"]), 1)


class RankAndStepTest(MistakeTest):
    def test_rank_that_is_not_there_is_answered_with_those_that_are(self):
        self.record(env={"RANK": "3"})
        self.assertRegex(self.refused("report", "recorded", "--rank", "7", status=1), r"\b7\b.*\b3\b")

    def test_step_that_is_not_there_is_answered_with_those_that_are(self):
        self.ask("run", "-o", "recorded", "--target", "all", "timeout", "-s", "TERM", "3", PROGRAMS / "stays", "slow", status=124)
        self.assertRegex(self.refused("report", "recorded", "--step", "9999", status=1), r"9999.*\d")

    def test_recover_of_a_complete_run_is_one_line(self):
        for _ in range(3):
            self.record()
        out, _ = self.ask("recover", "recorded")
        self.assertEqual(len(out.splitlines()), 1, out)


if __name__ == "__main__":
    unittest.main()
