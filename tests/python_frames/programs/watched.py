"""Every case waits once for a while; meanwhile another thread asks the interpreter itself where it waits.

One line per case: JSON {"case", "tid", "expected": [[name, file, line], ...]}, innermost first.
"""

import asyncio
import json
import os
import queue
import sys
import threading
import time

WAIT_S = 0.12
lines = []


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def stack_of(frame):
    found = []
    while frame is not None:
        found.append([name_of(frame.f_code), frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found


def watch(case, ident, tid, started):
    started.wait()
    time.sleep(WAIT_S / 2)
    lines.append(json.dumps({"case": case, "tid": tid, "expected": stack_of(sys._current_frames()[ident])}))


def run(case, function):
    started = threading.Event()
    watcher = threading.Thread(target=watch, args=(case, threading.get_ident(), threading.get_native_id(), started))
    watcher.start()
    started.set()
    function()
    watcher.join()


def run_in_thread(case, function):
    thread = threading.Thread(target=run, args=(case, function))
    thread.start()
    thread.join()


def wait():
    try:
        queue.Queue().get(timeout=WAIT_S)
    except queue.Empty:
        pass


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
        threading.Event().wait(WAIT_S)


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
    lock = threading.Lock()
    lock.acquire()
    timer = threading.Timer(WAIT_S, lock.release)
    timer.start()
    lock.acquire()
    timer.join()


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
