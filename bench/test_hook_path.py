#!/usr/bin/env python3
"""Breaks the gate of hook_path.py on purpose: a gate that cannot fail is no gate. test_hook_path.py BUILD-FOLDER"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import hook_path

BUILD = Path("build")
SHAPE = "launch_11_arguments"


def figures(instructions):
    return {way: {figure: instructions for figure in hook_path.FIGURES} for way in hook_path.WAYS}


class Growth(unittest.TestCase):
    def lines(self, kept, found):
        return list(hook_path.growth({SHAPE: figures(kept)}, {SHAPE: figures(found)}))

    def test_five_percent_pass_and_more_fail(self):
        self.assertEqual(self.lines(100, 105), [])
        self.assertEqual(self.lines(100, 60), [])
        self.assertEqual(len(self.lines(100, 105.1)), 4)
        self.assertIn("5.1 (5.1 %) more than the 100 that are kept", self.lines(100, 105.1)[0])

    def test_what_cost_nothing_must_go_on_costing_nothing(self):
        self.assertEqual(self.lines(0, 0), [])
        self.assertEqual(len(self.lines(0, 1)), 4)

    def test_a_call_that_is_not_kept_fails(self):
        self.assertEqual(len(list(hook_path.growth({}, {SHAPE: figures(1)}))), 4)


class Count(unittest.TestCase):
    def test_only_the_librarys_own_lines_are_its_own(self):
        text = ("summary: 100\n\nob=/lib/libhostprobe.so\nfn=hook\n7 20\n+1 3\ncob=/lib/libc.so.6\ncfn=read\ncalls=1 9\n"
                "8 50\n* 2\n\nob=/lib/libc.so.6\nfn=read\n9 50\ntotals: 100\n")
        self.assertEqual(hook_path.count_own(text, Path("/other/libhostprobe.so")), (100, 25))


class Gate(unittest.TestCase):
    """The whole gate, with expectations that are doctored."""

    def check(self, instructions, environment=None, **tools):
        library = BUILD / "lib/libhostprobe.so"
        kept = {"tools": hook_path.tools_of(library) | tools, "instructions": {SHAPE: figures(instructions)}}
        with tempfile.TemporaryDirectory() as folder:
            expected = Path(folder, "expected")
            expected.write_text(json.dumps(kept))
            done = subprocess.run([sys.executable, hook_path.__file__, "--check", "--build", BUILD, "--expected", expected,
                                   SHAPE], env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def test_without_valgrind_it_is_skipped_with_a_word(self):
        status, text = self.check(1, environment={"PATH": "/nonexistent"})
        self.assertEqual(status, hook_path.CANNOT_COMPARE, text)
        self.assertIn("valgrind is not installed", text)

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_figures_of_another_compiler_are_not_compared(self):
        status, text = self.check(1, compiler="GCC: 99")
        self.assertEqual(status, hook_path.CANNOT_COMPARE, text)
        self.assertIn("compiler 'GCC: 99'", text)

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_a_hook_that_has_grown_fails_and_says_how_to_keep_it(self):
        status, text = self.check(50)
        self.assertEqual(status, 1, text)
        self.assertRegex(text, rf"{SHAPE}, recording, ours: [\d.]+ instructions a call, [\d.]+ \([\d.]+ %\) more")
        self.assertIn("--keep", text)

    @unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
    def test_a_hook_that_has_not_grown_passes(self):
        status, text = self.check(1000)
        self.assertEqual(status, 0, text)


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
