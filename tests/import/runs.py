"""Runs of our own that are exported: ranks of the simulated node, threads of a program."""

from imported import ImportTest
from probed import BUILD, COMMAND

RANKS = (BUILD / "examples/train_parallel", "--ranks", "2", "--tensor", "2", "--pipeline", "1", "--layers", "2", "--kernels", "5")
THREADS = """
import threading, queue, time
jobs = queue.Queue()
def work():
    while jobs.get() is not None: time.sleep(0.0005)
threads = [threading.Thread(target=work, name=f"worker, {n}") for n in range(3)]
[t.start() for t in threads]
for n in range(60): jobs.put(n); time.sleep(0.0003)
[jobs.put(None) for _ in threads]
[t.join() for t in threads]
"""


class ExportTest(ImportTest):
    def record_ranks(self, mode, steps=40, **changes):
        self.record(*RANKS, "--steps", str(steps), options=("--simgpu", "2", "--mode", mode), **changes)

    def record_threads(self, mode):
        self.record("/usr/bin/python3", "-c", THREADS, options=("--mode", mode, "--target", "all"))

    def export(self, form, name, *options):
        path = self.folder / name
        self.run_program(COMMAND, "export", self.run_folder, form, path, *options)
        return path
