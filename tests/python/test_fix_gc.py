#!/usr/bin/env python3
"""The fix `gc`: thresholds of Python's collector, put in place and taken back in running programs."""

import time

import probed
from probed import COMMAND, PRELOAD, ProbedTest

# Tells its thresholds whenever they change, until it is told to end.
WATCHES = """
import gc, os, sys, time
SETUP
before = None
while not os.path.exists(sys.argv[1] + "/end"):
    now = gc.get_threshold()
    if now != before:
        print(*now, flush=True)
        before = now
    time.sleep(0.005)
"""


class FixGc(ProbedTest):
    def watched(self, *options, setup="", **changes):
        return self.start(COMMAND, "run", "-o", self.run_folder, *options, "--", *self.program(setup), **changes)

    def program(self, setup=""):
        script = self.folder / "watches.py"
        script.write_text(WATCHES.replace("SETUP", setup))
        return "/usr/bin/python3", script, self.folder

    def pid(self):
        for _ in range(400):
            traces = [path for path in self.run_folder.glob("*.hptrace") if path.stat().st_size]
            if traces:
                return traces[0].name.split("-")[-2]
            time.sleep(0.05)
        self.fail("no trace")

    def until(self, process, line):
        """Its next lines, up to this one."""
        lines = []
        while not lines or lines[-1] != line:
            got = process.stdout.readline()
            self.assertTrue(got, f"{lines}: ended without {line}")
            lines.append(got.strip())
        return lines

    def events(self):
        return [e["text"] for p in self.report()["processes"] for e in p["events"] if e["kind"] == "fix"]

    def end(self, process):
        (self.folder / "end").touch()
        return self.finish(process)

    def ctl(self, *words, status=0):
        return self.run_program(COMMAND, "ctl", self.pid(), "fix", *words, status=status)

    def test_thresholds_are_raised_from_the_start(self):
        process = self.watched("--fix", "gc")
        self.assertEqual(self.until(process, "50000 50 1000")[0], "700 10 10")
        self.end(process)
        self.assertEqual(self.events(), ["gc on: thresholds 700,10,10 became 50000,50,1000"])

    def test_on_and_off_on_a_running_program(self):
        process = self.watched()
        self.until(process, "700 10 10")
        self.ctl("on", "gc")
        self.until(process, "50000 50 1000")
        self.ctl("off", "gc")
        self.until(process, "700 10 10")
        self.end(process)
        self.assertEqual([text.split(":")[0] for text in self.events()], ["gc on", "gc off"])

    def test_a_program_with_thresholds_of_its_own_is_left_alone(self):
        for setup, kept in (("gc.set_threshold(123, 4, 5)", "123 4 5"), ("gc.disable()", "700 10 10")):
            with self.subTest(setup):
                process = self.watched(setup=setup)
                self.until(process, kept)
                self.ctl("on", "gc")
                time.sleep(3)
                out, _ = self.end(process)
                self.assertEqual(out, "")
                self.assertIn("stands back", self.events()[0])
                (self.folder / "end").unlink()
                for trace in self.run_folder.iterdir():
                    trace.unlink()

    def test_what_the_program_sets_later_stays(self):
        process = self.watched("--fix", "gc", setup="import threading\nthreading.Timer(8, gc.set_threshold, (9, 8, 7)).start()")
        self.until(process, "50000 50 1000")
        self.until(process, "9 8 7")
        self.ctl("off", "gc")
        time.sleep(2)
        out, _ = self.end(process)
        self.assertEqual(out, "")
        self.assertEqual([text.split(":")[0] for text in self.events()], ["gc on", "gc off"])

    def test_unknown_names_change_nothing(self):
        process = self.start(*self.program(), LD_PRELOAD=str(PRELOAD), HOSTPROBE_OUT=str(self.run_folder), HOSTPROBE_TARGET="all",
                             HOSTPROBE_FIX="gcc,gc")  # `run` would refuse it
        self.until(process, "50000 50 1000")
        _, said = self.ctl("on", "warp", status=1)
        self.assertIn("no fix 'warp'", said)
        _, said = self.end(process)
        self.assertIn("no fix 'gcc'", said)

    def test_a_program_without_python_runs_on(self):
        self.record("/bin/sleep", "0.3", options=("--fix", "gc"))
        self.assertEqual(self.events(), [])


if __name__ == "__main__":
    probed.main()
