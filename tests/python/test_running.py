#!/usr/bin/env python3
"""What Python programs do while they run, by samples: right functions, in the right shares, of every interpreter that is here."""

import json
import math

import probed
from probed import ProbedTest, path_of, pythons

# Tells how much CPU time each function really took. The sleeps make it record at all, and let it be no steady load.
SHARES = """
import json, sys, threading, time
spent = {}
def timed(function, *arguments):
    begin = time.thread_time()
    function(*arguments)
    spent[function.__name__] = spent.get(function.__name__, 0) + time.thread_time() - begin
def heavy(n):
    x = 0
    for i in range(n):
        x += i * i
def light(n):
    x = 0
    for i in range(n):
        x += i * i
def idle():
    never.wait()
never = threading.Event()
thread = threading.Thread(target=idle)
thread.start()
time.sleep(0.01)
end = time.thread_time() + 3
while time.thread_time() < end:
    timed(heavy, 90000)
    timed(light, 30000)
    time.sleep(0.001)
never.set()
thread.join()
print(json.dumps(spent))
"""

# Functions that are gone before they can be read, on several threads, with collections in between.
STORM = """
import gc, threading, time
def leaf(x): return x + 1
def walk(n):
    return [leaf(i) for i in range(n)]
def run():
    end = time.thread_time() + 0.7
    while time.thread_time() < end:
        walk(50)
        names = {}
        exec("def made(x):\\n    return x * 2", names)
        names["made"](3)
        time.sleep(0.0002)
threads = [threading.Thread(target=run) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
"""

GREENLETS = """
import gevent, time
def work(name, rounds):
    x = 0
    for _ in range(rounds):
        for i in range(2000):
            x += i
        gevent.sleep(0)
    return x
time.sleep(0.3)  # its first record
jobs = [gevent.spawn(work, n, 4000) for n in range(8)]
gevent.joinall(jobs)
print(sum(job.value for job in jobs))
"""

TORCH = """
import os, time
os.environ["OMP_NUM_THREADS"] = "1"
import torch
model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
batch = torch.randn(128, 512)
def augment(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) % 1000003
    return x
for _ in range(120):
    augment(100000)
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
    time.sleep(0.001)
print("trained")
"""

FORKS = """
import os, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200000))
        time.sleep(0.0005)
def in_child(): burn(1.5)
def in_parent(): burn(1.5)
time.sleep(0.3)
if os.fork() == 0:
    time.sleep(0.3)
    in_child()
    os._exit(0)
in_parent()
os.wait()
"""

# More often than in earnest, so that a few seconds give enough of them.
OPTIONS = ("--samples", "100", "--budget", "0", "--target", "all")


class Running(ProbedTest):
    def threads(self):
        report = json.loads(self.run_program(probed.COMMAND, "report", self.run_folder, "--json")[0])
        return [(process, thread) for process in report["processes"] for thread in process["threads"]]

    def main_thread(self):
        return next(thread for process, thread in self.threads() if thread["tid"] == process["pid"])

    @staticmethod
    def samples(thread):
        counts = {}
        for row in thread.get("running", []):
            name = (row["function"] or "").rpartition(".")[2]
            counts[name] = counts.get(name, 0) + row["samples"]
        return counts

    def check_shares(self, python, mode):
        out, _ = self.record(python, "-c", SHARES, options=(*OPTIONS, "--mode", mode))
        spent, thread = json.loads(out), self.main_thread()
        counts = self.samples(thread)
        both = counts["heavy"] + counts["light"]
        self.assertGreater(both, 20, thread)
        true = spent["heavy"] / (spent["heavy"] + spent["light"])
        # One run in a million is further off than five standard deviations.
        self.assertAlmostEqual(counts["heavy"] / both, true, delta=5 * math.sqrt(true * (1 - true) / both))
        told = sum(row["cpu_ms"] for row in thread["running"]) + 0.001
        self.assertLess(told, 1.05 * thread["cpu_ms"])
        self.assertGreater(told, 0.5 * thread["cpu_ms"])
        for row in thread["running"]:
            if row["function"] in ("heavy", "light"):
                self.assertEqual(row["file"], "<string>")
                self.assertIsNone(row["library"])
        for process, other in self.threads():
            if other["tid"] != process["pid"] and other["role"] != "hostprobe":
                self.assertFalse(self.samples(other).get("idle"), "it waits")

    def test_shares_are_those_of_the_cpu_time(self):
        for version, python in sorted(pythons().items()):
            if version >= (3, 8):
                with self.subTest(version=version):
                    self.run_folder = self.folder / f"run-{version[1]}"
                    self.check_shares(python, "trace")

    def test_shares_of_a_flight_are_the_same(self):
        self.check_shares(path_of("SYSTEM_PYTHON"), "flight")

    def test_nothing_is_read_where_nobody_wants_it(self):
        self.record(path_of("SYSTEM_PYTHON"), "-c", SHARES, options=("--target", "all", "--mode", "trace", "--samples", "0"))
        self.assertNotIn("running", self.main_thread())

    def test_a_storm_of_short_functions_ends_as_without(self):
        out, _ = self.record(path_of("SYSTEM_PYTHON"), "-c", STORM, options=("--samples", "1000", "--budget", "0", "--target", "all",
                                                                            "--mode", "trace"))
        self.assertEqual(out, "done\n")
        names = {name for _, thread in self.threads() for name in self.samples(thread)}
        self.assertTrue({"walk", "run", "<listcomp>"} & names, names)

    def test_greenlets_run_as_without(self):
        python = path_of("GUESTS_PYTHON")
        bare, _ = self.run_program(python, "-c", GREENLETS)
        out, _ = self.record(python, "-c", GREENLETS, options=("--samples", "500", "--budget", "0", "--target", "all", "--mode", "trace"))
        self.assertEqual(out, bare)
        self.assertGreater(self.samples(self.main_thread()).get("work", 0), 0)

    def test_pytorch_shows_the_function_and_the_library(self):
        self.record(path_of("TORCH_PYTHON"), "-c", TORCH, options=(*OPTIONS, "--mode", "trace"))
        thread = self.main_thread()
        self.assertGreater(self.samples(thread).get("augment", 0), 0, thread["running"])
        libraries = {row["library"] for row in thread["running_code"]}
        self.assertTrue(any("libtorch_cpu" in name for name in libraries), libraries)
        self.assertTrue(any("python" in name for name in libraries), libraries)

    # It is forked in the moment in which its parent begins to record, so nobody has looked for an interpreter by then.
    def test_a_forked_child_has_samples_of_its_own(self):
        self.record(path_of("SYSTEM_PYTHON"), "-c", FORKS, options=(*OPTIONS, "--mode", "trace"))
        seen = {process["kind"]: self.samples(thread) for process, thread in self.threads() if thread["tid"] == process["pid"]}
        self.assertGreater(seen["worker"].get("burn", 0), 0, seen)
        self.assertNotIn("in_parent", seen["worker"])
        parents = next(counts for kind, counts in seen.items() if kind != "worker")
        self.assertGreater(parents.get("burn", 0), 0, seen)


if __name__ == "__main__":
    probed.main()
