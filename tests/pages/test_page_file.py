#!/usr/bin/env python3
"""Pages as files: what is written over, what is left where writing fails, what a redacted one holds, how large they are.

test_page_file.py [-v] [Class.test_…]; no browser is needed
"""

import base64
import gzip
import html.parser
import json
import os
import pty
import re
import resource
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import made_pages
from made_pages import COMMAND, call

VOID = {"meta", "br", "img", "input"}


class Balanced(html.parser.HTMLParser):
    """Complains about a tag that is not closed, or closed twice."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.wrong = [], [], []

    def handle_starttag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


def document_in(page):
    kind, text = re.search(r'<script type="application/(\w+)" id="document">(.*?)</script>', page, flags=re.S).groups()
    return json.loads(gzip.decompress(base64.b64decode(text)) if kind == "gzip" else text)


def everything_in(page):
    return page + json.dumps(document_in(page), ensure_ascii=False)


class WithRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.recorded = made_pages.golden_run(self.folder, "input")
        self.page = self.folder / "page.html"


class PageFileTest(WithRun):
    def refused(self, *words, status=1):
        done = call(COMMAND, *words, status=status)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr

    def test_it_is_well_formed_and_no_id_is_there_twice(self):
        for name in ("input", "hosts", "stuck", "damaged", "flight", "monitor", "machine", "workers"):
            with self.subTest(run=name):
                page = made_pages.page_of(self.recorded.with_name(name)).read_text()
                found = Balanced()
                found.feed(page)
                self.assertEqual((found.wrong, found.open), ([], []))
                self.assertEqual(len(found.ids), len(set(found.ids)))

    def test_its_document_is_that_of_the_report(self):
        call(COMMAND, "report", self.recorded, "--html", self.page)
        self.assertEqual(document_in(self.page.read_text()), made_pages.report_of(self.recorded))

    def test_the_same_run_is_the_same_page(self):
        pages = [made_pages.page_of(self.recorded).read_bytes() for _ in range(2)]
        self.assertEqual(*pages)

    def test_a_page_is_written_over_by_a_page(self):
        call(COMMAND, "report", self.recorded, "--html", self.page)
        call(COMMAND, "diff", self.recorded, self.recorded, "--html", self.page)
        self.assertIn("hostprobe diff", self.page.read_text())

    def test_what_is_no_page_is_kept(self):
        self.page.write_text("my own notes")
        self.refused("report", self.recorded, "--html", self.page)
        self.refused("diff", self.recorded, self.recorded, "--html", self.page)
        self.assertEqual(self.page.read_text(), "my own notes")
        call(COMMAND, "report", self.recorded, "--html", self.page, "--force")
        self.assertIn("<html", self.page.read_text())

    def test_an_empty_file_is_no_obstacle(self):
        self.page.touch()
        call(COMMAND, "report", self.recorded, "--html", self.page)
        self.assertIn("<html", self.page.read_text())

    def test_where_it_cannot_be_written_is_said_in_a_line(self):
        self.refused("report", self.recorded, "--html", self.folder)
        self.refused("report", self.recorded, "--html", self.folder / "no such folder" / "page.html")
        self.refused("report", self.recorded, "--html", "/dev/full")
        self.refused("report", self.recorded, "--redact", status=2)

    def test_a_disk_that_fills_leaves_the_old_page_and_no_other(self):
        call(COMMAND, "report", self.recorded, "--html", self.page)
        before = self.page.read_bytes()

        def little_room():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

        done = subprocess.run([COMMAND, "report", self.recorded, "--html", self.page], capture_output=True, text=True, preexec_fn=little_room)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.page.read_bytes(), before)
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()), ["golden", "page.html"])

    def test_html_and_json_go_together(self):
        done = call(COMMAND, "report", self.recorded, "--json", "--html", self.page)
        self.assertEqual(json.loads(done.stdout), document_in(self.page.read_text()))


class RedactedTest(WithRun):
    # Hosts, paths, commands, functions, libraries, threads and kernels of the runs, which all are made up.
    NAMES = ("testhost", "train.py", "libcrunch", "python3.11", "pt_data_worker", "helper", "gemm", "plant", "feed", "--layers", "augment",
             "encoder", "redis", "virtio", "kubepods")

    def test_no_name_is_left_in_the_page_or_its_document(self):
        for run in ("input", "own_work", "python", "machine", "scheduler", "stuck", "damaged", "flight", "workers", "hosts", "driver"):
            plain = everything_in(made_pages.page_of(self.recorded.with_name(run)).read_text())
            held = everything_in(made_pages.page_of(self.recorded.with_name(run), "--redact").read_text())
            with self.subTest(run=run):
                self.assertTrue(any(name in plain for name in self.NAMES))
                self.assertEqual([name for name in self.NAMES if name in held], [])
                self.assertEqual([path for path in (f"{run}/", f"report {run}", str(self.folder)) if path in held], [])

    def test_a_comparison_is_redacted_too(self):
        call(COMMAND, "diff", self.recorded, self.recorded.with_name("own_work"), "--html", self.page, "--redact")
        held = everything_in(self.page.read_text())
        self.assertEqual([name for name in self.NAMES if name in held], [])

    def test_numbers_and_causes_stay_and_a_name_has_one_substitute(self):
        plain = document_in(made_pages.page_of(self.recorded).read_text())
        held = document_in(made_pages.page_of(self.recorded, "--redact").read_text())
        self.assertEqual([one["cause"] for one in held["findings"]], [one["cause"] for one in plain["findings"]])
        self.assertEqual(held["step_share_pct"], plain["step_share_pct"])
        self.assertEqual({process["host"] for process in held["processes"]}, set(held["run"]["hosts"]))
        self.assertTrue(all(one["text"] for one in held["findings"]))


class ManyRanksTest(WithRun):
    def test_eight_ranks_are_below_a_megabyte(self):
        page = made_pages.page_of(made_pages.made_run(self.folder, 8, 20_000))
        self.assertLess(page.stat().st_size, 1_000_000)

    def test_five_thousand_ranks_have_a_page(self):
        run = made_pages.made_run(self.folder, 5000, 200)
        self.assertIn("<html", made_pages.page_of(run).read_text())
        lines = call("env", "COLUMNS=80", COMMAND, "report", run).stdout.splitlines()
        self.assertLess(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)

    def test_progress_is_drawn_on_no_dumb_terminal(self):
        run = made_pages.made_run(self.folder, 1000, 400)
        here, there = pty.openpty()
        self.addCleanup(os.close, here)
        subprocess.run([COMMAND, "report", run], stdout=subprocess.DEVNULL, stderr=there, env={**made_pages.environment(), "TERM": "dumb"}, check=True)
        os.close(there)
        os.set_blocking(here, False)
        try:
            said = os.read(here, 1 << 16)
        except OSError:  # the other side is closed, and wrote nothing
            said = b""
        self.assertNotIn(b"\x1b", said)


STEPS_PROGRAM = r"""
#include <hostprobe/hostprobe.h>
#include <stdlib.h>
#include <time.h>
int main(int count, char** words) {
  struct timespec nap = {0, 2000000};
  nanosleep(&nap, NULL);
  nap.tv_nsec = 20000;
  for (long i = 0; i < atol(words[count - 1]); ++i) {
    if (i % 1000 == 0) nanosleep(&nap, NULL);
    hostprobe_step((uint64_t)i);
  }
  return 0;
}
"""


class BadInputTest(unittest.TestCase):
    """Names that nobody would choose, and runs of sizes that few have: a whole page and a readable report, or one line of error."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def check(self, run):
        page = made_pages.page_of(run)
        self.assertLess(page.stat().st_size, 1_000_000)
        text = page.read_text(encoding="utf-8")  # strictly
        found = Balanced()
        found.feed(text)
        self.assertEqual((found.wrong, found.open), ([], []))
        for unwanted in ("\x1b", "\u202e", "<img"):
            self.assertNotIn(unwanted, text)
        document = document_in(text)
        for width in (20, 80):
            said = call("env", f"COLUMNS={width}", COMMAND, "report", run).stdout
            self.assertIn(document["verdict"]["word"].upper(), said)
            self.assertNotRegex(said, "\x1b|\u202e")
            if width == 80:
                self.assertLessEqual(max(map(len, said.splitlines())), width)
        return document

    def test_a_command_of_4_kib_that_is_markup_escapes_and_no_utf_8(self):
        for name, word in (("long", "n" * 4096), ("markup", "</script><img src=x onerror=alert(1)>"), ("escapes", "\x1b[31m\x1b]0;title\x07"),
                           ("broken", os.fsdecode(b"\xff\xfe\xc3")), ("turned", "\u202etxt.exe\u2066")):
            with self.subTest(name=name):
                run = made_pages.record(self.folder / name, "sh", "-c", "sleep 0.01; exit 0", word, options=("--target", "all"))
                self.assertTrue(self.check(run)["processes"])

    def program(self):
        source, program = self.folder / "steps.c", self.folder / "steps"
        source.write_text(STEPS_PROGRAM)
        call("cc", "-O1", "-I", made_pages.SOURCE / "include", "-o", program, source, "-ldl")
        return program

    def test_no_steps_one_and_a_million_of_them(self):
        program = self.program()
        for steps in (0, 1, 1_000_000):
            with self.subTest(steps=steps):
                document = self.check(made_pages.record(self.folder / f"steps-{steps}", program, steps, options=("--target", "all")))
                if steps == 1_000_000:
                    self.assertGreater(document["steps"]["count"] + document["processes"][0]["lost"], 100_000)
                    self.assertLessEqual(len((document["steps"]["map"] or {"first_number": []})["first_number"]), 240)

    def test_a_pipe_that_closes_is_no_more_than_a_line(self):
        run = made_pages.made_run(self.folder, 64, 4000)
        for words in (("--all",), ("--json",)):
            with self.subTest(words=words):
                asked = subprocess.Popen([str(COMMAND), "report", str(run), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         env=made_pages.environment())
                asked.stdout.read(10)
                asked.stdout.close()
                said = asked.stderr.read().decode()
                asked.stderr.close()
                self.assertNotEqual(asked.wait(100), 0)
                self.assertLessEqual(len(said.splitlines()), 1, said)

    def test_without_colour_and_on_a_dumb_terminal_it_says_the_same(self):
        run = made_pages.golden_run(self.folder, "input")
        plain = call(COMMAND, "report", run).stdout
        for setting in ("NO_COLOR=1", "TERM=dumb", "TERM="):
            self.assertEqual(call("env", setting, COMMAND, "report", run).stdout, plain)
        self.assertNotIn("\x1b", plain)


if __name__ == "__main__":
    unittest.main()
