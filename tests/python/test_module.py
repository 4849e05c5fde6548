#!/usr/bin/env python3
"""The Python module, in a real interpreter with and without the probe."""

import json
import sys

import probed
from probed import ProbedTest

PROGRAM = """
import json, sys, threading, time, warnings
warnings.simplefilter("error")
import hostprobe
said = {"active": hostprobe.active(), "first": hostprobe.step()}
time.sleep(0.002)
said["steps"] = []
for number in (None, 7, "8", -1, 1 << 70, object(), float("nan"), None):
    said["steps"].append(hostprobe.step(number))
said["trigger"] = hostprobe.trigger("because of \\0 \\udc80 " + 200 * "x")
said["stop"], said["paused"] = hostprobe.stop(), hostprobe.active()
time.sleep(0.002)
said["unseen"] = hostprobe.step(99)
said["start"], said["resumed"] = hostprobe.start(), hostprobe.active()
thread = threading.Thread(target=lambda: said.update(thread=[hostprobe.step(1), hostprobe.step(2)]))
thread.start()
thread.join()
said["nothing"] = hostprobe.trigger(None) in (True, False)
said["numpy"] = "numpy" in sys.modules
print(json.dumps(said))
"""


class Module(ProbedTest):
    def setUp(self):
        super().setUp()
        self.path = {"PYTHONPATH": str(probed.BUILD / "lib/hostprobe/python")}

    def test_does_nothing_without_the_probe(self):
        said = json.loads(self.run_program(sys.executable, "-c", PROGRAM, **self.path)[0])
        self.assertTrue(said.pop("nothing"))
        self.assertEqual(said.pop("thread"), [False, False])
        self.assertEqual(said.pop("steps"), [False] * 8)
        self.assertEqual(set(said.values()), {False})

    def test_says_what_it_did(self):
        said = json.loads(self.record(sys.executable, "-c", PROGRAM, **self.path)[0])
        self.assertEqual(said, {"active": True, "first": False, "steps": [True] * 8, "trigger": True, "stop": True,
                                "paused": False, "unseen": False, "start": True, "resumed": True,
                                "thread": [False, True], "nothing": True, "numpy": False})
        steps = [call for call in self.dump() if call.get("function") == "hostprobe_step"]
        self.assertEqual([call["args"]["number"] for call in steps], [1, 7, 8, (1 << 64) - 1, 0, 6, 7, 8, 2])
        self.assertEqual(len({call["tid"] for call in steps}), 2)

    def test_counts_from_zero_again_in_a_forked_child(self):
        program = ("import os, hostprobe\n"
                   "for _ in range(5): hostprobe.step()\n"
                   "if os.fork() == 0:\n"
                   "    for _ in range(3): hostprobe.step()\n"
                   "    os._exit(0)\n"
                   "os.wait()\n")
        self.record(sys.executable, "-c", program, **self.path)
        numbers = {}
        for call in self.dump():
            if call.get("function") == "hostprobe_step":
                numbers.setdefault(call["pid"], []).append(call["args"]["number"])
        self.assertEqual(sorted(numbers.values()), [[1, 2], [1, 2, 3, 4]])

    def test_run_leaves_the_path_of_python_alone(self):
        out, _ = self.record(sys.executable, "-c", "import os; print(os.environ.get('PYTHONPATH'))", PYTHONPATH="/as/it/was")
        self.assertEqual(out, "/as/it/was\n")


if __name__ == "__main__":
    probed.main()
