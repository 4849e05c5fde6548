#!/usr/bin/env python3
"""Reads Python frames in a real interpreter: check.py --preload LIBRARY --version 3.12 [unittest arguments].

`--version system` is the python3 of this machine; other versions are looked for in pyenv, and where setup.sh puts newer ones. Exit 77: there
is none here.
HOSTPROBE_PYTHON_EXITS: how often the interpreter is ended under daemon threads (default 25).
"""

import argparse
import ast
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import probed  # noqa: E402

TEXT_BYTES = 160
ASLEEP_MS = 30  # watched.py has seen each thread sleep at least so long
TIMED = ("sem_clockwait", "sem_timedwait")  # what a wait with a timeout is, by version
settings = None


def find_python(version):
    if version == "system":
        return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else None
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    found = sorted(glob.glob(f"{root}/versions/{version}.*/bin/python3"))
    return found[-1] if found else next((path for path in probed.newer_pythons() if path.endswith(version)), None)


def printable(text):
    odd = (*range(0x20), *range(0x7f, 0xa0), *range(0xd800, 0xe000))
    return text.translate({point: "?" for point in odd})


def cut(text, room):
    """The end of the text that fits, behind three dots where something is missing."""
    if len(text.encode()) <= room and len(text) <= TEXT_BYTES - 4:
        return text
    while len(text.encode()) > room - 3 or len(text) > TEXT_BYTES - 4:
        text = text[1:]
    return "..." + text


def text_of(name, file, line):
    place = cut(printable(file).rsplit("/", 1)[-1], 72) + f":{line}"
    return f"{cut(printable(name), TEXT_BYTES - 4 - len(place.encode()))} ({place})"


def call_lines(path):
    """function → lines on which something is called that is defined in this file, by whom."""
    tree, calls = ast.parse(path.read_text(encoding="utf-8")), {}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined | {"exec", "function"}:
                calls.setdefault(node.func.id, set()).add((function.name, node.lineno))
    return calls


def may_call(calls, inner, outer):
    """Whether a frame can lie inside another one, both as (function, file, line)."""
    callers = {"temporary": "function", "<module>": "exec"}  # the code that exec makes
    if outer[2] is None:
        return False  # it is at a call
    if outer[1] != "running.py":
        return inner[0] == "main" or inner[1] == outer[1]  # threading.py
    if outer[0] == "<module>":
        return inner[0] == "main" or inner[1] != "running.py"
    return (outer[0], int(outer[2])) in calls.get(callers.get(inner[0], inner[0]), set())


class Frames(unittest.TestCase):
    def run_python(self, program, *arguments, preload=True, log=None):
        # 3.12 warns of fork() while a joined thread is still leaving.
        env = dict(os.environ, PYTHONIOENCODING="utf-8", PYTHONWARNINGS="ignore::DeprecationWarning")
        if preload:
            env["LD_PRELOAD"] = str(settings.preload)
        if log:
            env["PYTHON_FRAMES_LOG"] = str(log)
        return subprocess.run([settings.python, str(HERE / "programs" / program), *arguments],
                              capture_output=True, text=True, env=env, timeout=170)

    def run_logged(self, program, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            done = self.run_python(program, *arguments, log=log)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        waits = []
        for row in rows:
            pid, tid, function, ms, frames = row.split(" ", 4)
            waits.append((int(pid), int(tid), function, float(ms), [text for text in frames.split("|") if text]))
        return done.stdout, waits

    def same_output_with_and_without(self, program, *arguments):
        bare = self.run_python(program, *arguments, preload=False)
        probed = self.run_python(program, *arguments)
        self.assertEqual((probed.returncode, probed.stdout, probed.stderr), (bare.returncode, bare.stdout, bare.stderr))
        self.assertEqual(probed.returncode, 0, probed.stderr)

    def test_frames_are_those_the_interpreter_itself_tells(self):
        output, waits = self.run_logged("watched.py")
        cases = [json.loads(line) for line in output.splitlines()]
        self.assertEqual(len(cases), 45)
        for case in cases:
            with self.subTest(case["case"]):
                expected = [text_of(*frame) for frame in case["expected"]][:32]
                self.assertGreater(len(expected), 2)
                seen = [frames for _, tid, function, ms, frames in waits
                        if tid == case["tid"] and function.startswith("sem_") and ms > ASLEEP_MS]
                self.assertIn(expected, seen)
        self.assert_reads_as_in_the_docs(next(frames for *_, frames in waits if "(queue.py:" in str(frames[1:2])))

    def test_a_running_thread_is_only_seen_where_it_can_have_been(self):
        output, rows = self.run_logged("running.py", "2")
        self.assertEqual(output, "done\n")
        seen = [frames for *_, function, _, frames in rows if function == "sample"]
        torn = sum(function == "torn" for _, _, function, _, _ in rows)
        self.assertGreater(len(seen), 500, f"{torn} torn")
        calls, wrong = call_lines(HERE / "programs/running.py"), Counter()
        for frames in seen:
            places = [re.fullmatch(r"(.*) \((.*?)(?::(\d+))?\)", frame).groups() for frame in frames]
            wrong.update(pair for pair in zip(places, places[1:]) if not may_call(calls, *pair))
        self.assertEqual(wrong, Counter(), f"of {len(seen)} samples, {torn} torn")

    def assert_reads_as_in_the_docs(self, texts):
        before, after = ("", "") if settings.version_text in ("3.8", "3.9", "3.10") else ("Condition.", "Queue.")
        self.assertRegex(texts[0], rf"^{before}wait \(threading\.py:\d+\)$")
        self.assertRegex(texts[1], rf"^{after}get \(queue\.py:\d+\)$")
        self.assertRegex(texts[2], r"^wait \(watched\.py:\d+\)$")
        self.assertRegex(texts[-1], r"^<module> \(watched\.py:\d+\)$")

    def test_threads_may_start_and_end_at_any_time(self):
        self.same_output_with_and_without("storm.py", "200")

    def test_daemon_threads_may_outlive_the_interpreter(self):
        for i in range(int(os.environ.get("HOSTPROBE_PYTHON_EXITS", "25"))):
            done = self.run_python("daemons.py", str(0.01 + i % 10 * 0.0007))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "bye\n", ""))

    def test_a_signal_handler_may_wait_anywhere_in_the_interpreter(self):
        done = self.run_python("signals.py")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "interrupted\n", ""))

    def test_subinterpreters_run_as_before(self):
        self.same_output_with_and_without("subinterpreters.py")

    def test_faulthandler_sees_its_own_frames(self):
        done = self.run_python("late_traceback.py")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"late_traceback\.py\", line \d+ in <module>")

    def test_a_greenlet_shows_its_own_stack(self):
        if subprocess.run([settings.python, "-c", "import greenlet"], capture_output=True).returncode != 0:
            self.skipTest("greenlet is not installed for this interpreter")
        output, waits = self.run_logged("greenlets.py")
        self.assertEqual(output, "[0, 1, 2]\n[0, 1, 2]\n")
        stacks = [[text.split(" ")[0].split(".")[-1] for text in frames] for _, _, function, _, frames in waits
                  if function in TIMED]
        self.assertEqual(stacks, [["wait", "get", "wait_here", "inner", "outer"]] * 6)

    def test_an_embedded_interpreter_may_come_and_go(self):
        library = subprocess.run([settings.python, "-c", "import sysconfig as s; v = s.get_config_var; "
                                  "print(v('LIBDIR') + '/' + v('INSTSONAME'))"], capture_output=True, text=True).stdout.strip()
        if not os.path.exists(library) or ".so" not in library:
            self.skipTest("this interpreter has no shared library")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            env = dict(os.environ, LD_PRELOAD=str(settings.preload), PYTHON_FRAMES_LOG=str(log))
            done = subprocess.run([settings.embedder, library], env=env, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "closed\n", ""))
            rows = [row.split(" ", 4) for row in log.read_text().splitlines()]
            self.assertEqual([row[4] for row in rows if row[2] in TIMED], ["inside (<string>:3)|<module> (<string>:4)"] * 2 + [""])

    def test_what_is_not_python_has_no_frames(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            env = dict(os.environ, LD_PRELOAD=str(settings.preload), PYTHON_FRAMES_LOG=str(log))
            subprocess.run([settings.waiter], env=env, check=True, timeout=60)
            self.assertRegex(log.read_text(), r"^\d+ \d+ sem_timedwait [\d.]+ \n$")


def main():
    global settings
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", type=Path, required=True)
    parser.add_argument("--waiter", type=Path, required=True, help="a program that is not Python and waits once")
    parser.add_argument("--embedder", type=Path, required=True, help="a program that opens and closes a libpython")
    parser.add_argument("--version", required=True)
    parser.add_argument("--python", help="this interpreter, whatever its version")
    settings, rest = parser.parse_known_args()
    settings.python = settings.python or find_python(settings.version)
    if settings.python is None:
        print(f"no python {settings.version} on this machine: nothing was checked")
        sys.exit(77)
    settings.version_text = subprocess.run([settings.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                           capture_output=True, text=True, check=True).stdout.strip()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
