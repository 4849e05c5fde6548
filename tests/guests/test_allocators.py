#!/usr/bin/env python3
"""jemalloc and tcmalloc beside the probe, before and after it in LD_PRELOAD, with and without yet another library that has a
dlsym of its own: programs run as without the probe, and each call is recorded exactly once.

Allocators call into libc before anybody's constructor has run, and jemalloc has a pthread_create of its own.
"""

import itertools
from collections import Counter
from pathlib import Path

import guest
from guest import KINDS, PRELOAD, GuestTest
from probed import BUILD, SIMNODE, entered

PROGRAMS = BUILD / "tests/programs"
OTHER = PROGRAMS / "libother_dlsym.so"
WAITS = [("sem_wait", "post"), ("sem_timedwait", "post"), ("sem_clockwait", "post"), ("pthread_cond_wait", "signal"),
         ("pthread_cond_timedwait", "broadcast"), ("pthread_cond_clockwait", "signal")]
# Loads libraries while it runs, whose thread states are looked for, and waits in threads meanwhile.
PYTHON = """
import threading, time
done = threading.Event()
threads = [threading.Thread(target=done.wait) for _ in range(4)]
for thread in threads:
    thread.start()
import ctypes, decimal, sqlite3, ssl
time.sleep(0.7)
done.set()
print("done")
"""


def orders(allocator):
    """Every order of the allocator and the probe, alone and with the other dlsym."""
    for libraries in ((PRELOAD, allocator), (PRELOAD, allocator, OTHER)):
        yield from itertools.permutations(libraries)


class Beside:
    library = None
    settings = {}

    def run_victim(self, kind, preloads, program, words):
        """Output, complaints, and what the victim told, line by line."""
        folder = self.run_folder.parent / kind
        folder.mkdir(parents=True)
        if kind == "bare":
            changes = {"LD_PRELOAD": ":".join(str(path) for path in preloads if path != PRELOAD)}
        else:
            changes = self.environment(kind, preloads)
        changes.update(self.settings, VICTIM_TRUTH=str(folder / "truth"), LD_LIBRARY_PATH=str(SIMNODE), SIMNODE_GPUS="1",
                       SIMNODE_COUNTS=str(folder / "counts"))
        out, err = self.run_program(PROGRAMS / program, *words, **changes)
        self.assertNotIn("cannot be preloaded", err, "run ./setup.sh test")
        return out, err, [line.split() for line in (folder / "truth").read_text().splitlines()]

    def in_each_order(self, check, program, *words):
        """Runs the program both ways; `check` gets what it told when it was preloaded, with its run in self.run_folder."""
        for number, preloads in enumerate(orders(self.library)):
            with self.subTest(program=program, words=words, preloads=[Path(path).name for path in preloads]):
                self.run_folder = self.folder / "-".join([program, *words, str(number)]) / "run"
                bare, preloaded = (self.run_victim(kind, preloads, program, words) for kind in KINDS)
                self.assertEqual(preloaded[:2], bare[:2])
                self.assertEqual(sum(process["lost"] for process in self.processes(program)), 0)
                check(preloaded[2])

    def check_launches(self, truth):
        told, reported = Counter(), Counter()
        for line in truth:
            if line[0] == "count":
                told[line[1]] += int(line[2])
        for process in self.report()["processes"]:
            for part in ("launches", "syncs"):
                reported.update((process.get(part) or {}).get("by_function", {}))
        self.assertEqual(+reported, told)
        counts = entered(self.run_folder.parent / "preloaded/counts")
        self.assertEqual({name: counts[name] for name in told}, dict(told))

    def check_waits(self, function, truth):
        """By the report, where a wait counts whether it was long enough for a record of its own or not."""
        calls = next(int(line[1]) for line in truth if line[0] == "calls")
        self.assertGreaterEqual(calls, 24)
        reported = sum(site["count"] for process in self.report()["processes"] for site in process["waits"]
                       if site["function"] == function and site["library"] == "waits_blocked")
        self.assertEqual(reported, calls)

    def test_launches_and_synchronising_calls(self):
        self.in_each_order(self.check_launches, "driver_mixed")

    def test_launches_of_several_threads(self):
        self.in_each_order(self.check_launches, "driver_threads")

    def test_waits(self):
        for function, wake in WAITS:
            self.in_each_order(lambda truth: self.check_waits(function, truth), "waits_blocked", function, wake)


class Jemalloc(Beside, GuestTest):
    library = "libjemalloc.so.2"


class JemallocWithAThreadOfItsOwn(Beside, GuestTest):
    library = "libjemalloc.so.2"
    settings = {"MALLOC_CONF": "background_thread:true"}


class Tcmalloc(Beside, GuestTest):
    library = "libtcmalloc_minimal.so.4"


class Watching(Beside, GuestTest):
    """No thread of ours asks the program's allocator for anything: it may hold a lock while it waits for one that we hold."""

    library = PROGRAMS / "libwatching_allocator.so"

    def test_python(self):
        self.run_folder = self.folder / "run"
        said = self.run_program("/usr/bin/python3", "-c", PYTHON, **self.environment("preloaded", (PRELOAD, self.library)))
        self.assertEqual(said, ("done\n", ""))


if __name__ == "__main__":
    guest.main()
