#!/usr/bin/env python3
"""CPython's own tests, preloaded: every single test ends as it does without hostprobe.

test_cpython.py MODULE, e.g. test_threading. Both runs go on at the same time; they mostly sleep.
"""

import os
import sys
import xml.etree.ElementTree as xml

import probed
from probed import COMMAND, PRELOAD, ProbedTest, path_of

MODULE = sys.argv.pop(1) if len(sys.argv) > 1 else "test_queue"
RETRIES = 4


class CPython(ProbedTest):
    def start_suite(self, name, *selection, **changes):
        folder = self.folder / name
        folder.mkdir()
        return self.start(path_of("SYSTEM_PYTHON"), "-m", "test", "--junit-xml", folder / "results.xml", "--tempdir", folder,
                          *(word for test in selection for word in ("-m", test)), MODULE, **changes)

    def probe_environment(self):
        return {"LD_PRELOAD": str(PRELOAD), "HOSTPROBE_TARGET": "all", "HOSTPROBE_OUT": str(self.run_folder)}

    def outcomes(self, name):
        """test name → passed, failed or skipped."""
        results = {}
        for case in xml.parse(self.folder / name / "results.xml").iter("testcase"):
            tags = {child.tag for child in case}
            results[case.get("name")] = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        return results

    def is_worse(self, test):
        """A test that failed once, preloaded, is run again alone, with and without by turns: timing out on a busy machine
        is not our doing; failing again, while it always passes without us, is."""
        failures = {"plain": 0, "preloaded": 0}
        for attempt in range(RETRIES):
            for kind, changes in (("plain", {}), ("preloaded", self.probe_environment())):
                name = f"{kind}-{test.rpartition('.')[2]}-{attempt}"
                self.start_suite(name, test, **changes).communicate()
                failures[kind] += self.outcomes(name).get(test) != "passed"
        return failures["preloaded"] > 0 and failures["plain"] == 0

    def test_same_results_with_and_without(self):
        runs = {"plain": self.start_suite("plain"), "preloaded": self.start_suite("preloaded", **self.probe_environment())}
        texts = {name: "".join(process.communicate())[-6000:] for name, process in runs.items()}
        plain, preloaded = self.outcomes("plain"), self.outcomes("preloaded")
        self.assertGreater(len(plain), 10, texts["plain"])
        self.assertEqual(set(plain), set(preloaded), texts["preloaded"])
        changed = {test for test in plain if plain[test] != preloaded[test]}
        worse = {test for test in changed if preloaded[test] == "failed" and self.is_worse(test)}
        self.assertEqual(worse, set(), texts["preloaded"])
        self.assertEqual({t for t in changed if "skipped" in (plain[t], preloaded[t])}, set())
        if plain == preloaded:
            self.assertEqual(runs["preloaded"].returncode, runs["plain"].returncode, texts["preloaded"])

    def tearDown(self):
        """The probe was there: it recorded the interpreter that ran the suite. Also frees the segments of killed ones."""
        self.run_program(COMMAND, "recover", self.run_folder)
        commands = [p["command"] for p in self.report()["processes"] if p["records"] > 0]
        self.assertTrue(any("-m test" in c and c.endswith(MODULE) for c in commands), commands[:20])


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    probed.main()
