#!/usr/bin/env python3
"""mypy --strict over the Python package, and over a program that uses it."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import probed
from probed import SOURCE

PACKAGE = SOURCE / "python/hostprobe"
USE = """
import hostprobe

run = hostprobe.open("run")
table = run.launches.select(["rank"])
columns: tuple[str, ...] = table.columns
names: tuple[str, ...] = run.tables
rows: dict[str, int] = hostprobe.to_parquet(run, "out", tables=["launches"], progress=lambda done, whole: None)
with hostprobe.region("forward"), hostprobe.step(1):
    hostprobe.mark("loss", 0.5)
"""
WRONG = """
import hostprobe

hostprobe.open(7)
hostprobe.to_parquet("run")
hostprobe.open("run").table(3)
"""


class Types(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        shutil.copytree(PACKAGE, self.folder / "hostprobe", ignore=shutil.ignore_patterns("__pycache__"))

    def mypy(self, *words):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", self.folder / "cache",
                               *words], cwd=self.folder, capture_output=True, text=True)

    def test_the_package_as_users_see_it(self):
        done = self.mypy("-p", "hostprobe")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_its_users_write(self):
        (self.folder / "use.py").write_text(USE)
        done = self.mypy("use.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (self.folder / "wrong.py").write_text(WRONG)
        done = self.mypy("wrong.py")
        self.assertEqual([line.split(":")[1] for line in done.stdout.splitlines()[:-1]], ["4", "5", "6"], done.stdout)

    def test_stubs_say_what_the_modules_have(self):
        """Where a .pyi stands beside a module mypy looks at the former alone: its names and parameters are held against the
        latter. _marks repeats names of the package."""
        empty = self.folder / "empty"
        empty.mkdir()
        # The module of marks is C's; classes of pybind11 have a metaclass and an __init__ of its own.
        (empty / "allowed").write_text("hostprobe\\.(_marks|_no_marks)\\..*\nhostprobe\\._tables\\.(Run|HeldTrace)(\\..*)?\n")
        built = str(probed.BUILD / "lib/hostprobe/python")
        done = subprocess.run([sys.executable, "-m", "mypy.stubtest", "--allowlist", "allowed", "--ignore-unused-allowlist", "hostprobe"],
                              cwd=empty, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": built, "MYPYPATH": built})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    probed.main()
