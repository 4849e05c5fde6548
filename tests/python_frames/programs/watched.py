"""Every case waits once, until another thread has asked the interpreter itself where it waits.

One line per case: JSON {"case", "tid", "expected": [[name, file, line], ...]}, innermost first.
"""

import asyncio
import json
import os
import queue
import sys
import threading
import time

ASLEEP_S = 0.03
TIMEOUT_S = 60
lines = []


class Gate:
    """What the case in progress waits for, in three ways; one opens them all."""

    def __init__(self):
        self.queue, self.event, self.lock = queue.Queue(), threading.Event(), threading.Lock()
        self.lock.acquire()

    def open(self):
        self.queue.put(1)
        self.event.set()
        self.lock.release()


gate = None


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def stack_of(ident):
    frame, found = sys._current_frames()[ident], []
    while frame is not None:
        found.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def sleep_of(tid):
    """The thread's state and how often it went to sleep so far."""
    with open("/proc/self/task/%d/status" % tid) as status:
        fields = dict(line.split(":", 1) for line in status)
    return fields["State"].split()[0], fields["voluntary_ctxt_switches"].strip()


def watch(case, ident, tid):
    """Two looks, and the thread did not wake in between: it is in its wait."""
    while True:
        before = sleep_of(tid), stack_of(ident)
        time.sleep(ASLEEP_S)
        after = sleep_of(tid), stack_of(ident)
        if before == after and before[0][0] == "S":
            break
    lines.append(json.dumps({"case": case, "tid": tid, "expected": after[1]}))
    gate.open()


def run(case, function):
    global gate
    gate = Gate()
    watcher = threading.Thread(target=watch, args=(case, threading.get_ident(), threading.get_native_id()))
    watcher.start()
    function()
    watcher.join()


def run_in_thread(case, function):
    thread = threading.Thread(target=run, args=(case, function))
    thread.start()
    thread.join()


def wait():
    gate.queue.get(timeout=TIMEOUT_S)


def nested():
    def inner(n):
        if n:
            return (lambda: inner(n - 1))()
        return [wait() for _ in range(1)]
    inner(3)


def generator():
    def numbers():
        yield 1
        wait()
        yield 2

    def chained():
        yield from numbers()
    return list(chained())


def coroutine():
    async def leaf():
        await asyncio.sleep(0)
        wait()

    async def root():
        await asyncio.gather(leaf())
    asyncio.run(root())


class Holder:
    def __init__(self, waits):
        if waits:
            wait()

    def __del__(self):
        if getattr(self, "waits_late", False):
            wait()

    def method(self):
        Event().wait()

    @property
    def value(self):
        wait()
        return 1


class Event:
    def wait(self):
        gate.event.wait(TIMEOUT_S)


def inlined_init():
    for i in range(200):  # until the interpreter has specialised the call
        Holder(i == 199)


def from_c():
    max([1], key=lambda x: wait() or 1)


def destructor():
    holder = Holder(False)
    holder.waits_late = True
    del holder


def lock_without_timeout():
    gate.lock.acquire()
    gate.lock.release()


def in_except():
    try:
        raise ValueError
    except ValueError:
        try:
            raise KeyError
        finally:
            wait()


def swallow(function):
    def swallowing():
        try:
            function()
        except KeyError:
            pass
    return swallowing


def recursion(n=400):
    if n:
        return recursion(n - 1)
    wait()


def größe_测试_𠀀():
    wait()


def compiled(name, file, lines_before=0):
    source = "def %s():\n%s    wait()\n    pass\n%s()\n" % (name, "    x = [1,\n    2]\n" * lines_before, name)
    code = compile(source, file, "exec")
    return lambda: exec(code, {"wait": wait})


def traced():
    sys.settrace(lambda *a: None)
    sys.setprofile(lambda *a: None)
    try:
        wait()
    finally:
        sys.settrace(None)
        sys.setprofile(None)


CASES = {
    "plain": wait, "nested": nested, "generator": generator, "coroutine": coroutine, "inlined_init": inlined_init,
    "from_c": from_c, "destructor": destructor, "lock": lock_without_timeout, "in_except": swallow(in_except),
    "method": lambda: Holder(False).method(), "property": lambda: Holder(False).value, "recursion": recursion,
    "non_ascii": größe_测试_𠀀, "latin1": compiled("gr\u00f6\u00dfe", "/x/\u00e4.py"),
    "long_name": compiled("n" * 400, "a.py"), "long_wide_name": compiled("\u6d4b" * 300, "b.py"),
    "long_file": compiled("f", "/tmp/" + "d" * 300 + ".py"), "long_folder": compiled("f", "/" + "d/" * 300 + "e.py"),
    "odd_file": compiled("f", "<a\nb\udc80>"), "no_file": compiled("f", ""),
    "many_lines": compiled("f", "many.py", 4000), "traced": traced,
}


if __name__ == "__main__":
    sys.setrecursionlimit(3000)
    for case, function in CASES.items():
        run("main " + case, function)
        run_in_thread("thread " + case, function)
    pid = os.fork()
    if pid == 0:
        lines.clear()
        run("fork child", nested)
        print("\n".join(lines), flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    print("\n".join(lines))
