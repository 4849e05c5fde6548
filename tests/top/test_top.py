#!/usr/bin/env python3
"""hostprobe top beside living processes: what it prints, how it refuses, and the screen, in terminals that tmux makes.

test_top.py [-v] [Class.test_…]; HOSTPROBE_TEST_BUILD is the build folder. Whole sentences are not compared, nor times.
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

import jsonschema

BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", Path(__file__).resolve().parents[2] / "build")).absolute()
COMMAND = BUILD / "bin/hostprobe"
PROBE = BUILD / "lib/libhostprobe.so"
STAYS = BUILD / "tests/programs/stays"
PATIENCE_S = 60


def until(holds):
    """Whether it did so before our patience ended."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


class TopTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="hostprobe-top-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_folder = self.folder / "run"
        self.processes = []
        self.addCleanup(self.end_all)

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items()
                 if not k.startswith(("HOSTPROBE_", "TMUX")) and k not in ("LD_PRELOAD", "RANK", "COLUMNS", "NO_COLOR")}
        return {**clean, "LC_ALL": "C.UTF-8", **more}

    def start(self, rank=None, ranks=2, what="marks", **more):
        """A recorded process, once it has begun."""
        places = {} if rank is None else {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks)}
        process = subprocess.Popen([STAYS, what], stdout=subprocess.DEVNULL, env=self.environment(
            LD_PRELOAD=str(PROBE), HOSTPROBE_OUT=str(self.run_folder), HOSTPROBE_TARGET="all", **places, **more))
        self.processes.append(process)
        recorded = f"-{process.pid}-"
        self.assertTrue(until(lambda: self.run_folder.exists() and any(recorded in path.name for path in self.run_folder.iterdir())))
        return process

    def end(self, process, by=signal.SIGTERM):
        if process.poll() is None:
            process.send_signal(by)
        process.wait(PATIENCE_S)

    def end_all(self):
        for process in self.processes:
            self.end(process)

    def ask(self, *words, status=0, **more):
        done = subprocess.run([str(word) for word in (COMMAND, "top", *words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=100, env=self.environment(), stdin=subprocess.DEVNULL, **more)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done

    def document(self, *words):
        return json.loads(self.ask(*words, "--once", "--json").stdout)

    def stepping_document(self, *words):
        """The first in which every rank has made steps."""
        found = []

        def has_steps():
            found.append(self.document(*words))
            return all(rank["steps"] for rank in found[-1]["ranks"])
        self.assertTrue(until(has_steps), found[-1:])
        return found[-1]


class TextTest(TopTest):
    def test_a_document_has_a_row_of_each_rank_with_its_steps_and_wait(self):
        pids = [self.start(rank).pid for rank in (0, 1)]
        document = self.stepping_document(self.run_folder)
        self.assertEqual([(rank["rank"], rank["pid"], rank["state"]) for rank in document["ranks"]],
                         [(0, pids[0], "running"), (1, pids[1], "running")])
        for rank in document["ranks"]:
            self.assertGreater(rank["steps"]["count"], 0)
            self.assertGreaterEqual(min(rank["steps"]["last_ms"]), 20)
            self.assertIn("stays", [thread["name"] for thread in rank["threads"]])
            if rank["in"]:
                self.assertRegex(rank["in"]["function"], "^sem_")
        self.assertIsNotNone(document["causes"]["age_s"])
        self.assertEqual(document["lost"], 0)
        self.assertFalse(document["run"]["ended"])
        schema = json.loads(subprocess.run([COMMAND, "schema", "top"], capture_output=True, check=True).stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
        self.assertEqual(schema["properties"].keys(), document.keys())
        self.assertEqual(schema["properties"]["ranks"]["items"]["properties"].keys(), document["ranks"][0].keys())

    def test_the_causes_sum_to_the_step(self):
        self.start(0, ranks=1)
        found = []

        def has_causes():
            found.append(self.document(self.run_folder))
            return found[-1]["ranks"][0]["causes"]
        self.assertTrue(until(has_causes), found[-1:])
        rank = found[-1]["ranks"][0]
        self.assertAlmostEqual(sum(cause["ms_per_step"] for cause in rank["causes"]), rank["steps"]["median_ms"],
                               delta=0.5 * rank["steps"]["median_ms"])

    def test_every_mode_shows_steps(self):
        for mode in ("monitor", "flight", "trace"):
            with self.subTest(mode=mode):
                self.run_folder = self.folder / mode
                self.start(0, ranks=1, HOSTPROBE_MODE=mode)
                document = self.stepping_document(self.run_folder)
                self.assertEqual(document["run"]["mode"], mode)
                self.assertGreaterEqual(min(document["ranks"][0]["steps"]["last_ms"]), 20)

    def test_steps_that_are_switched_off_are_none(self):
        self.start(0, ranks=1, HOSTPROBE_STEPS="off")
        self.assertIsNone(self.document(self.run_folder)["ranks"][0]["steps"])
        self.assertIn("HOSTPROBE_STEPS=off", self.ask(self.run_folder, "--once").stdout)

    def test_auto_shows_each_trial_with_both_medians(self):
        self.start(0, ranks=1, HOSTPROBE_FIX="auto:timer_slack", HOSTPROBE_MODE="trace")
        found = []

        def has_a_pair():
            found.append(self.document(self.run_folder)["auto"])
            return found[-1] and found[-1]["pairs"] > 0
        self.assertTrue(until(has_a_pair), found[-1:])
        self.assertEqual(found[-1]["fix"], "timer_slack")
        self.assertGreater(min(found[-1]["step_without_ms"], found[-1]["step_with_ms"]), 10)
        self.assertIn("timer_slack", self.ask(self.run_folder, "--once").stdout)

    def test_a_process_is_shown_by_its_number(self):
        self.start(0)
        other = self.start(1)
        document = self.document(other.pid)
        self.assertEqual([rank["pid"] for rank in document["ranks"]], [other.pid])

    def test_a_rank_that_stands_still_is_a_hang(self):
        process = self.start(0, ranks=1)
        self.assertIsNone(self.stepping_document(self.run_folder)["hang"])
        process.send_signal(signal.SIGUSR1)
        found = []

        def hangs():
            found.append(self.document(self.run_folder))
            return found[-1]["hang"]
        self.assertTrue(until(hangs), found[-1:])
        self.assertEqual(found[-1]["ranks"][0]["in"]["function"], "sem_wait")
        self.assertGreater(found[-1]["ranks"][0]["in"]["since_s"], 1)

    def test_a_rank_that_was_killed_and_one_that_ended_keep_their_rows(self):
        killed, ended, stays = (self.start(rank, ranks=3) for rank in range(3))
        self.end(killed, signal.SIGKILL)
        self.end(ended)
        self.assertEqual([(rank["pid"], rank["state"]) for rank in self.document(self.run_folder)["ranks"]],
                         [(killed.pid, "recovered"), (ended.pid, "exited"), (stays.pid, "running")])

    def test_text_is_as_wide_as_it_is_asked_to_be(self):
        self.start(0)
        for width in (20, 60, 80, 200):
            done = subprocess.run([COMMAND, "top", self.run_folder, "--once"], capture_output=True, text=True, timeout=100, check=True,
                                  env=self.environment(COLUMNS=str(width)))
            self.assertLessEqual(max(map(len, done.stdout.splitlines())), width)
            self.assertNotIn("\x1b", done.stdout)

    def test_documents_come_each_second_until_the_job_ends(self):
        process = self.start(0, ranks=1)
        top = subprocess.Popen([COMMAND, "top", self.run_folder, "--json"], stdout=subprocess.PIPE, text=True, env=self.environment())
        self.processes.append(top)
        lines = [json.loads(top.stdout.readline()) for _ in range(2)]
        self.assertEqual([line["run"]["ended"] for line in lines], [False, False])
        self.end(process)
        rest = [json.loads(line) for line in top.stdout]
        top.stdout.close()
        self.assertTrue(rest[-1]["run"]["ended"])
        self.assertEqual(rest[-1]["ranks"][0]["state"], "exited")
        self.assertEqual(top.wait(PATIENCE_S), 0)

    def test_a_pipe_that_closes_ends_it(self):
        self.start(0, ranks=1)
        top = subprocess.Popen([COMMAND, "top", self.run_folder, "--json"], stdout=subprocess.PIPE, env=self.environment())
        self.processes.append(top)
        top.stdout.readline()
        top.stdout.close()
        self.assertNotEqual(top.wait(PATIENCE_S), 0)


class RefusalTest(TopTest):
    def refused(self, *words, status=1, **more):
        done = self.ask(*words, "--once", status=status, **more)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_what_is_not_there(self):
        self.refused("nowhere")
        self.refused("999999999")

    def test_a_process_that_is_not_recorded(self):
        sleeper = subprocess.Popen(["sleep", "100"], env=self.environment())
        self.processes.append(sleeper)
        self.assertIn(str(sleeper.pid), self.refused(sleeper.pid))

    def test_a_run_that_has_ended_names_the_report(self):
        self.end(self.start(0))
        self.assertIn("hostprobe report", self.refused(self.run_folder))

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_a_process_of_somebody_else(self):
        process = self.start(0)
        os.chmod(self.folder, 0o711)
        self.assertIn("another user", self.refused(process.pid, user="nobody", group="nogroup", extra_groups=[]))

    def test_a_job_of_a_process(self):
        self.refused("1", "--job", "1", status=2)


@unittest.skipIf(shutil.which("tmux") is None, "no tmux here")
class ScreenTest(TopTest):
    def setUp(self):
        super().setUp()
        self.socket = str(self.folder / "tmux")
        self.settings_file = self.folder / "tmux.conf"
        self.settings_file.write_text("set -g status off\nset -g default-terminal screen-256color\n")

    def tmux(self, *words, **more):
        return subprocess.run([str(word) for word in ("tmux", "-S", self.socket, "-f", self.settings_file, *words)], capture_output=True, text=True, check=True,
                              env=self.environment(TERM="xterm-256color", **more)).stdout

    def open(self, *words, width=80, height=24, prefix="", **more):
        """A shell in a terminal of this size that has typed `hostprobe top WORDS`."""
        self.tmux("new-session", "-d", "-x", width, "-y", height, "env", "PS1=ready> ", "sh", **more)
        self.addCleanup(self.tmux, "kill-server")
        self.await_text("ready>")
        self.before = self.settings()
        self.type(f"{prefix}{COMMAND} top {' '.join(map(str, words))}; echo status-$?")

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def await_text(self, pattern):
        found = []

        def stands_there():
            found.append(self.screen())
            return re.search(pattern, found[-1])
        self.assertTrue(until(stands_there), f"{pattern} in\n{found[-1]}")
        return found[-1]

    def settings(self):
        """Of the terminal, as the shell has it: the line discipline, the cursor, the other screen."""
        path = self.folder / f"stty-{time.monotonic_ns()}"
        self.type(f"stty -a > {path}.part; mv {path}.part {path}; clear")
        self.assertTrue(until(path.exists))
        return re.sub(r"(rows|columns) \d+", "", path.read_text()), self.tmux("display-message", "-p", "#{cursor_flag} #{alternate_on} #{keypad_flag}")

    def assert_gives_the_terminal_back(self, status):
        self.await_text(rf"status-{status}\b")
        self.assertEqual(self.settings(), self.before)

    def rows(self, text):
        return re.findall(r"(?m)^[> ] +(\d+) +[\d.-]+ ", text)

    def test_it_fits_every_size(self):
        for rank in range(3):
            self.start(rank, ranks=3)
        self.open(self.run_folder)
        self.await_text(r"steps/s")
        for width, height in ((60, 10), (80, 24), (120, 40), (200, 50), (30, 5), (80, 10), (60, 10)):
            self.tmux("resize-window", "-x", width, "-y", height)

            def is_drawn(width=width, height=height):
                lines = self.screen().splitlines()
                return len(lines) == height and lines[0].startswith("hostp") and "q quit" in lines[-1]
            self.assertTrue(until(is_drawn), f"{width}x{height}:\n{self.screen()}")
        self.await_text(r"(?m)^>")
        self.press("q")
        self.assert_gives_the_terminal_back(0)

    def test_keys_choose_order_and_explain(self):
        for rank in range(2):
            self.start(rank)
        self.open(self.run_folder)
        self.await_text(r"(?m)^> +0 ")
        self.press("Down")
        self.await_text(r"(?m)^> +1 ")
        self.await_text(r"threads of rank 1 ")
        self.press("k")
        self.await_text(r"(?m)^> +0 ")
        self.press("o")
        self.await_text("order: step")
        self.press("c")
        self.await_text("order: (?!step)")
        self.press("?")
        self.await_text("quits; the job goes on")
        self.press("?")
        self.await_text("threads of rank")
        self.press("q")
        self.assert_gives_the_terminal_back(0)
        self.assertTrue(all(process.poll() is None for process in self.processes))

    def test_keys_ask_the_processes(self):
        process = self.start(0, ranks=1, HOSTPROBE_FLIGHT_S="5")
        self.open(self.run_folder)
        self.await_text(r"(?m)^> +0 +[\d.]+ ")
        self.press("t")
        self.assertTrue(until(lambda: list(self.run_folder.glob("*.hpdump"))))
        self.press("s")
        self.await_text("sem_")
        self.press("s")
        self.await_text("threads of rank 0")
        self.press("f")
        letter = re.search(r"(?m)^ +(\w) +timer_slack$", self.await_text("timer_slack"))[1]
        self.press(letter)
        self.await_text(r"fix timer_slack on for \d+ s.* before, [\d.]+ since")
        self.press("f")
        self.await_text(r"timer_slack \(on\)")
        self.press(letter)
        self.await_text(r"fix timer_slack off")
        self.press("q")
        self.assert_gives_the_terminal_back(0)
        self.assertIsNone(process.poll())

    def test_a_rank_that_dies_comes_back_and_a_job_that_ends(self):
        first, other = self.start(0), self.start(1)
        self.open(self.run_folder)
        self.await_text(r"(?m)^> +0 +[\d.]+ ")
        self.end(first, signal.SIGKILL)
        self.await_text(r"(?m)^> +0 .*killed")
        again = self.start(0, TORCHELASTIC_RESTART_COUNT="1")
        self.await_text(rf"(?m)^> +0\S* .*\n.*\n.*\n.*rank 0 \({again.pid}\)")
        self.assertEqual(self.screen().count("killed"), 0)
        for process in (again, other):
            self.end(process)
        self.await_text("hostprobe report")
        self.press("q")
        self.assert_gives_the_terminal_back(0)

    def test_signals_give_the_terminal_back(self):
        self.start(0, ranks=1)
        self.open(self.run_folder)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.await_text(r"(?m)^> +0 ")
            shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
            top = int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])
            os.kill(top, number)
            if number == signal.SIGINT:  # that ends what the shell was told behind it as well
                self.await_text(r"ready>\s*$")
                self.assertEqual(self.settings(), self.before)
            else:
                self.assert_gives_the_terminal_back(128 + number)
            self.type(f"{COMMAND} top {self.run_folder}; echo status-$?")
        self.await_text(r"(?m)^> +0 ")
        self.press("q")

    def test_it_needs_no_colours_and_no_utf8(self):
        self.start(0, ranks=1)
        self.open(self.run_folder, prefix="NO_COLOR=1 LC_ALL=C ")
        text = self.await_text(r"(?m)^> +0 .*sem_")
        self.assertTrue(text.isascii(), text)
        self.await_text("steps/s")
        coloured = self.tmux("capture-pane", "-p", "-e")
        self.assertNotRegex(coloured, r"\x1b\[[0-9;]*(3[0-7]|4[0-7])m")
        self.press("q")
        self.assert_gives_the_terminal_back(0)

    def test_a_terminal_that_shows_no_screen_is_refused_in_a_line(self):
        self.start(0, ranks=1)
        self.open(self.run_folder, prefix="TERM=dumb ")
        self.assert_gives_the_terminal_back(1)
        self.type(f"TERM=no-such-terminal {COMMAND} top {self.run_folder}; echo status-$?")
        self.assert_gives_the_terminal_back(1)


if __name__ == "__main__":
    unittest.main()
