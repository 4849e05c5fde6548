"""Runs programs with and without hostprobe and reads the report.

The build folder comes from ctest in HOSTPROBE_TEST_BUILD, which is taken out of the environment at once: programs under
test must see no variable that users do not have.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.pop("HOSTPROBE_TEST_BUILD", SOURCE / "build")).absolute()
COMMAND = BUILD / "bin/hostprobe"
PRELOAD = BUILD / "lib/libhostprobe.so"
SIMNODE = BUILD / "lib/hostprobe/simnode"


def _paths():
    lines = subprocess.run([SOURCE / "setup.sh", "--paths"], capture_output=True, text=True, check=True).stdout
    return {name: Path(path) for name, _, path in (line.partition("=") for line in lines.splitlines())}


_PATHS = _paths()
_CACHE = os.environ.pop("HOSTPROBE_CACHE", None)


def made_folder(add_cleanup):
    """A folder of its own, until what `add_cleanup` (addCleanup or addClassCleanup of a test) is given runs."""
    folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
    add_cleanup(folder.cleanup)
    return Path(folder.name)


def path_of(name):
    """Where setup.sh put something; a failure, not a skip, when it is not there."""
    if not _PATHS[name].exists():
        raise AssertionError(f"{_PATHS[name]} does not exist; run ./setup.sh test")
    return _PATHS[name]


def newer_pythons():
    """Those of Debian's unstable, which run with a libc of their own."""
    return sorted(glob.glob(str(_PATHS["NEWER_PYTHON"] / "usr/bin/python3.[0-9][0-9]")))


def pythons():
    """Every interpreter that is here, by its version, as (3, 11)."""
    found = {}
    for path in ["/usr/bin/python3", sys.executable, *glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")), *newer_pythons()]:
        version = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
        found.setdefault(tuple(map(int, version.stdout.split())), os.path.realpath(path))
    return found


def entered(folder):
    """How often each function of the simulated driver was entered, in all processes that counted into a folder."""
    total = Counter()
    for path in folder.glob("*.json"):
        total.update(json.loads(path.read_text()))
    return total


class ProbedTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)
        self.run_folder = self.folder / "run"

    def start(self, *command, **changes):
        """Starts a program in a folder of this test, with changes to the environment."""
        return subprocess.Popen([str(word) for word in command], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **changes})

    def finish(self, process, status=0):
        out, err = process.communicate()
        self.assertEqual(process.returncode, status, f"{process.args}\n{out[-4000:]}\n{err[-4000:]}")
        return out, err

    def run_program(self, *command, status=0, **changes):
        return self.finish(self.start(*command, **changes), status)

    def record(self, *command, options=(), status=0, **changes):
        """`hostprobe run`, into self.run_folder."""
        return self.run_program(COMMAND, "run", "-o", self.run_folder, *options, "--", *command, status=status, **changes)

    def report(self):
        return json.loads(self.run_program(COMMAND, "report", self.run_folder, "--json")[0])

    def dump(self):
        return [json.loads(line) for line in
                self.run_program(COMMAND, "dump", self.run_folder, "--json")[0].splitlines()]


main = unittest.main


def _tests(suite):
    for one in suite:
        yield from _tests(one) if isinstance(one, unittest.TestSuite) else [one.id().removeprefix("__main__.")]


def main_together():
    """Where no test is named each is a process, and all run at the same time: for tests that mostly wait."""
    if any(not word.startswith("-") for word in sys.argv[1:]):
        return main()
    names = [*_tests(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))]
    settings = {"HOSTPROBE_TEST_BUILD": str(BUILD), **({"HOSTPROBE_CACHE": _CACHE} if _CACHE else {})}

    def run(name):
        return subprocess.run([sys.executable, "-B", sys.argv[0], name, *sys.argv[1:]], env={**os.environ, **settings},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    with ThreadPoolExecutor(len(names)) as pool:
        ended = [*pool.map(run, names)]
    print(*(one.stdout for one in ended), sep="\n")
    sys.exit(any(one.returncode for one in ended))
