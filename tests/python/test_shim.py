#!/usr/bin/env python3
"""The zero-code shim: garbage collections and optimizer steps of programs that know nothing of hostprobe."""

import json
from pathlib import Path

import probed
from probed import ProbedTest, path_of

# Tells what the shim must have seen: (generation, collected) of each collection from here on, in order.
COLLECTS = """
import gc, json, sys, time
seen = []
def note(phase, info):
    if phase == "stop":
        seen.append([info["generation"], info["collected"]])
gc.collect()
for _ in range(200):  # until the interpreter has been asked
    if len(gc.callbacks) > 0:
        break
    time.sleep(0.05)
gc.disable()
gc.callbacks.append(note)
class Knot:
    pass
for generation, knots in ((0, 1), (2, 30), (1, 4), (2, 5), (0, 0), (2, 700)):
    for _ in range(knots):
        knot = Knot(); knot.self = knot
    knot = None
    gc.collect(generation)
gc.callbacks.remove(note)
print(json.dumps(seen))
"""

# Three collections that it asks for, between many that the interpreter makes itself.
ASKS = """
import gc, time
for _ in range(200):
    if gc.callbacks: break
    time.sleep(0.05)
kept = [[i] for i in range(300_000)]
gc.collect()
more = [[i] for i in range(30_000)]
gc.collect(1)
gc.disable()
last = [[i] for i in range(30_000)]
gc.collect(1)
"""

# Takes the lock of a module, as an import does, again and again, from before hostprobe is let in until after it.
IMPORTS = """
import _thread, sys, time
from _frozen_importlib import _ModuleLock
is_over = []
def take_turns():
    while not is_over:
        pass
sys.setswitchinterval(1e-6)  # so that the interpreter looks for calls everywhere
_thread.start_new_thread(take_turns, ())
end = time.monotonic() + 5
while "gc" not in sys.modules and time.monotonic() < end:
    lock = _ModuleLock("anything")
    lock.acquire()
    lock.release()
is_over.append(True)
print("gc" in sys.modules)
"""

FORKS = """
import gc, os, time
for _ in range(200):
    if gc.callbacks: break
    time.sleep(0.05)
gc.disable()
if os.fork() == 0:
    for _ in range(3): gc.collect()
    os._exit(0)
os.wait()
gc.collect(1)
"""

SPAWNS = """
import gc, multiprocessing, time
def work(count):
    for _ in range(200):
        if gc.callbacks: break
        time.sleep(0.05)
    gc.disable()
    for _ in range(count): gc.collect()
if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(5,))
    worker.start(); worker.join()
    assert worker.exitcode == 0
"""

# A program that has an interpreter inside, twice; the second one tells nothing.
EMBEDS = r"""
#include <Python.h>
#include <stdio.h>
static const char* kScript =
    "import gc, time\n"
    "for _ in range(200):\n"
    "    if gc.callbacks or SECOND: break\n"
    "    time.sleep(0.05)\n"
    "gc.disable()\n"
    "for _ in range(4): gc.collect()\n"
    "import threading\n"
    "thread = threading.Thread(target=time.sleep, args=(1.8,), name='inside')\n"
    "thread.start()\n"
    "while thread.is_alive(): time.sleep(0.01)\n";
int main(void) {
  char script[1024];
  for (int second = 0; second < 2; ++second) {
    Py_Initialize();
    snprintf(script, sizeof script, "SECOND = %d\n%s", second, kScript);
    if (PyRun_SimpleString(script) != 0) return 1;
    if (Py_FinalizeEx() != 0) return 2;
  }
  puts("done");
  return 0;
}
"""

STEPS = """
import torch
model = torch.nn.Linear(8, 8)
first = torch.optim.SGD(model.parameters(), lr=0.1)
second = torch.optim.AdamW(model.parameters(), lr=0.1)
import gc, sys, time
for _ in range(200):
    gc.collect()
    if sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks: break
    time.sleep(0.05)
MARKS
for step in range(12):
    model(torch.ones(2, 8)).sum().backward()
    first.step(); second.step()
    first.zero_grad()
"""

# As torch has them; then it stands still, and a thread of its own goes on waiting.
STANDS_STILL = """
import gc, sys, threading, time, types
hooks = []
for name, member, value in (("torch.optim.optimizer", "register_optimizer_step_post_hook", lambda hook: hooks.append(hook) or 1),
                            ("torch.compiler", "is_compiling", lambda: False)):
    sys.modules[name] = types.ModuleType(name)
    setattr(sys.modules[name], member, value)
while not hooks:
    gc.collect()
    time.sleep(0.05)
optimizer = object()
for step in range(40):
    time.sleep(0.005)
    hooks[0](optimizer, (), {})
still = threading.Event()
def polls():
    while not still.wait(0.01):
        pass
poller = threading.Thread(target=polls)
poller.start()
time.sleep(5)
still.set()
poller.join()
"""


# Names that nobody told the system, an odd one among them; and a class whose attributes are the program's code.
NAMES = """
import threading, time
over = threading.Event()
class Odd(threading.Thread):
    def __getattribute__(self, name):
        if name == "name": raise RuntimeError("not now")
        return super().__getattribute__(name)
def work():
    while not over.wait(0.01):
        pass
threads = [threading.Thread(target=work, name=name) for name in ("ckpt-0", "a name of\\nmore than fifteen bytes", "\\udcff", None)]
threads.append(Odd(target=work))
threads[-1]._name = "odd"
for thread in threads: thread.start()
end = time.monotonic() + 3
while time.monotonic() < end: time.sleep(0.01)
over.set()
for thread in threads: thread.join()
"""


def interpreters():
    """The distribution's, those that a version manager has beside it, and newer ones."""
    found = [Path("/usr/bin/python3")]
    for folder in sorted(Path.home().glob(".pyenv/versions/3.*")):
        if tuple(map(int, folder.name.split(".")[:2])) >= (3, 8):
            found.append(folder / "bin/python3")
    return [*found, *map(Path, probed.newer_pythons())]


class Shim(ProbedTest):
    def script(self, text):
        path = self.folder / "program.py"
        path.write_text(text)
        return path

    def collections(self):
        """(generation, collected) as recorded, in order."""
        records = [r for r in self.dump() if r.get("function") == "hostprobe_gc"]
        records.sort(key=lambda r: r["begin_ns"])
        return [[r["args"]["generation"], r["args"]["collected"]] for r in records]

    def check_collects(self, *python):
        out, err = self.record(*python, self.script(COLLECTS))
        told = json.loads(out)
        self.assertEqual([generation for generation, _ in told], [0, 2, 1, 2, 0, 2])
        self.assertEqual(self.collections()[-len(told):], told, python)
        self.assertNotIn("Error", err)
        gc = self.report()["processes"][0]["gc"]
        self.assertEqual(sum(gc["by_generation"].values()), gc["count"])
        self.assertEqual(gc["count"], len(self.collections()))
        self.assertGreaterEqual(gc["by_generation"]["2"], 3)
        self.assertLessEqual(gc["max_ms"], gc["total_ms"])

    def test_every_collection_is_recorded_by_each_interpreter(self):
        for number, python in enumerate(interpreters()):
            with self.subTest(python=python):
                self.run_folder = self.folder / f"run{number}"
                self.check_collects(python)

    def test_collections_that_the_program_asks_for_are_told_from_others(self):
        for number, python in enumerate(interpreters()):
            with self.subTest(python=python):
                self.run_folder = self.folder / f"asks{number}"
                self.record(python, self.script(ASKS))
                older = [call["args"] for call in self.dump() if call.get("function") == "hostprobe_gc"
                         and call["args"]["generation"] > 0]
                asked = [args["generation"] for args in older if args["requested"]]
                self.assertEqual(asked, [2, 1, 1])
                self.assertGreater(len(older), 3)
                self.assertTrue(any(args["blocks"] > 100_000 for args in older))

    def test_without_site_user_folders_or_environment(self):
        self.check_collects("/usr/bin/python3", "-S", "-I", "-E")

    def test_in_a_virtual_environment(self):
        self.run_program("/usr/bin/python3", "-m", "venv", "--without-pip", self.folder / "venv")
        self.check_collects(self.folder / "venv/bin/python")

    def test_a_forked_child_tells_its_own(self):
        self.record("/usr/bin/python3", self.script(FORKS))
        counts = sorted(p["gc"]["by_generation"].get("2", 0) for p in self.report()["processes"])
        parent, child = counts[0], counts[1]
        self.assertEqual((child, len(counts)), (3, 2))
        self.assertEqual(parent, 0)

    def test_a_spawned_worker_tells_its_own(self):
        self.record("/usr/bin/python3", self.script(SPAWNS), HOSTPROBE_TARGET="all")
        by_program = [p["gc"]["by_generation"].get("2", 0) for p in self.report()["processes"] if p["gc"]]
        self.assertEqual(max(by_program), 5)

    def test_steps_are_those_of_the_first_optimizer(self):
        self.record(path_of("TORCH_PYTHON"), self.script(STEPS.replace("MARKS", "")))
        steps = self.report()["steps"]
        self.assertEqual((steps["source"], steps["detected_by"], steps["count"]), ("detected", "optimizer", 11))

    def test_marks_of_the_program_take_the_optimizers_place(self):
        marks = "sys.path.insert(0, sys.argv[1]); import hostprobe\nfor i in range(30): hostprobe.step()\n"
        self.record(path_of("TORCH_PYTHON"), self.script(STEPS.replace("MARKS", marks)),
                    probed.BUILD / "lib/hostprobe/python")
        steps = self.report()["steps"]
        self.assertEqual((steps["marked_by"], steps["count"]), ("program", 29))

    def test_threads_have_the_names_that_the_program_gave_them(self):
        for number, python in enumerate(interpreters()):
            with self.subTest(python=python):
                self.run_folder = self.folder / f"names{number}"
                _, err = self.record(python, self.script(NAMES))
                process = self.report()["processes"][0]
                names = [thread["name"] for thread in process["threads"]]
                for name in ("ckpt-0", "a name of more than fifteen bytes", "odd"):
                    self.assertEqual(names.count(name), 1, names)
                if python not in map(Path, probed.newer_pythons()):  # from 3.14 on the system has such names
                    self.assertFalse([name for name in names if name.startswith(("Thread-", "MainThread"))], names)
                self.assertFalse([event for event in process["events"] if "ckpt" in event.get("text", "")])
                self.assertNotIn("Error", err)

    def test_a_job_whose_optimizer_steps_no_more_asks_for_a_dump(self):
        self.record("/usr/bin/python3", self.script(STANDS_STILL), options=("--hang-s", "2", "--slow-step-pct", "0"))
        reasons = [event["reason"] for event in self.report()["processes"][0]["events"] if event["kind"] == "trigger"]
        self.assertEqual(reasons, ["hang"])

    def test_a_program_that_clears_the_callbacks_runs_on(self):
        out, _ = self.record("/usr/bin/python3", "-c",
                             "import gc; gc.callbacks.clear(); gc.collect(); gc.callbacks = None; gc.collect(); print(1)")
        self.assertEqual(out, "1\n")

    def test_sub_interpreters_are_left_alone(self):
        python = Path.home() / ".pyenv/versions/3.12.1/bin/python3"
        if not python.exists():
            python = Path("/usr/bin/python3")
        out, _ = self.record(python, "-c", "import _xxsubinterpreters as s; i = s.create(); "
                             "s.run_string(i, 'import gc; gc.collect(); print(len(gc.callbacks))'); s.destroy(i)")
        self.assertEqual(out, "0\n")

    def test_an_interpreter_inside_of_a_program_tells_too(self):
        (self.folder / "embeds.c").write_text(EMBEDS)
        flags = self.run_program("/usr/bin/python3-config", "--includes", "--ldflags", "--embed")[0].split()
        self.run_program("gcc", "embeds.c", "-o", "embeds", *flags)
        out, _ = self.record(self.folder / "embeds")
        self.assertEqual(out, "done\n")
        self.assertGreaterEqual(self.report()["processes"][0]["gc"]["by_generation"]["2"], 4)

    def test_switched_off_nothing_of_it_is_in_the_interpreter(self):
        out, _ = self.record("/usr/bin/python3", "-c", "import gc, time; time.sleep(1); gc.collect(); print(gc.callbacks)",
                             HOSTPROBE_PYTHON="0")
        self.assertEqual(out, "[]\n")
        self.assertIsNone(self.report()["processes"][0]["gc"])

    def test_it_is_let_in_between_two_imports(self):
        """An import in the middle of another one's lock would make that one fail, before CPython 3.13."""
        for version, python in probed.pythons().items():
            for _ in range(6) if version >= (3, 8) else ():
                with self.subTest(version=version):
                    out, _ = self.record(python, "-S", "-I", "-c", IMPORTS)
                    self.assertEqual(out, "True\n")

    def test_many_short_programs_end_as_they_would(self):
        for _ in range(30):
            self.record("/usr/bin/python3", "-c", "pass")


if __name__ == "__main__":
    probed.main()
