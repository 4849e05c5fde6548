#!/usr/bin/env python3
"""House rules as tests: rules.py RULE --source FOLDER --build FOLDER. Exit 1 and one line per breach.

A rule is a function that yields breaches. It takes a Tree: the tracked files of a checkout and, for rules about what was
built, a build folder. test_rules.py breaks each rule on purpose.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import hook_names
import list_rules
import prose_rules

CPP = (".h", ".cpp", ".c", ".def")
RULES = {}


class Tree:
    def __init__(self, source, build=None):
        self.source = Path(source)
        self.build = Path(build) if build else None

    def files(self, *suffixes, under=""):
        """Tracked files (all files where there is no git), relative to the source folder."""
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", self.source, "ls-files", "-z"],
                                capture_output=True, text=True)
        if listed.returncode == 0:
            names = [Path(name) for name in listed.stdout.split("\0") if name]
        else:
            names = [p.relative_to(self.source) for p in self.source.rglob("*") if not p.parts[-2].startswith("build")]
        return sorted(name for name in names
                      if (self.source / name).is_file() and (not suffixes or name.suffix in suffixes)
                      and str(name).startswith(under))

    def text(self, name):
        return (self.source / name).read_text(encoding="utf-8", errors="replace")

    def probe(self):
        return self.build / "lib/libhostprobe.so"

    def command(self):
        return self.build / "bin/hostprobe"


def rule(function):
    RULES[function.__name__] = function
    return function


for listed in (*list_rules.ALL, *prose_rules.ALL):
    rule(listed)


def output_of(*command, status=0, **options):
    """stdout of a command that must end with `status`."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=90, **options)
    if done.returncode != status:
        raise RuntimeError(f"{command} ended with {done.returncode}, not {status}: {done.stdout}{done.stderr}")
    return done.stdout


def code_only(text):
    """The text without comments, strings and character constants; line breaks are kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: "\n" * m.group().count("\n") or '""', text, flags=re.S)


# ---- who may know whom ----

FORMAT_HEADERS = {"cstddef", "cstdint", "type_traits"}
BARE_CPP_HEADERS = {"atomic", "bit", "type_traits", "utility", "concepts", "initializer_list", "limits", "new",
                    "cstddef", "cstdint", "cstring", "cstdlib", "cstdarg", "climits", "cerrno", "ctime", "cstdio"}
LIBC_HEADERS = {"ctype.h", "dirent.h", "dlfcn.h", "elf.h", "errno.h", "fcntl.h", "inttypes.h", "limits.h", "link.h",
                "pthread.h", "sched.h", "semaphore.h", "signal.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",
                "stdio.h", "stdlib.h", "string.h", "time.h", "unistd.h", "poll.h", "x86intrin.h", "cpuid.h",
                "immintrin.h", "gnu/libc-version.h", "features.h", "alloca.h", "utmpx.h", "pwd.h", "fnmatch.h",
                "spawn.h"}
LIBC_FOLDERS = ("sys/", "linux/", "asm/", "bits/", "netinet/")
# Headers whose code is a template, or whose library is opened at run time or is static and hidden.
PROBE_GUESTS = {"concurrentqueue/moodycamel/concurrentqueue.h", "concurrentqueue/concurrentqueue.h",
                "moodycamel/concurrentqueue.h", "concurrentqueue.h", "cuda.h", "cudaTypedefs.h", "zstd.h"}
BYTES = ("format/", "steps/", "settings/", "elf/", "hostprobe/")
MAY_QUOTE = {  # room → path prefixes it may name in an #include, besides its own folder
    "format": (),
    "steps": ("format/",),
    "settings": ("format/",),
    "elf": ("format/",),
    "probe": BYTES,
    "words": (),
    "answer": ("hostprobe/",),
    "trace": (*BYTES, "answer/"),
    "model": (*BYTES, "answer/", "trace/"),
    "import": (*BYTES, "answer/", "trace/", "model/", "tables/tracer_columns.h"),
    "analysis": (*BYTES, "answer/", "trace/", "model/"),
    "report": ("hostprobe/", "words/", "answer/"),
    "tables": (*BYTES, "words/", "answer/", "trace/", "model/"),
    "export": (*BYTES, "words/", "answer/", "trace/", "model/", "tables/"),
    "live": (*BYTES, "words/", "answer/", "trace/", "analysis/", "report/"),
    "recorder": (*BYTES, "words/", "answer/", "trace/", "import/", "report/", "live/"),
    "cli": (*BYTES, "words/", "answer/", "trace/", "model/", "import/", "analysis/", "report/", "tables/", "export/", "live/", "recorder/"),
    "simnode": ("format/", "hostprobe/"),
}
SHARED = ("steps", "settings", "elf")  # headers that both sides compile for themselves
READING_ROOMS = ("words", "answer", "trace", "model", "import", "analysis", "report", "tables", "export", "live")


def probe_may_include(header):
    return (header in BARE_CPP_HEADERS | LIBC_HEADERS | PROBE_GUESTS or header.startswith(LIBC_FOLDERS)
            or header.startswith("hostprobe/"))


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1) == '"', found.group(2)


def quoted_is_allowed(tree, room, name, header):
    own_room = (tree.source / "libhostprobe" / room).resolve()
    places = [(folder / header).resolve() for folder in (tree.source / name.parent, own_room)]
    return (header.startswith(MAY_QUOTE[room]) or header.startswith(room + "/")
            or (room == "probe" and header in PROBE_GUESTS)
            or any(place.exists() and place.is_relative_to(own_room) for place in places))


@rule
def rooms_include_only_what_they_may(tree):
    for room in MAY_QUOTE:
        for name in tree.files(*CPP, ".inc", ".S", under=f"libhostprobe/{room}/"):
            for number, quoted, header in includes(tree.text(name)):
                if quoted and not quoted_is_allowed(tree, room, name, header):
                    yield f"{name}:{number}: {room}/ may not include {header}"
                elif not quoted and room == "format" and header not in FORMAT_HEADERS:
                    yield f"{name}:{number}: format/ may include only {sorted(FORMAT_HEADERS)}"
                elif not quoted and room in SHARED and header not in FORMAT_HEADERS:
                    yield f"{name}:{number}: {room}/ may include only {sorted(FORMAT_HEADERS)}"
                elif not quoted and room == "answer" and not re.fullmatch(r"[a-z_0-9]+", header):
                    yield f"{name}:{number}: answer/ may include only the standard library, not <{header}>"
                elif not quoted and room == "probe" and not probe_may_include(header):
                    yield f"{name}:{number}: probe/ may not include <{header}>: libc and headers without a runtime only"
    for name in tree.files(*CPP, under="python/"):
        for number, _, header in includes(tree.text(name)):
            if re.search(r"(^|/)(probe|recorder|cli|simnode)/", header):
                yield f"{name}:{number}: python/ may not include {header}"


# Header, or its folder → the one file that includes it. Such a header costs seconds in each file that does.
HEAVY_HEADERS = {"CLI/": "libhostprobe/cli/command_line.cpp", "nlohmann/json": "libhostprobe/trace/job_file.cpp"}


@rule
def heavy_headers_are_in_one_file(tree):
    for name in tree.files(*CPP, ".inc", under="libhostprobe/"):
        for number, _, header in includes(tree.text(name)):
            for heavy, home in HEAVY_HEADERS.items():
                if header.startswith(heavy) and str(name) != home:
                    yield f"{name}:{number}: only {home} includes {header}, which is slow to compile"


HERE = "."  # the files that lie in a room itself
# Rooms with floors: sub-rooms from the lowest up. A file may know those below its own sub-room, and nobody above.
SUB_ROOMS = {
    "probe": ("arch", "runtime", "record", "stacks", "intercept", "hooks", "writer/file", "writer/counters", "writer/steps", "sources/perf",
              "sources", "control", "writer", "fixes/row", "fixes/placement", "fixes/waiting", "fixes/launching", "fixes/trial", "fixes", "process"),
    "import": ("input", "kineto", "ftrace", "tracer_csv", "flight_recorder", "nsight", "inspector", HERE),
    "analysis": ("measures", "ranks", "graph", "transfers", "step_time", "causes", "findings", HERE),
    "report": (HERE, "text", "json", "diff", "explain", "html"),
    "export": (HERE, "chrome", "perfetto", "csv", "stacks", "dump"),
    "live": (HERE, "top"),
    "recorder": (HERE, "bpf"),
    "simnode": ("node", "cuda/image", "cuda/model", "cuda/entries", "nccl", "nvml"),
}
# Sub-rooms that know fewer than all below them: nccl/ and nvml/ are libraries of their own beside the driver's.
KNOWS_ONLY = {"nccl": {"node"}, "nvml": {"node"}}


def sub_room_of(room, path):
    """Number of the sub-room that holds `path` (relative to the room); None where none does."""
    holding = [number for number, name in enumerate(SUB_ROOMS[room])
               if str(path).startswith(name + "/") or (name == HERE and len(Path(path).parts) == 1)]
    return holding[0] if holding else None


def place_in_room(tree, room, name, header):
    """Where in its room a quoted header lies; None: outside of it."""
    own_room = (tree.source / "libhostprobe" / room).resolve()
    for folder in (tree.source / name.parent, own_room.parent, own_room):
        place = (folder / header).resolve()
        if place.exists() and place.is_relative_to(own_room):
            return place.relative_to(own_room)
    return None


@rule
def sub_rooms_know_only_those_below(tree):
    for room, names in SUB_ROOMS.items():
        for name in tree.files(*CPP, ".inc", ".S", under=f"libhostprobe/{room}/"):
            own = sub_room_of(room, name.relative_to(f"libhostprobe/{room}"))
            if own is None:
                yield f"{name}: {room}/ is divided into {', '.join(names)}; this file is in none of them"
                continue
            for number, quoted, header in includes(tree.text(name)):
                place = place_in_room(tree, room, name, header) if quoted else None
                other = None if place is None else sub_room_of(room, place)
                if other is None or other == own:
                    continue
                if other > own or names[other] not in KNOWS_ONLY.get(names[own], names):
                    yield f"{name}:{number}: {names[own]}/ may not know {names[other]}/: {header}"


def calls_up(symbols, doors):
    """Breaches among `symbols`, sub-room → (defined, needed) as nm names them; `doors` is the text that declares what may be."""
    names = SUB_ROOMS["probe"]
    home = {symbol: names.index(room) for room in symbols for symbol in symbols[room][0]}
    for room, (_, needed) in symbols.items():
        for symbol in sorted(needed):
            if "::" not in symbol and not symbol.startswith("hp_"):
                continue  # libc's, which a hook stands in front of
            short = re.sub(r"\(.*", "", symbol).split("::")[-1]
            if home.get(symbol, -1) > names.index(room) and not re.search(rf"\b{re.escape(short)}\(", doors):
                yield f"{room}/ calls {symbol} in {names[home[symbol]]}/, which stands above it and is no door"


def probe_objects(tree, room):
    """What was compiled of a sub-room of the probe; a build folder may also hold objects of files that are gone."""
    folder = tree.build / "libhostprobe/probe/CMakeFiles/hostprobe_probe.dir" / room
    return sorted(path for path in folder.glob("*.o") if (tree.source / "libhostprobe/probe" / room / path.stem).exists())


@rule
def probe_calls_up_only_through_doors(tree):
    symbols = {}
    for room in SUB_ROOMS["probe"]:
        compiled = probe_objects(tree, room)
        lines = output_of("nm", "-C", *compiled).splitlines() if compiled else []
        found = [re.match(r"[0-9a-f ]{16} (\w) (.*)", line) for line in lines]
        symbols[room] = ({m[2] for m in found if m and m[1] not in "Uw"}, {m[2] for m in found if m and m[1] == "U"})
    if not any(defined for defined, _ in symbols.values()):
        yield f"{tree.build}: no objects of the probe"
    yield from calls_up(symbols, tree.text("libhostprobe/probe/record/doors.h"))


def unsorted(lines):
    """Variables that are written to and lie in no section that says what becomes of them in a forked child; no marks of aarch64's assembler ($d)."""
    for line in lines:
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and not fields[0].startswith("$") and re.fullmatch(r"\.(data|bss)(\.(?!rel\.ro|hp_start).*)?", fields[6]) and fields[3] != "SECTION":
            yield fields[0]


@rule
def probe_says_of_each_variable_what_children_have(tree):
    for room in SUB_ROOMS["probe"]:
        for compiled in probe_objects(tree, room):
            for variable in unsorted(output_of("nm", "-C", "-f", "sysv", compiled).splitlines()):
                yield f"{room}/{compiled.stem}: {variable} is neither HP_OF_PROCESS, HP_OF_RECORDING nor HP_KEPT_BY_CHILDREN"


MOST_UNITS = 32


@rule
def analysis_neither_prints_nor_exits(tree):
    forbidden = re.compile(r"\bstd::cout\b|\bstd::cerr\b|\bstdout\b|(?<![\w:>.])(?:std::)?(?:printf|puts|putchar|exit|_exit|abort)"
                           r"\s*\(|\bfmt::print\s*\(")
    for room in READING_ROOMS:
        for name in tree.files(*CPP, under=f"libhostprobe/{room}/"):
            for number, line in enumerate(code_only(tree.text(name)).splitlines(), 1):
                if forbidden.search(line):
                    yield f"{name}:{number}: {room}/ neither prints nor ends the process: {line.strip()}"


@rule
def rooms_stay_small(tree):
    """A unit is a source with its header."""
    units = {}
    for name in tree.files(*CPP, ".S", under="libhostprobe/"):
        units.setdefault(name.parent, set()).add(name.stem)
    for room, held in sorted(units.items()):
        if len(held) > MOST_UNITS:
            yield f"{room} has {len(held)} units; {MOST_UNITS} is the most"


# ---- how deep, how wide, which way round ----

MOST_INCLUDES = 12
# Files that put the rest together, and do nothing else; then those that are too wide until they are divided: that list only gets shorter.
COMPOSITION_ROOTS = {"libhostprobe/analysis/run_answer.cpp", "libhostprobe/probe/process/lifecycle.cpp", "libhostprobe/probe/sources/sources.cpp",
                     "libhostprobe/probe/writer/round.cpp", "libhostprobe/report/text/tables.cpp"}
TOO_WIDE = set()
MOST_DEEP = 12  # a header that includes none of ours is one deep
# Units of a folder that know each other in a circle, until these are cut; simnode/ stays as it is. No number may grow.
IN_CIRCLES = {
    "libhostprobe/simnode/node": 2, "libhostprobe/simnode/cuda/model": 10, "libhostprobe/simnode/nccl": 10}


def our_includes(tree):
    """Of each of our files the files of ours that it includes, each once."""
    names = [name for folder in ("libhostprobe/", "include/", "python/") for name in tree.files(*CPP, ".inc", under=folder)]
    known = {str(name) for name in names}
    found = {}
    for name in names:
        room = Path(*name.parts[:2])
        own = found.setdefault(str(name), [])
        for _, _, header in includes(tree.text(name)):
            places = (os.path.normpath(folder / header) for folder in (name.parent, Path("libhostprobe"), Path("include"), room))
            place = next((place for place in places if place in known), None)
            if place and place not in own:
                own.append(place)
    return found


@rule
def files_include_few_of_ours(tree):
    for name, own in our_includes(tree).items():
        if len(own) > MOST_INCLUDES and name not in COMPOSITION_ROOTS | TOO_WIDE:
            yield f"{name} includes {len(own)} files of ours; {MOST_INCLUDES} is the most"
        if len(own) <= MOST_INCLUDES and name in TOO_WIDE:
            yield f"{name} is no longer too wide; take it off the list"


def longest_chain(name, files, known):
    """The longest way of includes from a file down, itself first; `known` remembers those of others."""
    if name not in known:
        known[name] = [name]  # while it is looked for: a circle ends here
        known[name] = [name] + max((longest_chain(one, files, known) for one in files[name]), key=len, default=[])
    return known[name]


@rule
def headers_are_shallow(tree):
    files, known = our_includes(tree), {}
    for name in files:
        chain = longest_chain(name, files, known)
        if name.endswith(".h") and len(chain) > MOST_DEEP:
            yield f"{name} is {len(chain)} headers deep; {MOST_DEEP} is the most: {' > '.join(chain[1:])}"


def reached(graph, start):
    seen, left = set(), [start]
    while left:
        for one in graph[left.pop()] - seen:
            seen.add(one)
            left.append(one)
    return seen


@rule
def units_know_each_other_one_way(tree):
    """Of two units of a folder one is above the other, so that each can be read, tested and moved without what stands on it."""
    graph = {}
    for name, own in our_includes(tree).items():
        unit = os.path.splitext(name)[0]
        graph.setdefault(unit, set()).update({os.path.splitext(one)[0] for one in own} - {unit})
    below = {unit: reached(graph, unit) for unit in graph}
    circles = {}
    for unit in sorted(graph):
        if unit in below[unit]:
            circles.setdefault(os.path.dirname(unit), []).append(os.path.basename(unit))
    for folder in sorted(set(circles) | {folder for folder in IN_CIRCLES if (tree.source / folder).is_dir()}):
        held, most = circles.get(folder, []), IN_CIRCLES.get(folder, 0)
        if len(held) > most:
            yield f"{folder}: {len(held)} units know each other in a circle, {most} may: {', '.join(held)}"
        elif len(held) < most:
            yield f"{folder}: only {len(held)} units are left in a circle; IN_CIRCLES still says {most}"


@rule
def format_has_no_loops(tree):
    for name in tree.files(*CPP, under="libhostprobe/format/"):
        for number, line in enumerate(code_only(tree.text(name)).splitlines(), 1):
            if re.search(r"\b(for|while|do|goto)\b", line):
                yield f"{name}:{number}: format/ is bytes, it has no behaviour: {line.strip()}"


@rule
def shared_rooms_are_headers_without_memory_of_their_own(tree):
    for room in SHARED:
        for name in tree.files(under=f"libhostprobe/{room}/"):
            if name.suffix != ".h":
                yield f"{name}: {room}/ is headers only: both sides compile them for themselves"
                continue
            for number, line in enumerate(code_only(tree.text(name)).splitlines(), 1):
                if re.search(r"\bstd::(?!size_t|u?int\d+_t)|\b(new|delete|throw|malloc|static thread_local)\b", line):
                    yield f"{name}:{number}: {room}/ takes memory from the caller and needs no runtime library: {line.strip()}"


# ---- what a function is ----

@rule
def only_a_row_says_what_a_hook_is(tree):
    for name, number, text in hook_names.literals(tree, CPP):
        yield f'{name}:{number}: "{text}" names a hook; what it is its row says (format/hook_role.h)'


# ---- what is injected ----

@rule
def probe_needs_only_libc(tree):
    dynamic = output_of("readelf", "-dW", tree.probe())
    for library in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        if not re.fullmatch(r"libc\.so\.6|ld-linux-[\w-]+\.so\.\d", library):
            yield f"libhostprobe.so needs {library}; everything but libc is opened at run time or static and hidden"
    if "TEXTREL" in dynamic:
        yield "libhostprobe.so has text relocations"
    stack = re.search(r"GNU_STACK.*", output_of("readelf", "-lW", tree.probe()))
    if not stack or "E" in stack.group().split()[-2]:
        yield f"libhostprobe.so asks for an executable stack: {stack and stack.group()}"


# docs/security.md promises it. The real functions behind hooks are looked up, not linked.
CONNECTIONS = {"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "getaddrinfo", "gethostbyname", "system", "popen",
               "execve", "execv", "execvp", "posix_spawn", "posix_spawnp", "fork", "vfork"}


@rule
def probe_opens_no_connection_and_starts_no_program(tree):
    for line in output_of("nm", "-D", "--undefined-only", tree.probe()).splitlines():
        name = line.split()[-1].split("@")[0]
        if name in CONNECTIONS:
            yield f"libhostprobe.so is linked to {name}; docs/security.md says that it opens no connection and starts no program"


# Exported, but not hooks with a row: they only jump on.
EXTRA_EXPORTS = {"dlsym", "InitializeInjectionNvtx2"}  # the second: NVTX asks for it by that name


def hook_row_sizes():
    """Bytes of a row and of the name at its beginning, from the header that declares it."""
    text = (Path(__file__).resolve().parents[2] / "libhostprobe/format/file.h").read_text()
    return (int(re.search(r"sizeof\(HookRow\) == (\d+)", text).group(1)),
            int(re.search(r"struct HookRow \{\s*char name\[(\d+)\]", text).group(1)))


def hook_table(path):
    """Names of the rows in the ELF section hp_hooks."""
    found = re.search(r"\shp_hooks\s+\w+\s+\w+\s+(\w+)\s+(\w+)", output_of("readelf", "-SW", path))
    if not found:
        raise RuntimeError(f"{path} has no section hp_hooks")
    offset, size = (int(word, 16) for word in found.groups())
    row_bytes, name_bytes = hook_row_sizes()
    if size % row_bytes:
        raise RuntimeError(f"hp_hooks has {size} bytes, which is no whole number of rows of {row_bytes}: padded?")
    rows = path.read_bytes()[offset:offset + size]
    return [rows[at:at + name_bytes].split(b"\0")[0].decode("ascii", "replace") for at in range(0, size, row_bytes)]


def exports(path):
    lines = output_of("nm", "-D", "--defined-only", path).splitlines()
    symbols = [line.split() for line in lines]
    return {words[-1].split("@")[0] for words in symbols if words[-2] != "A"}


# Rows that name what another one does: futex is reached through syscall, hostprobe_step through hostprobe_calls, and a queue is
# sampled by launches.
ROWS_OF_OTHER_HOOKS = {"futex", "hostprobe_step", "hostprobe_region", "hostprobe_mark", "hostprobe_queue_sample",
                       "hostprobe_gpu_time", "hostprobe_gpu_end", "hostprobe_gpu_clock", "hostprobe_gc", "hostprobe_optimizer_step", "nvtx_range", "nvtx_mark"}

# Hooked through slots, because the oldest supported glibc lacks them: docs/decisions/0010
NEWER = {"epoll_pwait2"}
OLDEST_GLIBC = (2, 34)

ROUTED = r"(cu|nccl)[A-Z]"  # functions of the driver and of NCCL: docs/decisions/0004


@rule
def probe_has_no_dynamic_initialisers(tree):
    for line in output_of("nm", tree.probe()).splitlines():
        if "_GLOBAL__sub_I_" in line:
            yield f"{line.split('_GLOBAL__sub_I_')[1]} initialises at run time: constinit, with braces"


@rule
def probe_exports_the_hook_table_and_no_driver_function(tree):
    table, exported = hook_table(tree.probe()), exports(tree.probe())
    if len(table) != len(set(table)):
        yield f"the hook table names a function twice: {sorted(n for n in table if table.count(n) > 1)}"
    if not any(name.startswith("cuLaunchKernel") for name in table) or "sem_clockwait" not in table:
        yield f"the hook table lacks cuLaunchKernel or sem_clockwait; it reads {table}"
    for name in sorted(exported):
        if re.match(ROUTED, name):
            yield f"{name} is exported: a program that has data of that name would write into our code"
        elif name not in table and name not in EXTRA_EXPORTS and not name.startswith("hostprobe_"):
            yield f"{name} is exported and neither a hook nor hostprobe_*"
    for name in table:
        if not re.match(ROUTED, name) and name not in exported | ROWS_OF_OTHER_HOOKS | NEWER:
            yield f"{name} is in the hook table and is not exported"


def oldest_versions(libc):
    """Of each name that libc exports, the version under which it has had it longest."""
    oldest = {}
    for name, version in re.findall(r"\s(\w+)@+GLIBC_([\d.]+)$", output_of("nm", "-D", "--defined-only", libc), flags=re.M):
        number = tuple(int(part) for part in version.split("."))
        oldest[name] = min(number, oldest.get(name, number))
    return oldest


@rule
def probe_exports_nothing_that_the_oldest_glibc_lacks(tree):
    oldest = oldest_versions(output_of("gcc", "-print-file-name=libc.so.6").strip())
    for name in sorted(exports(tree.probe())):
        if oldest.get(name, OLDEST_GLIBC) > OLDEST_GLIBC:
            yield f"{name} is exported, and glibc has had it only since {oldest[name]}: it would look present in older ones"
    for name in sorted(NEWER):
        if oldest.get(name, (9,)) <= OLDEST_GLIBC:
            yield f"{name} needs no slots: every glibc we support has it"


# ---- pages, examples, scripts ----

@rule
def options_page_equals_the_list(tree):
    page, printed = tree.text("docs/reference/options.md"), output_of(tree.command(), "options", "--markdown")
    table = "".join(line for line in page.splitlines(keepends=True) if line.startswith("|"))
    if table != printed:
        yield "the table of docs/reference/options.md is not what `hostprobe options --markdown` prints; put that in"
    for name in re.findall(r"^HP_[A-Z]+\((\w+),", tree.text("include/hostprobe/options.def"), flags=re.M):
        if f"HOSTPROBE_{name.upper()}" not in page:
            yield f"docs/reference/options.md lacks HOSTPROBE_{name.upper()}"


def example_programs(tree):
    built = [p for p in sorted((tree.build / "examples").iterdir())
             if p.is_file() and os.access(p, os.X_OK) and p.read_bytes()[:4] == b"\x7fELF"]
    return built


@rule
def examples_show_help(tree):
    programs = example_programs(tree) + [tree.source / n for n in tree.files(".sh", under="examples/")]
    if not any(p.name == "train_loop" for p in programs):
        yield "train_loop is not built"
    for program in programs:
        text = output_of(program, "--help")
        for word in ("usage", "example"):
            if word not in text.lower():
                yield f"{program.name} --help does not show {word}"


@rule
def examples_run_small(tree):
    for program in example_programs(tree):
        with tempfile.TemporaryDirectory() as folder:
            output_of(tree.command(), "run", "-o", f"{folder}/run", "--simgpu", "8", "--", program)
            if "Launches " not in output_of(tree.command(), "report", f"{folder}/run", "launches"):
                yield f"the report on {program.name} with its default sizes says nothing about launches"


@rule
def files_stay_short(tree):
    for name in tree.files(*CPP, ".py", ".sh"):
        most = 500 if str(name).startswith("libhostprobe/probe/") else 800
        lines = tree.text(name).splitlines()
        if len(lines) > most:
            yield f"{name} has {len(lines)} lines; {most} is the most"
        if name.suffix in (".h", ".cpp"):
            yield from long_functions(name, lines)


def long_functions(name, lines, most=45):
    """Relies on .clang-format: the body of a function ends with the first brace as far left as its first line. A flat
    switch is a table: a case counts for one line, whatever it does in three."""
    start = None
    for number, line in enumerate(lines, 1):
        opens = re.match(r"( *)\S.*\)[^;(=]*\{$", line) and not re.match(r" *(namespace|struct|class|enum|union)\b", line)
        if start is None and opens and len(line) - len(line.lstrip()) <= 2:
            start, closing = number, " " * (len(line) - len(line.lstrip())) + "}"
        elif start is not None and line.startswith(closing):
            cases = sum(bool(re.match(r" *case .*:$", body)) for body in lines[start:number])
            if number - start + 1 - 2 * cases > most:
                yield f"{name}:{start}: this function has {number - start + 1} lines; {most} is the most"
            start = None


@rule
def every_source_file_is_built(tree):
    """A file that fell out of its CMakeLists.txt is a test that silently passes. A room that takes its folder has no list."""
    lists = {name.parent: tree.text(name) for name in tree.files(".txt") if name.name == "CMakeLists.txt"}
    for script in tree.files(".py"):  # bench/gpu builds its own, on machines that have a GPU
        lists.setdefault(script.parent, "")
        lists[script.parent] += tree.text(script)
    for name in tree.files(".cpp", ".c", ".S"):
        by_stem = [lists[folder] for folder in name.parents if folder in lists]
        if (not any(re.search(rf"hostprobe_room\(|file\(GLOB_RECURSE|\b{re.escape(name.stem)}\b", text) for text in by_stem)
                and not any(f"/{name.parent.name}/{name.name}" in text for text in lists.values())):
            yield f"{name} is named by no CMakeLists.txt"


# Character classes keep these patterns from matching themselves.
FORBIDDEN_TEXT = {
    "a path of one machine": r"(?<![\w.])[/](?:work|root)/|[/]home/\w+/|[/]tmp/build-",
    "a host of a package registry": r"[p]ypi\.org|[p]ythonhosted|[d]eb\.debian\.org|[d]ownload\.pytorch|[p]ypi\.nvidia",
    "a word about how it was written": r"(?i)\b[c]o-authored-by\b|\b[g]enerated with\b|\b[a]s (?:requested|instructed)\b|"
                                       r"\b[t]his session\b|\b[i]ssue #?\d+\b",
}


@rule
def no_machine_paths_hosts_or_authoring_words(tree):
    for name in tree.files():
        if b"\0" in (tree.source / name).read_bytes()[:4096]:
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for what, pattern in FORBIDDEN_TEXT.items():
                if re.search(pattern, line):
                    yield f"{name}:{number}: {what}: {line.strip()}"


def shell_scripts(tree):
    return [n for n in tree.files() if re.match(r"#!.*\b(?:ba)?sh\b", tree.text(n).partition("\n")[0])]


@rule
def shell_scripts_parse(tree):
    for name in shell_scripts(tree):
        done = subprocess.run(["bash", "-n", tree.source / name], capture_output=True, text=True)
        if done.returncode:
            yield f"{name}: {done.stderr.strip()}"
        if not os.access(tree.source / name, os.X_OK):
            yield f"{name} starts with #! and cannot be executed"


@rule
def python_files_parse(tree):
    for name in tree.files(".py"):
        try:
            compile(tree.text(name), str(name), "exec")
        except SyntaxError as error:
            yield f"{name}:{error.lineno}: {error.msg}"


@rule
def cpp_files_are_formatted(tree):
    if not shutil.which("clang-format-14"):
        sys.exit(77)  # skipped, as each version formats in its own way
    done = subprocess.run(["clang-format-14", "--dry-run", "-Werror", *tree.files(".h", ".cpp", ".c")], cwd=tree.source, capture_output=True, text=True)
    for name in sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", done.stderr, flags=re.M))):
        yield f"{name} is not formatted: clang-format-14 -i {name}"


def heading_anchors(text):
    headings = re.findall(r"^#+ +(.+?) *$", text, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@rule
def links_in_docs_resolve(tree):
    for name in tree.files(".md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", tree.text(name), flags=re.S)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            page = (tree.source / name.parent / path) if path else tree.source / name
            if not page.exists():
                yield f"{name}: the link to {target} leads nowhere"
            elif anchor and anchor not in heading_anchors(page.read_text()):
                yield f"{name}: {path or name} has no heading for #{anchor}"


@rule
def pages_that_are_named_exist(tree):
    pages = {name.name for name in tree.files(".md")}
    paths = {str(name) for name in tree.files(".md")}
    for name in tree.files():
        if str(name).startswith("tests/house/"):  # these name pages that exist nowhere
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for path, page in re.findall(r"([\w/-]*?([\w-]+\.md))\b", line):
                if page not in pages or (path.startswith("docs/") and path not in paths):
                    yield f"{name}:{number}: names {path}, which is not in the repository"


# ---- words ----

# One word per idea. What is left over may only become less: with a folder stands how many lines still have the word.
# Character classes keep the patterns from matching themselves.
VOCABULARY = [
    (r"(?i)\b[s]tand-?ins?\b|\b[m]ock(s|ed)?\b", "simulated (node, driver, NCCL)",
     {"libhostprobe/answer/": 1, "tests/run/": 1}),  # a value of JSON
    (r"(?i)\b[f]old(s|ed|ing)?\b|\b[f]old_\w+", "aggregate, counter", {}),
    (r"(?i)\b[s]ums\b|\b[s]ummed\b", "counter, aggregated",
     {"libhostprobe/report/": 1, "libhostprobe/export/": 1, "tests/guests/": 9, "tests/unit/": 3}),  # keys of JSON, and PostgreSQL's
    (r"(?i)\b(per|calling|wait) [p]laces?\b", "call site", {}),
]
WORDS_OF_OTHERS = ("tests/house/", "tests/golden/", "tests/fuzz/corpus", "tests/real_drivers/")


@rule
def words_are_those_of_the_design(tree):
    for pattern, word, left in VOCABULARY:
        found = {}
        for name in tree.files(*CPP, ".py", ".sh", ".md", ".txt", ".cmake", ".S", ".inc", ".go", ".java", ".js"):
            if str(name).startswith(WORDS_OF_OTHERS):
                continue
            folder = next((folder for folder in left if str(name).startswith(folder)), "")
            lines = [(name, number, line.strip()) for number, line in enumerate(tree.text(name).splitlines(), 1)
                     if re.search(pattern, line)]
            found.setdefault(folder, []).extend(lines)
        for folder, lines in found.items():
            if len(lines) > left.get(folder, 0):
                yield from (f"{name}:{number}: the word is {word}: {line}" for name, number, line in lines[-3:])
                yield f"{folder or 'elsewhere'}: {len(lines)} such lines, {left.get(folder, 0)} at most"


@rule
def files_are_named_by_what_they_hold(tree):
    forbidden = {"util", "utils", "common", "misc", "helper", "helpers", "manager", "handler", "fold", "tell", "keep", "place", "meet"}
    older = {"tests/programs/signals_handler_waits.cpp"}
    for name in tree.files(*CPP, ".py", ".sh", ".S"):
        if forbidden & set(name.stem.split("_")) and str(name) not in older:
            yield f"{name}: {sorted(forbidden & set(name.stem.split('_')))} is no name of a thing"


def head_of(text):
    """The comment that a file begins with."""
    found = re.match(r"(?:#![^\n]*\n)?((?:(?://|#(?!include|pragma|define|if))[^\n]*\n)+|/\*.*?\*/|\"{3}.*?\"{3})", text, flags=re.S)
    return found.group(1) if found else ""


@rule
def heads_do_not_say_who_calls(tree):
    """That changes with every cut, and the includes say it."""
    for name in tree.files(*CPP, ".py", ".S"):
        if str(name).startswith("tests/house/"):
            continue
        found = re.search(r"(?<!may be )\b(?:used|called|asked) (?:only )?(?:by|where|from)\b", head_of(tree.text(name)), flags=re.I)
        if found:
            yield f"{name}: its head says who calls: {found.group()} …"


# The last commit before the rule.
SUBJECTS_SINCE = "d8d41bbbdb0b1415200c44712db0123efb6402b3"


@rule
def commit_subjects_are_short(tree):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", tree.source, "log", "--format=%h %s", f"{SUBJECTS_SINCE}..HEAD"],
                            capture_output=True, text=True)
    if listed.returncode == 0:  # else no checkout, or one without that commit
        yield from subjects_too_long(listed.stdout.splitlines())


def subjects_too_long(lines, most=72):
    for line in lines:
        commit, _, subject = line.partition(" ")
        if len(subject) >= most and not subject.startswith("Merge "):
            yield f"{commit}: {len(subject)} characters, {most - 1} are the most: {subject}"


@rule
def licence_is_whole(tree):
    text = tree.text("LICENSE")
    for words in ("Apache License", "Version 2.0, January 2004", "END OF TERMS AND CONDITIONS"):
        if words not in text:
            yield f"LICENSE lacks: {words}"


@rule
def changelog_names_the_version(tree):
    version = re.search(r"project\(hostprobe VERSION ([\d.]+)", tree.text("CMakeLists.txt")).group(1)
    if f"## {version}" not in tree.text("CHANGELOG.md"):
        yield f"CHANGELOG.md has no section for {version}"


@rule
def scripts_explain_themselves(tree):
    for name in ("setup.sh", "tests/run.sh", "examples/demo.sh"):
        if not output_of(tree.source / name, "--help").startswith("usage: "):
            yield f"{name} --help does not start with usage"
    for name in ("setup.sh", "tests/run.sh"):
        output_of(tree.source / name, "--no-such-option", status=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rule", nargs="?", choices=sorted(RULES))
    parser.add_argument("--source", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--build")
    parser.add_argument("--registered", help="the rules that ctest knows, ;-separated: must be all of them")
    args = parser.parse_args()
    if args.registered is not None:
        breaches = sorted(f"{name} is not a test in both lists" for name in set(args.registered.split(";")) ^ set(RULES))
    else:
        breaches = list(RULES[args.rule](Tree(args.source, args.build)))
    for breach in breaches:
        print(breach)
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
