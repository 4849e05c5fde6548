#!/usr/bin/env python3
"""Every damage of mutations.py, at the begin, the middle and the end of a profile: what is whole is read, what is not is counted with
the place of the first, and nothing is made up: the traces are those of an intact profile without the events that are lost.

test_mutations.py [-v] [Test.test_…]
test_mutations.py --table [PROFILE.json.gz …]   prints kind × place: events kept, records, exit status, counted, message, and whether it is
                                                right; by default of a made profile. Exits 1 when a row is wrong
HOSTPROBE_TEST_PROFILES is a folder of real profiles, without which the tests take only the made one. Of long ones they take EVENTS events;
HOSTPROBE_WHOLE_PROFILES=1: all of them, which takes some minutes.
"""

import hashlib
import os
import json
import re
import sys
import unittest
from dataclasses import dataclass
from pathlib import Path

import mutations
from imported import COMMAND, PROFILES, ImportTest, call, kernel, main, span

WHOLE = os.environ.pop("HOSTPROBE_WHOLE_PROFILES", "") == "1"
EVENTS = 3000
START = 1_700_000_000_000_000


def made_profile():
    """Calls, kernels and ranges of two threads; as PyTorch writes it: one field a line, the head in front and behind."""
    events = [{"ph": "M", "name": "process_name", "pid": 10, "tid": 0, "ts": START, "args": {"name": "python"}}]
    for n in range(12):
        at = START + 100 * n
        events += [span(f"aten::op{n % 3}", at, 60, category="cpu_op"),
                   call("cudaLaunchKernel", at + 10.5, 5.25, n + 1, tid=10 + n % 2),
                   kernel(f"gemm{n % 3}", at + 20.125, 8.5, n + 1, grid=[4, n + 1, 1], block=[128, 1, 1]),
                   call("cudaStreamSynchronize", at + 40, 7, 100 + n, tid=10 + n % 2)]
    head = '{\n  "schemaVersion": 1,\n  "distributedInfo": {"rank": 3, "world_size": 8},\n  "host_name": "node-1",\n  "traceEvents": [\n  '
    text = head + ",\n  ".join(json.dumps(event, indent=1) for event in events) + '\n  ],\n  "traceName": "made.json",\n  "baseTimeNanoseconds": 1000\n}\n'
    return mutations.split(text.encode())


@dataclass
class Counted:
    count: int = 0
    first: int = None  # byte of the text


class Reading:
    """What one import made of a file: records of its traces, kinds that were counted, and why it was read in part."""

    def __init__(self, test, data):
        several = data if isinstance(data, tuple) else (data,)
        paths = [test.folder / f"{n}profile.json" for n in range(len(several))]
        for path, text in zip(paths, several):
            path.write_bytes(text)
        test.run_folder = test.folder / "run"
        for old in test.run_folder.glob("*"):
            old.unlink()
        process = test.start(COMMAND, "import", "-o", test.run_folder, "--kineto", *paths)
        _, err = process.communicate()
        self.status, self.kinds, self.message = process.returncode, {}, ""
        for line in err.splitlines():
            self.hear(re.sub(r"^hostprobe: \S*: ", "", line, count=1))
        self.lines = sorted(test.run_program(COMMAND, "dump", test.run_folder, "--json")[0].splitlines()) if self.status == 0 else []
        self.records, self.sum = len(self.lines), hashlib.sha256("\n".join(self.lines).encode()).hexdigest()

    def hear(self, words):
        counted = re.fullmatch(r"(\d+) (.*?)(?:, the first at byte (\d+))?", words)
        if not counted:
            self.message = words
            return
        kind = self.kinds.setdefault(counted[2], Counted(first=int(counted[3]) if counted[3] else None))
        kind.count += int(counted[1])

    def count(self, word):
        return sum(kind.count for name, kind in self.kinds.items() if word in name)

    def beyond(self, other):
        """Kinds that were counted more often, with the place of the first where the other has none."""
        found = {}
        for name, kind in self.kinds.items():
            before = other.kinds.get(name, Counted())
            if kind.count > before.count:
                found[name] = Counted(kind.count - before.count, None if before.count else kind.first)
        return found


class Checker:
    """Reads each mutation of one profile, and says what is wrong with what was read of it."""

    def __init__(self, test, profile):
        self.test, self.profile, self.readings = test, profile, {}
        self.whole = self.expect(profile.whole)

    def expect(self, data):
        """Of an intact profile. Many damages leave the same one. Its records themselves would fill the memory."""
        key = hashlib.sha256(b"\n".join(data) if isinstance(data, tuple) else data).digest()
        if key not in self.readings:
            self.readings[key] = Reading(self.test, data)
            self.readings[key].lines = []
        return self.readings[key]

    def rows(self):
        """(name, place, damage, what was read of it, what is wrong) of each mutation."""
        for name, place, damage in mutations.rows(self.profile):
            found = Reading(self.test, damage.bytes)
            yield name, place, damage, found, self.faults(damage, found)

    def faults(self, damage, found):
        """What is wrong; none: the row is right."""
        if damage.expected is None:
            expected, status = None, 1
        else:
            expected, status = self.expect(damage.expected), 0
        if found.status != status:
            yield f"the exit status is {found.status}"
        if expected and (expected.status != 0 or expected.records == 0):
            yield "of what is left nothing is read"
        if expected and found.sum != expected.sum:
            yield self.difference(damage, found)
        yield from self.wrong_counts(damage, found, expected)
        yield from self.wrong_places(damage, found)
        if damage.message not in found.message or bool(found.message) != bool(damage.message):
            yield f"the message should have been {damage.message!r}"

    def wrong_counts(self, damage, found, expected):
        for word, count in damage.counted.items():
            if found.count(word) - self.whole.count(word) != count:
                yield f"{found.count(word) - self.whole.count(word)} {word}, not {count}"
        for name in found.beyond(expected) if expected else ():
            if not any(word in name for word in damage.counted):
                yield f"counted though there are none: {name}"

    def wrong_places(self, damage, found):
        """Each kind that a damage is counted as says where; and the message says where reading stopped: at most at the next event."""
        begin, end = damage.at or (0, float("inf"))
        for name, kind in found.beyond(self.whole).items():
            is_new = name not in self.whole.kinds and any(word in name for word in damage.counted)
            if is_new and (kind.first is None or not begin <= kind.first <= end):
                yield f"{name}: byte {kind.first} is not in the damage, {begin} to {end}"
        said = re.search(r"byte (\d+): ", found.message)
        if said and not begin <= int(said[1]) <= end + len(mutations.BETWEEN):
            yield f"the message names byte {said[1]}, and not one of the damage, {begin} to {end}"

    def difference(self, damage, found):
        expected = Reading(self.test, damage.expected)
        only = sorted(set(found.lines) - set(expected.lines))[:1], sorted(set(expected.lines) - set(found.lines))[:1]
        return f"{found.records} records, not {expected.records}; made up: {only[0]}, missing: {only[1]}"


def real_profiles():
    paths = sorted(Path(PROFILES).glob("*.json.gz")) if PROFILES else []
    return [(path.name, mutations.split(path.read_bytes())) for path in paths]


class Table(ImportTest):
    def check_all(self, profile):
        for name, place, _, _, faults in Checker(self, profile).rows():
            with self.subTest(name, place=place):
                self.assertEqual(list(faults), [])

    def test_a_made_profile(self):
        self.check_all(made_profile())

    @unittest.skipUnless(PROFILES and Path(PROFILES).is_dir(), "no folder of real profiles: set HOSTPROBE_TEST_PROFILES")
    def test_real_profiles(self):
        profiles = real_profiles()
        self.assertNotEqual(profiles, [])
        for name, profile in profiles:
            with self.subTest(name):
                self.check_all(profile if WHOLE else mutations.excerpt(profile, EVENTS))


def print_table(test, name, profile):
    """Returns how many rows are wrong."""
    print(f"{name}: {len(profile.events)} events, {len(profile.whole)} bytes")
    print(f"{'damage':24} {'place':6} {'events kept':>16} {'records':>8} {'exit':4}  {'counted (the first at byte)':64} message")
    wrong, checker = 0, Checker(test, profile)
    for damaged, place, damage, found, faults in checker.rows():
        faults, beyond = list(faults), found.beyond(checker.whole)
        counted = ", ".join(f"{kind.count} {what}{'' if kind.first is None else f' ({kind.first})'}" for what, kind in beyond.items())
        print(f"{damaged:24} {place:6} {f'{damage.all - damage.lost} of {damage.all}':>16} {found.records:8} {found.status:4}  {counted:64} {found.message}",
              flush=True)
        for fault in faults:
            print(f"    WRONG: {fault}", flush=True)
        wrong += bool(faults)
    return wrong


def print_tables(paths):
    test = Table()
    test.setUp()
    try:
        wrong = [print_table(test, path, mutations.split(Path(path).read_bytes())) for path in paths] or [print_table(test, "made", made_profile())]
        print(f"{sum(wrong)} rows are wrong" if any(wrong) else "every row is right")
    finally:
        test.doCleanups()
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    if "--table" in sys.argv:
        sys.exit(print_tables([word for word in sys.argv[1:] if word != "--table"]))
    else:
        main()
