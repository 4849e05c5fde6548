#!/usr/bin/env python3
"""`hostprobe stacks` on living processes: its frames beside those of gdb and of Python's faulthandler, its careful visits to
programs that notice when they are disturbed, and the ranks of a run side by side.

test_live_stacks.py [-v] [LiveStacks.test_gdb …]
"""

import json
import os
import re
import select
import signal
import subprocess
import time
import unittest
from pathlib import Path

from guest import GuestTest, main, program
from probed import BUILD, COMMAND, PRELOAD

VISITED = BUILD / "bin/visited"
STUCK_S = 100  # what takes longer hangs; it is far more than a busy machine needs

ASK = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("FRAME", thread.ptid[1], gdb.solib_name(frame.pc()), frame.name(), sep="\\t")
        frame = frame.older()
"""

PYTHON = """
import faulthandler, queue, signal, sys, threading
faulthandler.register(signal.SIGUSR1, all_threads=True)
class Feeder:
    def feed(self):
        self.deeper(3)
    def deeper(self, frames):
        return self.deeper(frames - 1) if frames else queue.Queue().get()
def generates():
    yield sys.stdin.readline()
threads = [threading.Thread(target=Feeder().feed, daemon=True) for _ in range(3)]
for thread in threads: thread.start()
print("ready", flush=True)
list(generates())
"""

RANK = """
import os, sys, threading
os.environ["RANK"]
lock = threading.Lock()
lock.acquire()
print("ready", flush=True)
def never_there():
    sys.stdin.readline()
def all_reduce():
    lock.acquire()
never_there() if os.environ["RANK"] == "2" else all_reduce()
"""


class LiveStacks(GuestTest):
    def start_ready(self, *command, **changes):
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **changes})
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        if not select.select([process.stdout], [], [], STUCK_S)[0]:
            self.fail(f"it does not begin:\n{self.where_it_is(process.pid)}")
        line = process.stdout.readline()
        self.assertEqual(line, "ready\n")
        return process

    def stacks(self, target):
        visit = self.visit(target)
        self.assertEqual(visit.returncode, 0, visit.stderr)
        return json.loads(visit.stdout)

    def visit(self, target):
        """A visit that may find the process gone. One that never ends is a failure that says where it hangs."""
        visitor = self.start(COMMAND, "stacks", target, "--json")
        self.addCleanup(visitor.__exit__, None, None, None)
        self.addCleanup(visitor.kill)
        try:
            out, err = visitor.communicate(timeout=STUCK_S)
        except subprocess.TimeoutExpired:
            self.fail(f"stacks {target} does not end:\n{self.where_it_is(visitor.pid)}")
        return subprocess.CompletedProcess(visitor.args, visitor.returncode, out, err)

    def stacks_when(self, target, is_there):
        """The first answer of which that is true: on a busy machine hostprobe's own thread opens the trace when it gets a CPU."""
        end = time.monotonic() + STUCK_S
        while True:
            visit = self.visit(target)
            if visit.returncode == 0 and is_there(json.loads(visit.stdout)["processes"]):
                return json.loads(visit.stdout)
            self.assertLess(time.monotonic(), end, visit.stdout + visit.stderr)
            time.sleep(0.05)

    def where_it_is(self, pid):
        """What the kernel and gdb say of each thread."""
        tasks = [[(task / name).read_text().strip() for name in ("comm", "stat", "wchan", "syscall")]
                 for task in Path(f"/proc/{pid}/task").iterdir()]
        asked = subprocess.run([program("gdb"), "-nx", "-batch", "-p", str(pid), "-ex", "thread apply all backtrace"],
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return f"{tasks}\n{asked.stdout}"

    def state(self, pid):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    def thread_states(self, pid):
        return {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()}

    def end(self, process):
        out, err = process.communicate("\n", timeout=60)
        self.assertEqual((process.returncode, out, err), (0, "whole\n", ""))

    # ---- frames ----

    def gdb_frames(self, pid):
        """tid: [(function or None, library or None)], the frames that a return address stands for."""
        asked = subprocess.run([program("gdb"), "-nx", "-batch", "-p", str(pid), "-ex", "set backtrace past-main on",
                                "-ex", "set backtrace past-entry on", "-ex", f"python exec({ASK!r})"],
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
        frames = {}
        for line in asked.stdout.splitlines():
            if line.startswith("FRAME"):
                _, tid, library, function = line.split("\t")
                frames.setdefault(int(tid), []).append((function, Path(library).name))
        return frames

    def test_gdb(self):
        process = self.start_ready(VISITED, "epoll")
        time.sleep(0.3)
        ours = {thread["tid"]: thread["native"] for thread in self.stacks(process.pid)["processes"][0]["threads"]}
        theirs = self.gdb_frames(process.pid)
        self.assertEqual(set(ours), set(theirs))
        for tid, frames in theirs.items():
            self.assertEqual(len(ours[tid]), len(frames), (ours[tid], frames))
            for own, (function, library) in zip(ours[tid], frames):
                self.assertIn(library if library != "None" else "visited", own, (ours[tid], frames))
                if "(" in own and function != "None":  # gdb knows more names than the symbol tables have
                    name, known = own.split("+")[0].split("(")[0], function.split("(")[0]
                    # Of line tables alone gdb tells a name without where it stands.
                    same = name.startswith(known) or known.startswith(name) or f"::{known}(" in own
                    self.assertTrue(same, (own, function))
        process.communicate("\n")  # it says that gdb made its epoll_wait fail, which a visit of ours does not

    def compare_with_faulthandler(self, python):
        process = self.start_ready(python, "-c", PYTHON)
        time.sleep(0.3)
        threads = self.stacks(process.pid)["processes"][0]["threads"]
        ours = sorted([re.sub(r"^.*\.", "", frame.split(" (")[0]) + " " + frame.rpartition(":")[2].rstrip(")")
                       for frame in thread["python"]] for thread in threads)
        os.kill(process.pid, signal.SIGUSR1)
        time.sleep(0.3)
        _, err = process.communicate("\n", timeout=60)
        theirs, stack = [], None
        for line in err.splitlines():
            if "most recent call first" in line:
                theirs.append(stack := [])
            elif found := re.match(r'  File ".*", line (\d+) in (\S+)', line):
                stack.append(f"{found[2].rpartition('.')[2]} {found[1]}")
        self.assertEqual(len(theirs), 4, err)
        self.assertEqual(ours, sorted(theirs), err)

    def test_faulthandler(self):
        self.compare_with_faulthandler("/usr/bin/python3")

    def test_faulthandler_of_other_versions(self):
        found = sorted(Path(os.path.expanduser("~/.pyenv/versions")).glob("3.*/bin/python3"))
        for python in found:
            if re.search(r"/3\.(8|9|1\d)\.", str(python)):
                with self.subTest(python=str(python)):
                    self.compare_with_faulthandler(python)

    # ---- unharmed ----

    def test_busy_loop(self):
        process = self.start_ready(VISITED, "busy")
        for _ in range(20):
            self.assertEqual(len(self.stacks(process.pid)["processes"][0]["threads"]), 2)
        self.assertEqual(self.state(process.pid), "R")
        self.end(process)

    def test_epoll_wait_is_not_interrupted(self):
        process = self.start_ready(VISITED, "epoll")
        for _ in range(20):
            self.stacks(process.pid)
        self.end(process)

    def test_wait_with_a_limit_ends_by_it_however_often_it_is_looked_at(self):
        process = self.start_ready(VISITED, "limited")
        seen, end = set(), time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            visit = self.visit(process.pid)
            if visit.returncode == 0:
                seen |= {frame.split("+")[0] for thread in json.loads(visit.stdout)["processes"][0]["threads"]
                         for frame in thread.get("native", [])}
        self.assertIsNotNone(process.poll(), "each look began the waits anew")
        self.assertLessEqual({"epoll_wait", "recv"}, {frame.lstrip("_") for frame in seen}, seen)
        self.assertTrue(any("receive_nothing" in frame for frame in seen), seen)
        self.assertTrue(any("wait_for_nothing" in frame for frame in seen), seen)
        self.end(process)

    def test_stopped_process_stays_stopped_and_goes_on_when_told(self):
        process = self.start_ready(VISITED, "busy")
        os.kill(process.pid, signal.SIGSTOP)
        for _ in range(5):  # a thread that was looked at is on its way back for a moment
            self.await_ready(process, lambda: self.thread_states(process.pid) == {"T"})
            for thread in self.stacks(process.pid)["processes"][0]["threads"]:
                self.assertEqual((thread["state"], bool(thread["native"])), ("T", True), thread)
        self.await_ready(process, lambda: self.state(process.pid) == "T")
        os.kill(process.pid, signal.SIGCONT)
        self.await_ready(process, lambda: self.state(process.pid) != "T")
        self.end(process)

    def test_threads_that_come_and_go(self):
        process = self.start_ready(VISITED, "threads")
        for _ in range(20):
            self.assertTrue(self.stacks(process.pid)["processes"][0]["threads"])
        self.end(process)

    def test_process_that_dies_meanwhile(self):
        for _ in range(20):
            process = self.start_ready(VISITED, "leaves")
            visit = self.visit(process.pid)
            self.assertIn(visit.returncode, (0, 1), visit.stderr)
            self.end(process)

    def test_visitor_that_is_killed_leaves_nobody_stopped(self):
        process = self.start_ready(VISITED, "threads")
        for number in range(30):
            visitor = subprocess.Popen([COMMAND, "stacks", str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.003 * number)
            visitor.kill()
            visitor.wait()
        self.end(process)

    # ---- what is refused ----

    def test_process_that_is_being_debugged_is_refused_with_the_reason(self):
        process = self.start_ready(VISITED, "busy")
        debugger = subprocess.Popen([program("gdb"), "-nx", "-p", str(process.pid)], stdin=subprocess.PIPE,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        status = Path(f"/proc/{process.pid}/status")
        self.await_ready(process, lambda: f"TracerPid:\t{debugger.pid}\n" in status.read_text())
        visit = self.visit(process.pid)
        debugger.communicate(b"detach\nquit\n")
        self.assertEqual(visit.returncode, 1)
        self.assertIn(f"process {debugger.pid}", visit.stderr)
        self.end(process)

    def refused(self, process, *how):
        visit = subprocess.run([program("setpriv"), *how, COMMAND, "stacks", str(process.pid)], capture_output=True, text=True)
        self.assertEqual((visit.returncode, visit.stdout, visit.stderr.count("\n")), (1, "", 1), visit.stderr)
        return visit.stderr

    @unittest.skipIf(os.geteuid() != 0, "only root can become somebody who may less")
    def test_who_may_not_trace_is_told_why_and_what_would_allow_it(self):
        process = self.start_ready(VISITED, "busy")
        self.assertIn("belongs to another user", self.refused(process, "--reuid=65534", "--clear-groups"))
        self.assertIn("--cap-add=SYS_PTRACE", self.refused(process, "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"))
        self.end(process)

    def test_processes_that_are_not_there_are_refused(self):
        process = self.start_ready(VISITED, "leaves")
        self.end(process)
        for target in (process.pid, "999999999", self.folder):
            visit = self.visit(target)
            self.assertEqual((visit.returncode, visit.stdout, visit.stderr.count("\n")), (1, "", 1), visit.stderr)

    # ---- a run ----

    def is_recorded_waiting(self, process):
        return process["recorded"] and "open_wait" in process["threads"][0]

    def test_recorded_process_is_shown_with_roles_and_waits(self):
        process = self.start_ready("/usr/bin/python3", "-c", RANK, LD_PRELOAD=str(PRELOAD), RANK="0", WORLD_SIZE="1",
                                   HOSTPROBE_OUT=str(self.run_folder), HOSTPROBE_TARGET="all")
        shown = self.stacks_when(process.pid, lambda processes: self.is_recorded_waiting(processes[0]))["processes"][0]
        self.assertEqual((shown["recorded"], shown["rank"]), (True, 0))
        self.assertEqual(shown["threads"][0]["role"], "main")
        self.assertGreater(shown["threads"][0]["open_wait"]["since_s"], 0)
        self.assertIn("hostprobe", [thread["role"] for thread in shown["threads"]])

    def test_ranks_of_a_run_side_by_side(self):
        ranks = []
        for rank in range(3):
            ranks.append(self.start_ready("/usr/bin/python3", "-c", RANK, LD_PRELOAD=str(PRELOAD), RANK=str(rank), WORLD_SIZE="3",
                                          HOSTPROBE_OUT=str(self.run_folder), HOSTPROBE_TARGET="all"))
        answer = self.stacks_when(self.run_folder, lambda processes: len(processes) == 3 and all(
            self.is_recorded_waiting(process) for process in processes[:2]))
        self.assertEqual([process["rank"] for process in answer["processes"]], [0, 1, 2])
        main_threads = [process["threads"][0] for process in answer["processes"]]
        self.assertEqual([thread["role"] for thread in main_threads], ["main"] * 3)
        for thread in main_threads[:2]:
            self.assertTrue(thread["python"][0].startswith("all_reduce"), thread)
            self.assertGreater(thread["open_wait"]["since_s"], 0, thread)
        shared = [call for call in answer["shared_calls"] if call["role"] == "main"]
        self.assertEqual([[thread["rank"] for thread in call["threads"]] for call in shared], [[0, 1]], shared)
        text = self.run_program(COMMAND, "stacks", self.run_folder)[0]
        self.assertIn("rank 0, rank 1", text)

    def report(self):
        return json.loads(self.run_program(COMMAND, "report", self.run_folder, "--json")[0])

    def test_report_of_a_hung_job(self):
        ranks = [self.start_ready("/usr/bin/python3", "-c", RANK, LD_PRELOAD=str(PRELOAD), RANK=str(rank), WORLD_SIZE="2",
                                  HOSTPROBE_OUT=str(self.run_folder), HOSTPROBE_TARGET="all") for rank in range(2)]
        time.sleep(3)
        answer = self.report()
        self.assertIn("all_reduce", answer["headline"][0])
        for process in answer["processes"]:
            self.assertEqual(process["end"]["how"], "running")
            self.assertGreater(process["wall_ms"], 2500)
            main_thread = process["threads"][0]
            wait = main_thread["open_wait"]
            self.assertTrue(wait["python"].startswith("all_reduce"), wait)
            self.assertGreater(wait["since_s"], 2)
            parts = [main_thread[key] or 0 for key in ("cpu_ms", "preempted_ms", "run_queue_ms", "wait_ms", "unexplained_ms")]
            self.assertAlmostEqual(sum(parts), main_thread["wall_ms"], delta=0.01 * main_thread["wall_ms"])
            site = process["waits"][0]
            self.assertEqual((site["function"], site["open"]), (wait["function"], 1))
        ranks[1].kill()
        ranks[1].wait()
        dead = self.report()["processes"][1]
        self.assertEqual((dead["end"]["how"], dead["end"]["signal"]), ("recovered", None))
        self.assertEqual(dead["threads"][0]["open_wait"]["function"], wait["function"])


if __name__ == "__main__":
    main()
