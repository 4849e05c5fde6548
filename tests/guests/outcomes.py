#!/usr/bin/env python3
"""outcomes.py FILE MODULE [--without PATTERN]… [TEST…]: runs a module's unittest tests, all or those named, and writes how
each ended.

A line a test, "passed 0.12 NAME" (or another word, and seconds), written before the next test begins: what ran before a crash is known. Run by
suite.py with the Python that has the tested package.
"""

import argparse
import fnmatch
import importlib
import sys
import time
import unittest


class Outcomes(unittest.TextTestResult):
    file = None
    began = time.monotonic()

    def startTest(self, test):
        self.outcome, self.began = "passed", time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.write(self.outcome, test)

    def write(self, outcome, test):
        print(outcome, f"{time.monotonic() - self.began:.2f}", test.id(), file=self.file, flush=True)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.outcome = "skipped"

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.outcome = "failed-as-expected"

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.outcome = "failed"

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.outcome = "failed"

    def failed(self, test):
        self.outcome = "failed"
        if not isinstance(test, unittest.TestCase):  # what made a class or module ready
            self.write("failed", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.failed(test)


def classes(module):
    """Not what a load_tests() in the module would choose: PyTorch's refuses to run by any program but the module."""
    found = {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, unittest.TestCase)}
    return sorted(found, key=lambda case: (case.__module__, case.__qualname__))


def chosen(words):
    module = importlib.import_module(words.module)
    loader = unittest.TestLoader()
    if words.tests:
        return loader.loadTestsFromNames(words.tests)
    tests = (test for case in classes(module) for test in loader.loadTestsFromTestCase(case))
    return unittest.TestSuite(t for t in tests if not any(fnmatch.fnmatch(t.id(), pattern) for pattern in words.without))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("module")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("tests", nargs="*")
    words = parser.parse_args()
    sys.argv[1:] = []
    suite = chosen(words)
    with open(words.file, "a") as Outcomes.file:
        result = unittest.TextTestRunner(resultclass=Outcomes, verbosity=2).run(suite)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
