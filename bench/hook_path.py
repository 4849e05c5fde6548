#!/usr/bin/env python3
"""Instructions that a hooked call adds, counted by callgrind, and whether they have become more than the kept ones.

Times move with the neighbours of a machine; instructions do not, so they can be a test. <build>/bench/hook_path makes 16
calls of each kind, bare and hooked, 24 times in turns; the least of the 24 counts, because now and then a call takes a new
chunk. Each way is a process:

  off        HOSTPROBE_OFF=1
  recording  every call becomes a record, or is counted where it did not wait

and has two figures per call: ours = instructions of libhostprobe.so alone · added = all instructions of the process in a
hooked call less those in a bare one, which also holds what the hook calls in libc. Instructions of the kernel are in
neither, and a call that the hook makes in the place of the program's is the program's.

  --check    compare with the kept figures; exit 1 where one has grown by more than 5 %, 77 where it cannot be compared
  --keep     write the kept figures anew
"""

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import clean_environment

WAYS = ("off", "recording")
FIGURES = ("ours", "added")
MOST_GROWTH = 0.05
CANNOT_COMPARE = 77  # ctest's SKIP_RETURN_CODE
KEPT = Path(__file__).with_suffix(".expected")
# Thresholds are set so far that no call takes another path because callgrind is slow: every wait is recorded, no wait
# carries a stack, no ready descriptor was waited for, a progress thread's rounds are as long as a setting allows. No launch is
# sampled or timed: what that costs is bounded by its own pace.
SETTINGS = {"HOSTPROBE_TARGET": "all", "HOSTPROBE_MODE": "trace", "HOSTPROBE_WAIT_US": "0", "HOSTPROBE_STACK_US": "0",
            "HOSTPROBE_IO_US": "1000000000", "HOSTPROBE_STALL_US": "100", "HOSTPROBE_GPU": "off"}


def tools_of(library):
    """What the figures depend on besides our sources."""
    section = subprocess.run(["readelf", "-p", ".comment", library], capture_output=True, text=True, check=True).stdout
    compilers = sorted(set(re.findall(r"\]\s+(\S.*\S)", section)))
    return {"compiler": ", ".join(compilers), "libc": " ".join(platform.libc_ver())}


def count_own(text, library):
    """Instructions of one of callgrind's files: (all, those in `library`)."""
    own, inside, skip = 0, False, False
    for line in text.splitlines():
        if line.startswith("ob="):
            inside = Path(line[3:]).name == library.name
        elif line.startswith("calls="):
            skip = True  # the next line is what the called function cost: that is counted where it stands
        elif re.match(r"[+*\-\d]", line):
            own += int(line.split()[1]) if inside and not skip else 0
            skip = False
    return int(re.search(r"^summary: (\d+)", text, flags=re.M).group(1)), own


def run_callgrind(way, options, folder):
    settings = SETTINGS | {"LD_PRELOAD": str(options.library), "HOSTPROBE_OUT": f"{folder}/run"}
    if way == "off":
        settings["HOSTPROBE_OFF"] = "1"
    clean = clean_environment()
    # env sets the preload, so that valgrind itself is not hooked.
    command = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--fair-sched=try", "--compress-strings=no",
               "--compress-pos=no", f"--callgrind-out-file={folder}/out", "--toggle-collect=measured_calls",
               "--zero-before=measured_calls", "--dump-after=measured_calls",
               "env", *(f"{name}={value}" for name, value in settings.items()), options.build / "bench/hook_path",
               *options.shapes]
    done = subprocess.run([str(word) for word in command], env=clean, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"hook_path.py: bench/hook_path ended with {done.returncode}:\n{done.stderr}")
    *lines, last = done.stdout.splitlines()
    wanted = "recording 1 lost 0" if way == "recording" else "recording 0 lost 0"
    if last != wanted:
        sys.exit(f"hook_path.py: the process says '{last}' instead of '{wanted}': its figures are those of something else")
    return lines


def measure_way(way, options):
    """{shape: {figure: instructions per call}}"""
    with tempfile.TemporaryDirectory(prefix="hook-path-") as folder:
        least = {}
        for number, line in enumerate(run_callgrind(way, options, folder), 1):
            shape, function, calls = line.split()
            counted = count_own(Path(folder, f"out.{number}").read_text(), options.library)
            for figure, instructions in zip(("all", "ours"), counted):
                key = shape, function, figure
                least[key] = min(least.get(key, instructions / int(calls)), instructions / int(calls))
        return {shape: {"ours": round(least[shape, "hooked", "ours"], 2),
                        "added": round(least[shape, "hooked", "all"] - least[shape, "bare", "all"], 2)}
                for shape, function, figure in least if (function, figure) == ("hooked", "all")}


def measure(options):
    ways = {way: measure_way(way, options) for way in WAYS}
    return {shape: {way: ways[way][shape] for way in WAYS} for shape in ways["off"]}


def table(found):
    yield "| call | off: ours | off: added | recording: ours | recording: added |"
    yield "|" + "---|" * 5
    for shape, ways in found.items():
        figures = (f"{ways[way][figure]:g}" for way in WAYS for figure in FIGURES)
        yield "| " + " | ".join((shape.replace("_", " "), *figures)) + " |"


def growth(kept, found):
    """One line for each figure that has grown too much, or that is measured and not kept."""
    for shape, ways in found.items():
        for way in WAYS:
            for figure in FIGURES:
                new, old = ways[way][figure], kept.get(shape, {}).get(way, {}).get(figure)
                if old is None:
                    yield f"{shape}, {way}, {figure}: {new:g} instructions a call, and none are kept"
                elif new - old > abs(old) * MOST_GROWTH:
                    percent = f" ({100 * (new - old) / abs(old):.1f} %)" if old else ""
                    yield (f"{shape}, {way}, {figure}: {new:g} instructions a call, {new - old:g}{percent} more than "
                           f"the {old:g} that are kept")


def cannot_compare(words):
    print(f"hook_path.py: skipped: {words}")
    sys.exit(CANNOT_COMPARE)


def read_kept(options):
    kept = json.loads(options.expected.read_text())
    tools = tools_of(options.library)
    for what, version in kept["tools"].items():
        if tools[what] != version:
            cannot_compare(f"the kept figures are those of {what} '{version}', this build has '{tools[what]}'")
    return kept["instructions"]


def write_kept(options, found):
    rows = ",\n".join(f"    {json.dumps(shape)}: {json.dumps(ways)}" for shape, ways in found.items())
    tools = json.dumps(tools_of(options.library))
    options.expected.write_text(f'{{\n  "tools": {tools},\n  "instructions": {{\n{rows}\n  }}\n}}\n')


def check(options):
    kept = read_kept(options)
    found = measure(options)
    print("\n".join(table(found)))
    lines = list(growth(kept, found))
    lines += [f"{shape} is kept and was not measured" for shape in kept if shape not in found and not options.shapes]
    if lines:
        print("\n".join(["", f"A hook has grown by more than {MOST_GROWTH:.0%}:", *lines, "",
                         "If that is meant, keep the new figures: bench/hook_path.py --keep --build BUILD-FOLDER"]))
        sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help="only these calls, named as in the kept file")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--library", type=Path, help="another libhostprobe.so")
    parser.add_argument("--expected", type=Path, default=KEPT, help="the kept figures (default: beside this file)")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="compare with the kept figures")
    action.add_argument("--keep", action="store_true", help="write the kept figures anew")
    options = parser.parse_args()
    options.build = options.build.resolve()
    options.library = (options.library or options.build / "lib/libhostprobe.so").resolve()
    if options.keep and options.shapes:
        parser.error("--keep keeps all shapes")
    if shutil.which("valgrind") is None:
        cannot_compare("valgrind is not installed (apt-get install valgrind, or ./setup.sh fast)")
    if options.check:
        return check(options)
    found = measure(options)
    print("\n".join(table(found)))
    if options.keep:
        write_kept(options, found)


if __name__ == "__main__":
    main()
