"""A program that launches on the simulated GPU until it is told to end, and does on the way what a test asks of it."""

import json
import os
import signal
import subprocess
import time

from probed import COMMAND, ProbedTest

PROGRAM = """
import ctypes, json, os, subprocess, sys, threading, time
folder = sys.argv[1]
libc, idle = ctypes.CDLL(None, use_errno=True), threading.Event()

def named(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
    idle.wait()

def start(name):
    threading.Thread(target=named, args=(name,), daemon=True).start()

def own_mask():
    return [line.split()[1] for line in open("/proc/thread-self/status") if line.startswith("Cpus_allowed_list")][0]

def of_child(function):
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, function().encode())
        os._exit(0)
    os.wait()
    return os.read(read, 1000).decode()

def of_program():
    return subprocess.run(["grep", "Cpus_allowed_list", "/proc/self/status"], capture_output=True, text=True).stdout.split()[1]

def sem_wait(call, *limit):
    ctypes.set_errno(0)
    return call(*limit), ctypes.get_errno()

SETUP
if LAUNCHES:
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    ptx = b".version 7.0\\n.target sm_50\\n.address_size 64\\n.visible .entry one() { ret; }\\n"
    for result in (cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
                   cuda.cuModuleLoadData(ctypes.byref(module), ptx),
                   cuda.cuModuleGetFunction(ctypes.byref(function), module, b"one")):
        assert result == 0, result
print("ready", flush=True)
while not os.path.exists(folder + "/end"):
    if LAUNCHES:
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
    if os.path.exists(folder + "/ask"):
        answer = eval(open(folder + "/ask").read())
        os.unlink(folder + "/ask")
        with open(folder + "/answer.part", "w") as file:
            json.dump(answer, file)
        os.rename(folder + "/answer.part", folder + "/answer")
    time.sleep(0.002)
print("done")
"""


def list_of(cpus):
    """As the kernel writes a set of CPUs."""
    ranges = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


class PlacedTest(ProbedTest):
    """What ranks take of the machine is agreed on in a folder of this test, so tests may run beside each other."""

    def place(self, *options, setup="", launches=True, before=(), where=None, **changes):
        """Starts it. `before`: words of a command that runs it; `where`: a folder of its own below the test's."""
        folder = self.folder / where if where else self.folder
        folder.mkdir(exist_ok=True)
        script = folder / "program.py"
        script.write_text(PROGRAM.replace("SETUP", setup).replace("LAUNCHES", str(launches)))
        changes = {"XDG_RUNTIME_DIR": str(self.folder), **changes}
        process = self.start(COMMAND, "run", "-o", folder / "run", "--simgpu", "1", *options, "--", *before, "/usr/bin/python3",
                             script, folder, **changes)
        process.folder = folder
        self.addCleanup(self.end_by_force, process)
        line = process.stdout.readline()
        self.assertEqual(line, "ready\n", process.stderr.read() if not line else line)
        self.until(lambda: list((folder / "run").glob("*.hptrace")))
        process.traced = int(next((folder / "run").glob("*.hptrace")).name.split("-")[-2])
        return process

    def end_by_force(self, process):
        """What a test that failed has left: the program ends once it is told to."""
        if process.poll() is None:
            (process.folder / "end").touch()
            try:
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                os.kill(process.traced, signal.SIGKILL)
                process.communicate()

    def until(self, holds):
        """What it gives once that is true."""
        end = time.monotonic() + 20
        while not (found := holds()) and time.monotonic() < end:
            time.sleep(0.02)
        self.assertTrue(found, self.what_is())
        return found

    def what_is(self):
        return "did not come true"

    def ask(self, process, expression):
        answer = process.folder / "answer"
        part = process.folder / "ask.part"
        part.write_text(expression)
        part.rename(process.folder / "ask")
        self.until(answer.exists)
        value = json.loads(answer.read_text())
        answer.unlink()
        return value

    def ctl(self, process, *words, status=0):
        return self.run_program(COMMAND, "ctl", process.traced, "fix", *words, status=status)

    def end(self, process):
        (process.folder / "end").touch()
        out, err = self.finish(process)
        self.assertEqual(out, "done\n")
        return err

    def events_now(self, process):
        report = self.run_program(COMMAND, "report", process.folder / "run", "--json")[0]
        return [e["text"] for p in json.loads(report)["processes"] for e in p["events"] if e["kind"] == "fix"]

    def await_event(self, process, words):
        return self.until(lambda: next((text for text in self.events_now(process) if words in text), None))

    def threads(self, process):
        """(tid, name) of each, hostprobe's own left out."""
        found = []
        for tid in os.listdir(f"/proc/{process.traced}/task"):
            try:
                with open(f"/proc/{process.traced}/task/{tid}/comm") as file:
                    found.append((int(tid), file.read().strip()))
            except OSError:
                pass  # it has ended
        return [(tid, name) for tid, name in found if name != "hostprobe"]

    def masks(self, process):
        """By role: of the main thread, of each NCCL progress thread, of all others."""
        masks = {"main": None, "progress": [], "others": []}
        for tid, name in self.threads(process):
            mask = os.sched_getaffinity(tid)
            if tid == process.traced:
                masks["main"] = mask
            else:
                masks["progress" if name.startswith("NCCL Progress") else "others"].append(mask)
        return masks

    def writer(self, process):
        for tid in os.listdir(f"/proc/{process.traced}/task"):
            with open(f"/proc/{process.traced}/task/{tid}/comm") as file:
                if file.read().strip() == "hostprobe":
                    return int(tid)
        self.fail("no thread of hostprobe's")
