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

    def test_names_regions_and_numbers(self):
        program = ("import hostprobe, json, threading\n"
                   "outer = hostprobe.region('outer')\n"
                   "for i in range(30):\n"
                   "    with outer, hostprobe.region(7):\n"
                   "        pass\n"
                   "with hostprobe.region('raises'):\n"
                   "    try:\n"
                   "        with hostprobe.region('half \\udc80'): raise KeyError\n"
                   "    except KeyError: pass\n"
                   "never = hostprobe.region('never')\n"
                   "never.__enter__()\n"
                   "print(json.dumps([hostprobe.mark('loss', 0.5), hostprobe.mark('loss', object()), hostprobe.mark(3, 7)]))\n")
        out, _ = self.record(sys.executable, "-c", program, **self.path)
        self.assertEqual(json.loads(out), [True, False, True])
        calls = self.dump()
        names = [call["args"]["name"] for call in calls if call.get("function") == "hostprobe_region"]
        self.assertEqual({name: names.count(name) for name in names}, {"outer": 30, "7": 30, "raises": 1, "half ?": 1})
        marks = [call["args"] for call in calls if call.get("function") == "hostprobe_mark"]
        self.assertEqual([(mark["name"], mark["value"]) for mark in marks], [("loss", 0.5), ("3", 7.0)])

    def test_a_block_is_a_step(self):
        program = ("import hostprobe\n"
                   "for i in range(4):\n"
                   "    with hostprobe.step(10 + i) as begun: pass\n"
                   "    print(begun, begun == False, repr(begun))\n")
        out, _ = self.record(sys.executable, "-c", program, **self.path)
        self.assertEqual(out, 4 * "False True False\n")
        steps = [call["args"]["number"] for call in self.dump() if call.get("function") == "hostprobe_step"]
        self.assertEqual(steps, [10, 11, 12, 13])

    def test_a_wrong_number_of_arguments_is_the_one_thing_that_raises(self):
        program = ("import hostprobe\n"
                   "h = hostprobe\n"
                   "for call in (lambda: h.mark('a'), lambda: h.region(), lambda: h.step(1, 2), lambda: h.step(name=1),\n"
                   "             lambda: h.mark('a', 1, 2), lambda: h.mark('a', name=1), lambda: h.trigger('a', why='b'),\n"
                   "             lambda: h.step(1, number=1), lambda: h.mark(value=1), lambda: h.mark('a', **{'\\udc80': 1})):\n"
                   "    try: call()\n"
                   "    except TypeError: print('TypeError')\n"
                   "print([h.mark(value=1, name='a'), h.step(number=3) == h.trigger(why='') == False])\n")
        out, _ = self.run_program(sys.executable, "-c", program, **self.path)
        self.assertEqual(out, 10 * "TypeError\n" + "[False, True]\n")

    def test_does_nothing_where_the_compiled_part_does_not_fit(self):
        program = ("import sys; sys.modules['hostprobe._marks'] = None\n"
                   "import hostprobe\n"
                   "with hostprobe.region('a'), hostprobe.step(): pass\n"
                   "print([hostprobe.active(), hostprobe.step(1) == False, hostprobe.mark('a', 1), hostprobe.trigger(),\n"
                   "       hostprobe.stop(), hostprobe.start(), hostprobe.problem is not None])\n")
        out, _ = self.run_program(sys.executable, "-c", program, **self.path)
        self.assertEqual(out, "[False, True, False, False, False, False, True]\n")

    def test_serves_every_python_that_is_here(self):
        program = ("import hostprobe, sys, hostprobe.torch, hostprobe.megatron\n"
                   "assert hostprobe.problem is None, hostprobe.problem\n"
                   "for i in range(5):\n"
                   "    with hostprobe.region('r'): hostprobe.mark('m', i)\n"
                   "    hostprobe.step(i)\n"
                   "for part in (hostprobe.torch, hostprobe.megatron): part.install(); part.uninstall()\n"
                   "print(hostprobe.step(5) == hostprobe.active())\n")
        for version, python in sorted(probed.pythons().items()):
            if version < (3, 9):
                continue
            with self.subTest(python):
                self.assertEqual(self.run_program(python, "-c", program, **self.path)[0], "True\n")
                self.record(python, "-c", program, options=("--target", "all"), **self.path)
                self.assertEqual(self.report()["steps"]["count"], 5)
                self.run_folder = self.folder / f"after-{version}"

    def test_run_leaves_the_path_of_python_alone(self):
        out, _ = self.record(sys.executable, "-c", "import os; print(os.environ.get('PYTHONPATH'))", PYTHONPATH="/as/it/was")
        self.assertEqual(out, "/as/it/was\n")


if __name__ == "__main__":
    probed.main()
