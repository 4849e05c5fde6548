"""A package's own tests, bare and preloaded at the same time: each that passes bare must pass preloaded.

Suites have tests that fail now and then, most of all on a busy machine. One that failed only preloaded is run again, bare and
preloaded; it counts when it fails preloaded each time and passes bare each time.
"""

import os
import signal
import subprocess
from pathlib import Path

import guest
from guest import KINDS, GuestTest
from probed import path_of

OUTCOMES = Path(__file__).resolve().parent / "outcomes.py"
RETRIES = 3
END = "the end of the process"


class Suite(GuestTest):
    python = "GUESTS_PYTHON"
    settings = {}
    left_out = ()  # patterns of names
    least = 10  # so many pass bare, or the suite is not what it was
    seconds = 600  # what runs longer has failed

    def start_tests(self, kind, module, tests):
        """All tests of a module, or those named, in a process of its own and a folder of its own."""
        self.runs += 1
        folder = self.folder / f"{kind}-{self.runs}"
        folder.mkdir()
        environment = {**os.environ, "TMPDIR": str(folder), **self.settings, **self.environment(kind)}
        with open(folder / "text", "w") as text:
            without = [f"--without={pattern}" for pattern in self.left_out]
            process = subprocess.Popen([path_of(self.python), "-B", OUTCOMES, folder / "outcomes", module, *without, *tests],
                                       cwd=folder, stdin=subprocess.DEVNULL, stdout=text, stderr=text, env=environment,
                                       start_new_session=True)
        process.folder = folder
        return process

    def finish_tests(self, process):
        """Test → passed, failed, skipped …; what was not reached is not in it. The process's own end is one of them."""
        try:
            process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)  # and what it left behind
        except ProcessLookupError:
            pass
        process.wait()
        file = process.folder / "outcomes"
        lines = file.read_text().splitlines() if file.exists() else []
        ended = {END: "passed" if process.returncode in (0, 1) else "failed"}
        return ended | {name: word for word, _, name in (line.split(" ", 2) for line in lines)}

    def text_of(self, process):
        return (process.folder / "text").read_text(errors="replace")

    def run_both(self, module, tests=()):
        processes = [self.start_tests(kind, module, tests) for kind in KINDS]
        outcomes = [self.finish_tests(process) for process in processes]
        self.last_text = self.text_of(processes[1])
        self.assert_silent(self.last_text)
        return outcomes

    def check_module(self, module, tests=()):
        """How many tests passed bare, and all of them preloaded."""
        self.runs = 0
        bare, preloaded = self.run_both(module, tests)
        passed = {test for test, word in bare.items() if word == "passed"}
        worse = {test for test in passed if preloaded.get(test) != "passed"}
        for _ in range(RETRIES):
            if worse:
                print(f"once more: {sorted(worse)}", flush=True)
                bare, preloaded = self.run_both(module, sorted(worse - {END}))
                worse = {test for test in worse if bare.get(test) == "passed" and preloaded.get(test) != "passed"}
        self.assertEqual(worse, set(), self.last_text[-8000:])
        return len(passed - {END})

    def check(self, modules, tests=()):
        passed = 0
        for module in modules:
            with self.subTest(module=module):
                self.folder = self.outer_folder / module
                self.folder.mkdir()
                self.run_folder = self.folder / "run"
                passed += self.check_module(module, tests)
                self.check_records()
        self.assertGreaterEqual(passed, self.least)

    def setUp(self):
        super().setUp()
        self.outer_folder = self.folder


main = guest.main
