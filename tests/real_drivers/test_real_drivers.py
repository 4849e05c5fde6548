#!/usr/bin/env python3
"""NVIDIA's own drivers, on a host without a device: every routed name, by every route, bare and preloaded; NVIDIA's runtime
and NCCL on top of them; and name by name what the simulated driver answers in their place.

test_real_drivers.py 470|535|550 [-v] [RealDriver.test_linked …]
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "guests"), str(HERE.parent / "python"), str(SOURCE / "libhostprobe/simnode/cuda/entries")]

import fetched  # noqa: E402
import generate_entries  # noqa: E402
import guest  # noqa: E402
from probed import BUILD, COMMAND, SIMNODE, path_of  # noqa: E402

VERSION = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in fetched.SUITES else "550"
SKIPPED = 77  # to ctest
CACHE = path_of("HOSTPROBE_CACHE")
LOOKUPS = {"cuGetProcAddress", "cuGetProcAddress_v2"}
FORM = re.compile(r"(_v\d+)?(_ptsz|_ptds)?$")

TORCH = """
import torch
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.nccl.version())
for call in (lambda: torch.zeros(1, device="cuda"), torch.cuda.synchronize, lambda: torch.cuda.get_device_name(0)):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)
"""
BINDINGS = """
from cuda.bindings import driver
print(driver.cuInit(0), driver.cuDriverGetVersion(), driver.cuStreamSynchronize(0), driver.cuMemAlloc(8),
      driver.cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0), driver.cuGraphLaunch(0, 0), driver.cuEventSynchronize(0),
      driver.cuGetProcAddress(b"cuNoSuchFunction", 12000, 0))
"""
Answer = collections.namedtuple("Answer", "result who status")


def exports(library):
    """Names of the driver API that a library has; what begins otherwise (cudbg…) is not of that API."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return sorted(word for word in (line.split()[-1] for line in lines.splitlines()) if re.match(r"cu[A-Z]", word))


def look_ups():
    """Functions that are handed out as they are, without the ends of their names."""
    text = (SOURCE / "libhostprobe/probe/intercept/passages.cpp").read_text()
    return set(re.findall(r'"(cu[A-Z]\w+)"', text[text.index("kLookUps[]"):text.index("kEnds[]")]))


def is_ordered(name):
    return FORM.sub("", name) not in look_ups() and re.sub(r"(_ptsz|_ptds)$", "", name) not in look_ups()


def hooked():
    lines = subprocess.run([COMMAND, "hooks"], capture_output=True, text=True, check=True).stdout
    return {word for word in lines.split() if re.match(r"cu[A-Z]", word)}


def versions_of_names():
    """All versions at which cudaTypedefs.h says that a name changed."""
    include = str(path_of("CUDA") / "include")
    text = generate_entries.preprocess("g++", include, include + "/cudaTypedefs.h")
    versions = collections.defaultdict(set)
    for (name, _), found in generate_entries.typedef_versions(text).items():
        versions[name] |= found
    return versions


def requests(names, own):
    """Every name, known and invented, just before and at each change, and at versions from none to the far future."""
    changes = versions_of_names()
    asked = set(changes) | set(names) | {FORM.sub("", name) for name in names} | {"-", "cuNoSuchFunction", "cuLaunchKern"}
    for name in sorted(asked):
        at = changes[name] if name in changes else set()
        for version in sorted({0, 2000, 4000, 7000, 12000, own, 13000, 99999} | at | {each - 10 for each in at}):
            for flags in (0, 1, 2):
                yield name, version, flags
    for name in ("cuLaunchKernel", "cuInit", "cuNoSuchFunction"):
        for flags in (3, 4, 8, 1 << 20):
            yield name, own, flags


def listed_differences():
    """Checked-in names in which the simulated driver differs, with the drivers that have them."""
    lines = (HERE / "differences.txt").read_text().splitlines()
    rows = [line.split(None, 2) for line in lines if line and not line.startswith("#")]
    assert all(len(row) == 3 for row in rows), "a name, its drivers and a reason"
    return {name for name, drivers, _ in rows if drivers == "all" or VERSION in drivers.split(",")}


def changes_in_routes():
    """The rows of kChanges: which exported name a request means from a version on."""
    text = (SOURCE / "libhostprobe/probe/intercept/routes.cpp").read_text()
    return [(name, int(version), exported) for name, version, exported in
            re.findall(r'\{"(cu\w+)", (\d+), "(cu\w+)"\}', text)]


class RealDriver(guest.GuestTest):
    @classmethod
    def setUpClass(cls):
        cls.exported = exports(cls.driver / "libcuda.so.1")
        cls.called = sorted(hooked() & set(cls.exported))
        cls.made = tempfile.TemporaryDirectory(prefix="hostprobe-test.")
        cls.addClassCleanup(cls.made.cleanup)
        cls.programs = Path(cls.made.name)
        cls.compile_programs()

    @classmethod
    def compile_programs(cls):
        """The linked ones against a stub that has what this driver has, and nothing newer."""
        names = cls.programs / "names.h"
        names.write_text("".join(f"NAME({name})\n" for name in cls.called))
        (cls.programs / "stub.c").write_text("".join(f"int {name}(void) {{ return 0; }}\n" for name in cls.exported))
        cls.cc("stub.c", "libcuda.so.1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-fno-builtin", folder=cls.programs)
        cls.cc("asks.c", "asks")
        cls.cc("runtime.c", "runtime")
        cls.cc("collective.c", "collective")
        stub = cls.programs / "libcuda.so.1"
        cls.cc("linked.c", "linked", stub)
        cls.cc("linked.c", "linked_now", stub, "-Wl,-z,now,-z,relro")
        cls.cc("linked.c", "linked_fixed", stub, "-fno-pie", "-no-pie")
        cls.cc("linked.c", "plugin.so", stub, "-DPLUGIN", "-shared", "-fPIC")
        stub.unlink()

    @classmethod
    def cc(cls, source, output, *more, folder=HERE):
        subprocess.run(["cc", "-O1", "-I", cls.programs, folder / source, "-o", cls.programs / output, *more], check=True)

    def both(self, *command, status=0, **changes):
        """Output of a program, which must be the same with and without hostprobe; and the preloaded one with its owners."""
        changes = {"LD_LIBRARY_PATH": str(self.driver), "HOSTPROBE_POLL_US": "0", **changes}  # short queries are recorded too
        bare, errors = self.run_kind("bare", *command, status=status, **changes)
        preloaded, said = self.run_kind("preloaded", *command, status=status, **changes)
        self.assertEqual(self.without_owners(preloaded), self.without_owners(bare))
        self.assertNotIn("libhostprobe.so", bare)
        self.assertEqual(said, errors)
        return preloaded

    def without_owners(self, output):
        return re.sub(r"\b(libcuda|libhostprobe)\.so\S*", "OWNER", output).splitlines()

    def check_counts(self, output):
        """Each call has one record."""
        calls = collections.Counter(line.split()[1] for line in output.splitlines() if line.startswith("called "))
        records = collections.Counter(row["function"] for row in self.dump() if row.get("function", "").startswith("cu"))
        self.assertEqual(records, calls)
        self.assertLessEqual(set(self.called) & set(calls), set(records))
        return sum(calls.values()), len(calls)

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(" ".join(map(str, line)) + "\n" for line in lines))
        return path

    def ask(self, kind, library_path, names, called, **changes):
        """What asks.c prints, of one driver."""
        own = self.own_version
        calls = [(FORM.sub("", name), version, flags) for name in called for version in (own, 13000, 4000, 11030)
                 for flags in (0, 2)]
        command = (self.programs / "asks", self.write("names", [(n, "call" if n in called else "-") for n in names]),
                   self.write("requests", self.requests), self.write("calls", calls))
        if kind == "both":
            return self.both(*command, LD_LIBRARY_PATH=str(library_path), **changes)
        return self.run_kind(kind, *command, LD_LIBRARY_PATH=str(library_path), **changes)[0]

    @property
    def own_version(self):
        return {"470": 11040, "535": 12020, "550": 12040}[VERSION]

    @property
    def requests(self):
        return list(requests(set(self.exported) | set(exports(SIMNODE / "libcuda.so.1")), self.own_version))

    def answers(self, output):
        """(name, version, flags) → its two answers, and the owners of both."""
        rows = {}
        for line in output.splitlines():
            if not line.startswith("asked "):
                continue
            # The empty name leaves nothing between the first word and the version.
            question, first, second = (part.split() for part in line.removeprefix("asked ").split("|"))
            question = [""] * (3 - len(question)) + question
            rows[question[0], int(question[1]), int(question[2])] = (
                Answer(first[0], first[1], None), Answer(second[0], second[1], second[2]), first[2], second[3])
        return rows

    def test_every_lookup_gives_one_wrapper(self):
        """By dlsym and both forms of cuGetProcAddress: a wrapper for each routed name, the same one each time, for others a passage
        (decision 21), but for look-ups nothing; what is called is recorded once."""
        output = self.ask("both", self.driver, self.exported, set(self.called), HOSTPROBE_MODE="trace")
        self.assertIn(f"version 0 {self.own_version}\ninit 100\n", output)
        routed = set(self.called) | (LOOKUPS & set(self.exported))
        ours = routed | {name for name in self.exported if is_ordered(name)}
        for line in output.splitlines():
            if line.startswith("name "):
                _, name, owner = line.split()
                self.assertEqual(owner.startswith("libhostprobe"), name in ours, line)
        found = collections.Counter()
        for question, (first, second, *owners) in self.answers(output).items():
            for answer, owner in zip((first, second), owners):
                if answer.who in ("null", "untouched"):
                    continue
                self.assertNotEqual(answer.who, "unexported", question)
                self.assertEqual(owner.startswith("libhostprobe"), answer.who in ours, (question, answer, owner))
                found[answer.who in routed] += 1
        calls, functions = self.check_counts(output)
        print(f"\n{VERSION}: {len(self.called)} routed names of {len(self.exported)} exported, {found.total()} answers, "
              f"{found[True]} of them wrappers; {calls} calls of {functions} functions, each recorded once")

    def test_modes_change_nothing(self):
        for mode in ("flight", "monitor"):
            with self.subTest(mode):
                self.run_folder = self.folder / mode
                output = self.ask("both", self.driver, self.exported, set(self.called), HOSTPROBE_MODE=mode)
                calls = collections.Counter(line.split()[1] for line in output.splitlines() if line.startswith("called "))
                counted = {}
                for process in self.report()["processes"]:
                    self.assertEqual(process["lost"], 0)
                    counted |= process["launches"]["by_function"] | process["syncs"]["by_function"]
                self.assertEqual({name: calls[name] for name in counted}, counted)
                self.assertIn("cuLaunchKernel", counted)

    def test_linked_programs(self):
        for program in ("linked", "linked_now", "linked_fixed"):
            with self.subTest(program):
                self.run_folder = self.folder / program
                output = self.both(self.programs / program, HOSTPROBE_MODE="trace")
                self.check_linked(output, None if program == "linked_fixed" else "libhostprobe.so")

    def check_linked(self, output, owner, times=1):
        """In a program at a fixed address the address of a function is that of its own jump to it."""
        rows = [line.split() for line in output.splitlines() if line.startswith("linked ")]
        self.assertEqual(len(rows), times * len(self.called))
        if owner is not None:
            self.assertEqual({(row[2], row[3]) for row in rows}, {(owner, "same")})
        calls, functions = self.check_counts(output)
        self.assertEqual(calls, 2 * times * functions)
        self.assertEqual(functions, len(self.called))

    def test_late_plugins(self):
        opens = BUILD / "tests/programs/driver_opens_plugin"
        for way in ("lazy", "now", "deepbind"):
            with self.subTest(way):
                self.run_folder = self.folder / way
                output = self.both(opens, self.programs / "plugin.so", way, 6, HOSTPROBE_MODE="trace")
                self.check_linked(output, "libhostprobe.so", times=6)

    def test_driver_that_is_closed_and_opened_again(self):
        output = self.both(BUILD / "tests/programs/driver_closes", HOSTPROBE_MODE="trace")
        self.assertEqual(self.check_counts(output), (4, 4))

    def test_exported_address_is_the_answer(self):
        """Whatever it is asked for, this driver answers with an address that it exports: decision 4 relies on that to tell
        which function was answered. And what the table in routes.cpp would say of a driver that did not is the same."""
        output = self.ask("bare", self.driver, self.exported, set())
        counts = collections.Counter()
        for (_, version, flags), (first, *_) in self.answers(output).items():
            if version == self.own_version and flags in (0, 2):
                counts["none" if first.who == "untouched" else "other" if first.who == "unexported" else "exported"] += 1
        self.assertEqual(counts["other"], 0)
        package = os.readlink(self.driver / "libcuda.so.1").removeprefix("libcuda.so.")
        measured = f"{package} exported={counts['exported']} none={counts['none']}"
        known = (HERE / "answers.txt").read_text().splitlines()
        same = [line for line in known if line.split()[0] == package]
        print(f"\n{measured}" + ("" if measured in known else f", NOT as measured before: {same or known}"))

    def test_routes_know_what_a_request_means(self):
        changes, hooks = changes_in_routes(), hooked()
        self.assertGreater(len(changes), 30)
        output = self.ask("bare", self.driver, self.exported, set())
        for (name, version, flags), (first, *_) in self.answers(output).items():
            if first.who in LOOKUPS | {"untouched"} or flags > 2 or version > self.own_version:
                continue
            meant = name
            for changed, since, exported in changes:
                if changed == name and version >= since:
                    meant = exported
            forms = [meant + form for form in ("_ptsz", "_ptds")] if flags == 2 and version >= 7000 else []
            hook = next((form for form in [*forms, meant] if form in hooks), None)
            self.assertEqual(hook, first.who if first.who in hooks else None, (name, version, flags))

    def test_the_simulated_driver_answers_the_same(self):
        simulated = exports(SIMNODE / "libcuda.so.1")
        real = self.answers(self.ask("bare", self.driver, self.exported, set()))
        played = self.answers(self.ask("bare", SIMNODE, simulated, set(), SIMNODE_DRIVER_VERSION=str(self.own_version)))
        self.assertEqual(real.keys(), played.keys())
        old = "cuGetProcAddress_v2" not in self.exported
        different = {name for (name, version, flags) in real
                     if self.comparable(real[name, version, flags], old) != self.comparable(played[name, version, flags], old)}
        missing = set(self.exported) - set(simulated)
        self.assertEqual(sorted(different | missing), sorted(listed_differences()), "differences.txt must be exact")
        newer = len(set(simulated) - set(self.exported))
        print(f"\n{VERSION}: {len(real)} requests of {len({name for name, *_ in real})} names; "
              f"{len(different)} names answered differently, {len(missing)} not exported, all listed; {newer} newer names")

    def comparable(self, answers, old):
        """Without the second form where the real driver is older than it, and so without that form as an answer."""
        first, second, *_ = answers
        return (first if first.who != "cuGetProcAddress_v2" else None) if old else (first, second)

    def test_nvidias_runtime(self):
        for version in ("11", "12", "13"):
            with self.subTest(version):
                library = self.runtime(version)
                output = self.both(self.programs / "runtime", library)
                self.assertRegex(output, r"cudaLaunchKernel: (35|100) ")
                table = self.both(self.programs / "runtime", library, "table")
                self.assertNotIn("lacks it", table)
                print(f"\n{VERSION}: libcudart {version}: {len(output.splitlines())} answers, "
                      f"{table.count('has it')} functions looked up in its memory")

    def runtime(self, version):
        if version == "13":
            return path_of("CUDA") / "lib/libcudart.so.13"
        try:
            return fetched.runtime(CACHE, version, path_of("CLIENTS_PYTHON"))
        except fetched.Unavailable as error:
            self.skipTest(f"libcudart {version} cannot be had: {error}")

    def test_python_programs(self):
        """cuda-bindings asks the driver for 526 functions and, on 470, complains; PyTorch brings a runtime of its own, which
        finds each of these drivers too old."""
        self.both(path_of("CLIENTS_PYTHON"), "-c", BINDINGS, status=1 if VERSION == "470" else 0)
        if VERSION == "550":
            self.both(path_of("TORCH_PYTHON"), "-c", TORCH)

    def test_nvidias_nccl(self):
        library = next(path_of("TORCH_PYTHON").parents[1].glob("lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"))
        output = self.both(self.programs / "collective", library)
        self.assertIn("ncclGetVersion: 0", output)
        self.assertIn("ncclCommInitRank: 1", output)
        self.assertIn("no communicator", output)


if __name__ == "__main__":
    try:
        RealDriver.driver = fetched.driver(CACHE, VERSION)
    except fetched.Unavailable as error:
        print(f"skipped: NVIDIA's driver {VERSION} cannot be had: {error}")
        sys.exit(SKIPPED)
    guest.main()
