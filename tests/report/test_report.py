#!/usr/bin/env python3
"""Reports as a person sees them: the first screen of each golden run in terminals of several sizes, the tables behind it, and mistakes.

test_report.py [-v] [Class.test_…]; HOSTPROBE_TEST_BUILD is the build folder. Whole sentences are not compared.
"""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import tempfile
import termios
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", HERE.parents[1] / "build")).absolute()
COMMAND = BUILD / "bin/hostprobe"
DOCS = HERE.parents[1] / "docs/reference"
LINES = 24  # of a terminal, one of them for the prompt
WORDS = ("INPUT BOUND", "ONE RANK LATE", "HOST BOUND", "COMMUNICATION BOUND", "HOST FINE", "CANNOT TELL")
SEVERITIES = ("none", "warning", "critical")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOSTPROBE_") and name != "COLUMNS"}
    return {**kept, "LC_ALL": "C.UTF-8", **more}


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        subprocess.run([BUILD / "bin/golden_runs", cls.folder], check=True)
        subprocess.run([BUILD / "bin/golden_made_run", cls.folder / "many", "4", "2500"], check=True)
        cls.runs = sorted(path.name for path in cls.folder.iterdir())

    def ask(self, *words, status=0, **more):
        done = subprocess.run([COMMAND, *words], cwd=self.folder, env=environment(**more), capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr if status else done.stdout

    def tables(self):
        """{name: meaning}, as --help lists them."""
        text = self.ask("report", "--help").split("Tables (", 1)[1].split("Examples", 1)[0]
        return dict(re.findall(r"(?m)^  (\w+) +(\S.*)$", text))


class FirstScreenTest(ReportTest):
    def test_it_fits_terminals_of_every_width(self):
        self.assertGreater(len(self.runs), 25)
        for run in self.runs:
            for width in (80, 120, 200):
                lines = self.ask("report", run, COLUMNS=str(width)).splitlines()
                with self.subTest(run=run, width=width):
                    self.assertLess(len(lines), LINES, "\n".join(lines))
                    self.assertLessEqual(max(len(line) for line in lines), width, "\n".join(lines))

    def test_its_verdict_is_that_of_the_document(self):
        seen = set()
        for run in self.runs:
            document = json.loads(self.ask("report", "--json", run))
            verdict = document["verdict"]
            shown = next(line for line in self.ask("report", run).splitlines() if line.startswith(WORDS))
            with self.subTest(run=run):
                self.assertIn(verdict["word"].upper(), WORDS)
                self.assertIn(verdict["severity"], SEVERITIES)
                self.assertTrue(verdict["why"])
                self.assertTrue(shown.startswith(verdict["word"].upper()), shown)
                self.assertEqual(verdict["severity"] in shown, verdict["severity"] != "none", shown)
            seen.add(verdict["word"])
        self.assertGreaterEqual(len(seen), 3, "the golden runs differ")

    def test_advice_stands_only_where_something_was_found(self):
        for run in self.runs:
            found = [one for one in json.loads(self.ask("report", "--json", run))["findings"] if one["cause"] != "own_cost"]
            text = self.ask("report", run, COLUMNS="100")
            with self.subTest(run=run):
                self.assertEqual(" 1  " in text, bool(found), text)
                if not found:
                    self.assertNotIn("->", text)

    def test_the_next_command_can_be_typed(self):
        for run in self.runs:
            line = re.search(r"(?m)^Next: (hostprobe .*?)(  \(|$)", self.ask("report", run, COLUMNS="200"))
            words = shlex.split(line[1])
            with self.subTest(run=run):
                self.assertTrue(self.ask(*words[1:]), words)

    def test_findings_name_a_thread_a_file_and_a_peer(self):
        named = [one for run in self.runs for one in json.loads(self.ask("report", "--json", run))["findings"]]
        self.assertTrue(any(one.get("thread") == "main" for one in named), [one["cause"] for one in named])


class TableTest(ReportTest):
    def test_every_table_of_every_run_fits_and_names_itself(self):
        tables = self.tables()
        self.assertGreater(len(tables), 15)
        for run in ("healthy", "threads", "scheduler", "workers", "stuck"):
            for name, meaning in tables.items():
                lines = self.ask("report", run, name, COLUMNS="80").splitlines()
                with self.subTest(run=run, table=name):
                    self.assertEqual(lines[0], f"{name.upper()} · {meaning}")
                    self.assertGreater(len(lines), 1)
                    self.assertLessEqual(max(len(line) for line in lines), 80, "\n".join(lines))

    def test_several_come_in_the_order_asked(self):
        text = self.ask("report", "threads", "threads", "time", "ranks")
        self.assertEqual(re.findall(r"(?m)^([A-Z]+) · ", text), ["THREADS", "TIME", "RANKS"])

    def test_a_rank_is_chosen(self):
        whole, one = (self.ask("report", "many", "threads", *more) for more in ((), ("--rank", "3")))
        self.assertEqual(re.findall(r"(?m)^RANK (\d+)", one), ["3"])
        self.assertEqual(len(re.findall(r"(?m)^RANK (\d+)", whole)), 2, "of many ranks the slowest and the median one")

    def test_mistakes_name_what_there_is(self):
        self.assertIn("the nearest is waits", self.ask("report", "many", "wait", status=2))
        self.assertIn("leave out 'waits'", self.ask("report", "many", "waits", "--json", status=2))
        self.assertIn("leave out 'waits'", self.ask("report", "many", "waits", "--html", "x.html", status=2))
        self.assertFalse((self.folder / "x.html").exists())


class TerminalTest(ReportTest):
    def on_terminal(self, columns, *words, **more):
        """What is printed on a terminal of that many columns."""
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        with subprocess.Popen([COMMAND, *words], cwd=self.folder, env=environment(**more), stdout=there, stderr=subprocess.DEVNULL) as process:
            os.close(there)
            said = b""
            try:
                while part := os.read(here, 1 << 16):
                    said += part
            except OSError:  # the other side is closed
                pass
            self.assertEqual(process.wait(timeout=60), 0)
        os.close(here)
        return said.decode().replace("\r\n", "\n")

    def test_the_terminal_is_asked_how_wide_it_is(self):
        for columns in (60, 80, 150):
            widest = max(len(line) for line in self.on_terminal(columns, "report", "many", "time", "ranks").splitlines())
            self.assertLessEqual(widest, columns)
        self.assertEqual(self.on_terminal(150, "report", "input", COLUMNS="80"), self.ask("report", "input", COLUMNS="80"))

    def test_a_width_that_is_none_is_passed_over(self):
        usual = self.ask("report", "input")
        for columns in ("", "x", "0", "-80", "80x", "99999999999999999999"):
            self.assertEqual(self.ask("report", "input", COLUMNS=columns), usual, columns)

    def test_a_narrow_terminal_gets_a_whole_report(self):
        text = self.on_terminal(20, "report", "input")
        for words in ("Next:", "Seen:", "critical"):
            self.assertIn(words, text)

    def test_nothing_steers_the_terminal(self):
        self.assertNotIn("\x1b", self.on_terminal(80, "report", "input", "--all"))


class PageTest(ReportTest):
    def test_the_page_names_each_table(self):
        page = (DOCS / "report.md").read_text()
        named = dict(re.findall(r"(?m)^\| `(\w+)` \| (.+) \|$", page))
        self.assertEqual(named, self.tables())


if __name__ == "__main__":
    unittest.main()
