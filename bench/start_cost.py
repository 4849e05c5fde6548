#!/usr/bin/env python3
"""What libhostprobe.so adds to the start and end of a process that it does not record.

A job starts hundreds of short programs that inherit LD_PRELOAD (compilers, shells, trackers), so this is paid by all of
them. One round starts PROGRAM once in every way, in an order that changes from round to round; each way is compared with
the bare start of its own round, so what disturbs a whole round falls out.

  bare     without the probe
  again    without the probe, a second time: what this method finds where there is nothing to find
  empty    with an empty library in its place: the least that any preload costs (left out where there is no cc)
  off      HOSTPROBE_OFF=1
  never    HOSTPROBE_TARGET names another program: decided once, for good
  auto     the default: nothing that makes it a target so far, looked at again when it makes threads or waits

Wall time is from before posix_spawn to after wait4; CPU time is what wait4 says of the child, in whole microseconds. The
95 % interval is that of the median (order statistics, no assumption on the shape). Instructions are counted by valgrind
from the first one of the dynamic loader on, user space only.

examples:
  bench/start_cost.py --build build
  bench/start_cost.py --build build --rounds 200 --program /usr/bin/python3 -- -c pass
  bench/start_cost.py --library OTHER/libhostprobe.so --ways again,auto
"""

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WAYS = ("again", "empty", "off", "never", "auto")
GOAL_US = 30


def environment_of(way, library, folder):
    clean = {name: value for name, value in os.environ.items()
             if name not in ("LD_PRELOAD", "RANK", "LOCAL_RANK", "WORLD_SIZE")
             and not name.startswith(("HOSTPROBE_", "SIMNODE_"))}
    if way in ("bare", "again"):
        return clean
    if way == "empty":
        return clean | {"LD_PRELOAD": str(empty_library(folder))}
    clean |= {"LD_PRELOAD": str(library), "HOSTPROBE_OUT": str(folder / "run")}
    if way == "off":
        clean["HOSTPROBE_OFF"] = "1"
    if way == "never":
        clean["HOSTPROBE_TARGET"] = "no-such-program"
    return clean


def empty_library(folder):
    (folder / "empty.c").write_text("")
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", folder / "empty.so", folder / "empty.c"], check=True)
    return folder / "empty.so"


def start_once(command, environment):
    """Wall and CPU time of one process in microseconds, and its page faults."""
    begin = time.perf_counter_ns()
    pid = os.posix_spawn(command[0], command, environment)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter_ns() - begin
    if status != 0:
        sys.exit(f"start_cost.py: {' '.join(command)} ended with status {status}")
    return wall / 1000, (usage.ru_utime + usage.ru_stime) * 1e6, usage.ru_minflt


def measure(command, environments, rounds):
    """{way: [(wall, CPU, page faults), one of each round]}"""
    ways = list(environments)
    found = {way: [] for way in ways}
    for number in range(rounds + 20):
        turn = number % len(ways)
        order = ways[turn:] + ways[:turn]
        if number // len(ways) % 2:
            order.reverse()
        for way in order:
            times = start_once(command, environments[way])
            if number >= 20:  # the first ones fill caches
                found[way].append(times)
    return found


def summary(values):
    """Median with its 95 % interval, quartiles and extremes."""
    values = sorted(values)
    count = len(values)
    spread = 0.98 * math.sqrt(count)
    low = max(0, math.floor(count / 2 - spread) - 1)
    high = min(count - 1, math.ceil(count / 2 + spread))
    quarters = statistics.quantiles(values, n=4, method="inclusive")
    return {"median": statistics.median(values), "low": values[low], "high": values[high], "min": values[0],
            "q1": quarters[0], "q3": quarters[2], "max": values[-1]}


def instructions_of(command, environment):
    """Of one start under callgrind, or None where there is no valgrind."""
    if shutil.which("valgrind") is None:
        return None
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
                          env=environment, capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if found else None


def analyse(found, instructions):
    bare = found["bare"]
    answer = {"bare": {"wall_us": summary([times[0] for times in bare]), "cpu_us": summary([times[1] for times in bare]),
                       "faults": statistics.median(times[2] for times in bare), "instructions": instructions["bare"]}}
    for way, times in found.items():
        if way == "bare":
            continue
        added = None if None in (instructions[way], instructions["bare"]) else instructions[way] - instructions["bare"]
        answer[way] = {"wall_us": summary([there[0] - here[0] for there, here in zip(times, bare)]),
                       "cpu_us": summary([there[1] - here[1] for there, here in zip(times, bare)]),
                       "faults": statistics.median(there[2] - here[2] for there, here in zip(times, bare)),
                       "instructions": added}
    return answer


def cells(kind, values, digits):
    return [kind, f"{values['median']:.{digits}f}", f"{values['low']:.{digits}f}–{values['high']:.{digits}f}",
            *(f"{values[key]:.{digits}f}" for key in ("min", "q1", "q3", "max"))]


def report(answer, command, rounds):
    yield f"{' '.join(command)}: {rounds} rounds, microseconds; every line but the first two is a difference to bare"
    yield ""
    yield "| way | time | median | 95 % interval | min | quartile 1 | quartile 3 | max | page faults | instructions |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for way, values in answer.items():
        count = values["instructions"]
        count = "–" if count is None else f"{count:,}".replace(",", " ")
        yield "| " + " | ".join([way, *cells("wall", values["wall_us"], 1), f"{values['faults']:.0f}", count]) + " |"
        yield "| " + " | ".join([way, *cells("CPU", values["cpu_us"], 0), "", ""]) + " |"
    yield ""
    if "auto" in answer:
        wall = answer["auto"]["wall_us"]
        verdict = "met" if wall["high"] <= GOAL_US else "not met" if wall["low"] > GOAL_US else "within the interval"
        yield (f"goal: at most {GOAL_US} µs more wall time with the default settings: {verdict} "
               f"({wall['low']:.1f}–{wall['high']:.1f} µs)")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder (default: build)")
    parser.add_argument("--library", type=Path, help="the probe (default: <build>/lib/libhostprobe.so)")
    parser.add_argument("--program", default="/bin/true", help="what is started (default: /bin/true)")
    parser.add_argument("--rounds", type=int, default=1000, help="rounds, 20 or more (default: 1000)")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"of {','.join(WAYS)} (default: all)")
    parser.add_argument("--cpu", type=int, help="pin everything to this CPU (default: the last one that is allowed)")
    parser.add_argument("--no-instructions", action="store_true", help="without valgrind")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of the table")
    parser.add_argument("arguments", nargs="*", help="of the program, after --")
    options = parser.parse_args()
    options.library = (options.library or options.build / "lib/libhostprobe.so").resolve()
    if not options.library.exists():
        parser.error(f"no {options.library}: build it, or name it by --library")
    if options.rounds < 20:
        parser.error("--rounds must be at least 20: an interval of fewer says nothing")
    options.ways = options.ways.split(",")
    if unknown := set(options.ways) - set(WAYS):
        parser.error(f"--ways: no {', '.join(sorted(unknown))} among {', '.join(WAYS)}")
    if shutil.which("cc") is None and "empty" in options.ways:
        options.ways.remove("empty")
    options.program = shutil.which(options.program) or parser.error(f"no program {options.program}")
    return options


def main():
    options = parse()
    # One CPU: a start that is moved to another one costs more than what is looked for.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if options.cpu is None else options.cpu})
    command = [options.program, *options.arguments]
    with tempfile.TemporaryDirectory(prefix="start-cost-") as name:
        environments = {way: environment_of(way, options.library, Path(name)) for way in ("bare", *options.ways)}
        found = measure(command, environments, options.rounds)
        instructions = {way: None if options.no_instructions else instructions_of(command, environment)
                        for way, environment in environments.items()}
    answer = analyse(found, instructions)
    if options.json:
        print(json.dumps({"command": command, "rounds": options.rounds, "ways": answer}))
    else:
        print("\n".join(report(answer, command, options.rounds)))


if __name__ == "__main__":
    main()
