#!/usr/bin/env python3
"""Native call stacks, compared with gdb's: a program waits, gdb says what its stack is, the wait ends, and the stack that
hostprobe recorded for it must hold the same return addresses.

test_stacks.py [-v] [Stacks.test_pytorch …]
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from guest import GuestTest, main, program
from probed import BUILD, path_of

MOST = 20  # frames that hostprobe keeps

ASK = """
import gdb
for thread in gdb.selected_inferior().threads():
    if thread.ptid[1] != {tid}: continue
    thread.switch()
    frame, count = gdb.newest_frame(), 0
    while frame is not None and count < 100:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("FRAME", hex(frame.pc()), gdb.solib_name(frame.pc()))
        frame, count = frame.older(), count + 1
"""

WAIT = """
import select, sys, threading
def wait(*ignored):
    print("waiting", threading.get_native_id(), flush=True)
    select.select([sys.stdin], [], [])
thread = threading.Thread(target=int)
thread.start()
thread.join()
"""

PYTORCH = WAIT + """
import torch
x = torch.ones(3, requires_grad=True)
y = x * 2
y.register_hook(wait)
y.sum().backward()
print("done")
"""

NUMBA = WAIT + """
import ctypes, numba, numpy
poll = ctypes.CDLL(None).poll
poll.argtypes, poll.restype = (ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int), ctypes.c_int
@numba.njit
def wait_in_machine_code(events):
    return poll(events.ctypes.data, 1, -1)
events = numpy.array([1 << 32], dtype=numpy.int64)  # descriptor 0, POLLIN
wait_in_machine_code.compile("(int64[::1],)")
print("waiting", threading.get_native_id(), flush=True)
wait_in_machine_code(events)
print("done")
"""

GEVENT = WAIT + """
import gevent
def other():
    for _ in range(3): gevent.sleep(0)
def deeper(frames):
    return wait() if frames == 0 else deeper(frames - 1)
def waits():
    gevent.sleep(0)
    deeper(5)
gevent.joinall([gevent.spawn(other), gevent.spawn(waits), gevent.spawn(other)])
print("done")
"""


class Stacks(GuestTest):
    def start_waiting(self, *command):
        settings = {**self.environment("preloaded"), "HOSTPROBE_MODE": "trace", "HOSTPROBE_STACK_US": "200000"}
        process = subprocess.Popen([str(word) for word in command], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **settings})
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("waiting"):
                return process, int(line.split()[1])
        self.fail(process.communicate())

    def await_asleep(self, process, tid):
        """In poll, select, ppoll or pselect."""
        place = Path(f"/proc/{process.pid}/task/{tid}/syscall")
        self.await_ready(process, lambda: place.read_text().split()[0] in ("7", "23", "270", "271"))
        time.sleep(0.5)  # longer than what carries a stack

    def gdb_frames(self, process, tid):
        """Return addresses above hostprobe's own frames."""
        command = [program("gdb"), "-nx", "-batch", "-p", str(process.pid), "-ex", "set backtrace past-main on",
                   "-ex", "set backtrace past-entry on", "-ex", f"python exec({ASK.format(tid=tid)!r})"]
        asked = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        frames = [line.split()[1:] for line in asked.stdout.splitlines() if line.startswith("FRAME")]
        ours = [number for number, (_, library) in enumerate(frames) if library.endswith("/libhostprobe.so")]
        self.assertTrue(ours, asked.stdout + asked.stderr)
        return [address for address, _ in frames[ours[-1] + 1:]]

    def compare(self, *command, least, whole=True):
        """`whole`: hostprobe's stack is as long as gdb's, or as it keeps."""
        process, tid = self.start_waiting(*command)
        self.await_asleep(process, tid)
        expected = self.gdb_frames(process, tid)
        out, err = process.communicate("\n")
        self.assertEqual((process.returncode, out), (0, "done\n"), err)
        self.assert_silent(err)
        traces = list(self.run_folder.glob("*.hptrace"))
        self.assertEqual(len(traces), 1)
        walked = self.run_program(BUILD / "bin/native_stacks", traces[0])[0].splitlines()
        stacks = [line.split() for line in walked]
        self.assertIn(expected[:1], [stack[:1] for stack in stacks], walked)
        stack = next(stack for stack in stacks if stack[:1] == expected[:1])
        self.assertEqual(stack, expected[:len(stack)])
        self.assertGreaterEqual(len(stack), least)
        if whole:
            self.assertEqual(len(stack), min(MOST, len(expected)))

    def compare_program(self, where, **how):
        self.compare(BUILD / "bin/waits_in", where, **how)

    def test_thread(self):
        self.compare_program("thread", least=7)

    def test_callback_of_libc(self):
        self.compare_program("callback", least=MOST)

    def test_signal_handler(self):
        self.compare_program("handler", least=10)

    def test_makecontext(self):
        """Down to __start_context, where the tables say that nobody called. gdb goes on guessing."""
        self.compare_program("context", least=5, whole=False)

    def test_boost_context(self):
        """Down to the code where a fiber begins; it has no tables, and gdb guesses."""
        self.compare_program("fiber", least=6, whole=False)

    def test_pytorch(self):
        self.compare(path_of("TORCH_PYTHON"), "-c", PYTORCH, least=MOST)

    def test_numba(self):
        """Up to the code made at run time, whose tables only libgcc and gdb are told of."""
        self.compare(path_of("CLIENTS_PYTHON"), "-c", NUMBA, least=1, whole=False)

    def test_gevent(self):
        """A greenlet's stack, of which older parts may lie on the heap."""
        self.compare(path_of("GUESTS_PYTHON"), "-c", GEVENT, least=8, whole=False)


if __name__ == "__main__":
    main()
