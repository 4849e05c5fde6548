#!/usr/bin/env python3
"""How much of the time that a job's threads are blocked hostprobe explains, thread by thread.

Runs a command under `hostprobe run`, looks at every thread of the job some 20 times a second through /proc, and sets
what it finds beside the report:

  blocked    wall − CPU − ready: the thread had nothing to run. Ready (schedstat) is waiting for a CPU.
  coverage   (hooked wait + ready) / (wall − CPU). A hooked wait lasts until the thread runs again, so it holds the time
             ready after a wake too, which is counted twice then: more than 100 % is possible, and a sum over threads
             can hide that one of them lacks something. Nothing is cut off in either direction.
  sampled    of the samples that found the thread blocked, the share that lies inside a recorded wait. Never above 100 %.

Times come from the report where it has them and from the samples otherwise. What is missing in a thread is told by the
blocked samples outside of any recorded wait: the libc function, the module that called it, and why there is no record:

  no hook     hostprobe has no hook on this function
  inline      the module makes the system call itself, past libc: no hook can be there
  no record   the call went through a hook and left no record of its own: it never returned, or it was so short that it
              is only counted
  past hook   hostprobe hooks this function, but this call did not come through the hook
  no call     blocked in the kernel outside of a system call: a page fault, a stop

Function and caller are read off the stack without unwinding; a few of them are wrong.

examples:
  bench/coverage.py --build build --workload ddp
  bench/coverage.py --build build --workload simulated --json
  bench/coverage.py --build build -o RUN -- python3 train.py
  bench/coverage.py --build build --simgpu 2 --seconds-between-samples 0.02 -- build/examples/train_parallel --ranks 2
"""

import argparse
import bisect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from proc_sampler import Sampler

SOURCE = Path(__file__).resolve().parents[1]
WELL_COVERED_PCT = 95
SHORT_MS = 100
IDLE_SHARE = 0.01
PLACES_SHOWN = 6


# ---- the job ----------------------------------------------------------------------------------------------------------

def torch_folder():
    paths = subprocess.run([SOURCE / "setup.sh", "--paths"], capture_output=True, text=True, check=True).stdout
    python = dict(line.split("=", 1) for line in paths.splitlines()).get("TORCH_PYTHON", "")
    if not Path(python).exists():
        sys.exit("coverage.py: no PyTorch here; tests/run.sh installs one, or give a command after --")
    return Path(python).parent


def workload(name, build):
    """(command, simulated GPUs)"""
    if name == "ddp":
        return [torch_folder() / "torchrun", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "300"], 0
    if name == "loader":
        return [torch_folder() / "python", SOURCE / "bench/train_loader.py"], 0
    return [build / "examples/train_parallel", "--steps", "200"], 8


def run_job(options, run):
    """The sampler, after the job has ended."""
    command = [options.build / "bin/hostprobe", "run", "-o", run]
    if options.simgpu:
        command += ["--simgpu", str(options.simgpu)]
    command += ["--", *options.command]
    sampler = Sampler(options.seconds_between_samples)
    job = subprocess.Popen([str(word) for word in command], stdout=sys.stderr, preexec_fn=sampler.restore_limit)
    sampler.sample_until(lambda: job.poll() is not None)
    if job.returncode != 0:
        print(f"coverage.py: the command ended with status {job.returncode}", file=sys.stderr)
    return sampler


# ---- what hostprobe says ------------------------------------------------------------------------------------------------

def output_of(options, *words):
    done = subprocess.run([str(options.build / "bin/hostprobe"), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"coverage.py: {done.stderr.strip()}")
    return done.stdout


def hooked_functions(options):
    return {line.split(None, 2)[2].strip() for line in output_of(options, "hooks").splitlines() if line.count(" ") >= 2}


def recorded_waits(options, run, processes):
    """{(pid, tid): (begins, ends)}: the recorded waits of each thread, those inside another one left out."""
    names = {process["pid"]: {wait["function"].removesuffix(" (file)") for wait in process.get("waits", [])}
             | set(process.get("syncs", {}).get("by_function", {})) for process in processes}
    found = defaultdict(list)
    for process in processes:
        for thread in process["threads"]:
            if wait := thread.get("open_wait"):
                found[process["pid"], thread["tid"]].append((wait["begin_ns"], wait["begin_ns"] + wait["ms"] * 1e6))
    with subprocess.Popen([str(options.build / "bin/hostprobe"), "dump", str(run), "--json"], stdout=subprocess.PIPE,
                          text=True) as dump:
        for line in dump.stdout:
            if '"function"' not in line:
                continue
            record = json.loads(line)
            if re.sub("^__(.*)_chk$", r"\1", record["function"]) in names.get(record["pid"], ()) and "at_once" not in str(record.get("flags", "")):
                begin = record["begin_ns"]
                found[record["pid"], record["tid"]].append((begin, begin + record["duration_ns"]))
    return {key: outermost(waits) for key, waits in found.items()}


def outermost(waits):
    begins, ends = [], []
    for begin, end in sorted(waits):
        if ends and begin <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            begins.append(begin)
            ends.append(end)
    return begins, ends


def is_inside(waits, moment):
    begins, ends = waits
    i = bisect.bisect_right(begins, moment) - 1
    return i >= 0 and moment <= ends[i]


# ---- both side by side --------------------------------------------------------------------------------------------------

def reason_of(place, hooked):
    if place.hooked:
        return "no record"
    if place.function == "inline":
        return "inline"
    if place.function == "?":
        return "function unknown"
    if not place.function:
        return "no call"
    return "past hook" if place.function in hooked else "no hook"


def sampled_wall_ms(threads, boot_ns):
    wall = 0
    for thread in threads:
        begin = min(thread.began_ns + 5_000_000 - boot_ns, thread.first_ns)
        wall += (thread.last_ns + thread.ended_ns) / 2 - begin
    return wall / 1e6


def first_known(*values):
    return next((value for value in values if value is not None), None)


def account(reported, sampled, waits, hooked, boot_ns):
    """One thread; `sampled`: what was seen under its id (more than one where an id came back), `reported` may be None."""
    reported = reported or {}
    wall = first_known(reported.get("wall_ms"), sampled_wall_ms(sampled, boot_ns) if sampled else None)
    cpu = first_known(reported.get("cpu_ms"), sum(thread.cpu_ns for thread in sampled) / 1e6 if sampled else None)
    delay = first_known(reported.get("run_delay_ms"), sum(thread.delay_ns for thread in sampled) / 1e6 if sampled else None)
    answer = {"tid": reported.get("tid") or sampled[0].tid, "role": reported.get("role"), "wall_ms": wall,
              "name": reported.get("name") or (sampled[-1].name if sampled else ""), "cpu_ms": cpu, "ready_ms": delay,
              "wait_ms": reported.get("wait_ms"), "samples": sum(thread.seen for thread in sampled),
              "blocked_samples": 0, "explained_samples": 0, "missing": []}
    missing = Counter()
    for thread in sampled:
        answer["blocked_samples"] += len(thread.blocked_at)
        for moment, place in zip(thread.blocked_at, thread.blocked_in):
            if is_inside(waits, moment):
                answer["explained_samples"] += 1
            else:
                missing[place] += 1
    if wall is not None and answer["samples"]:
        answer["missing"] = [{"ms": wall * count / answer["samples"], "function": place.function, "module": place.module,
                              "syscall": place.syscall, "why": reason_of(place, hooked)}
                             for place, count in missing.most_common()]
    return answer


def is_measured(thread):
    return None not in (thread["wall_ms"], thread["cpu_ms"], thread["ready_ms"], thread["wait_ms"])


def is_small(thread):
    if thread["wall_ms"] is None or thread["cpu_ms"] is None:
        return True
    return thread["wall_ms"] < SHORT_MS or thread["wall_ms"] - thread["cpu_ms"] < IDLE_SHARE * thread["wall_ms"]


def coverage(threads):
    """{blocked_ms, wait_ms, …, coverage_pct, sampled_pct} of some threads together."""
    known = [thread for thread in threads if is_measured(thread)]
    totals = {key: sum(thread[key] for thread in known) for key in ("wall_ms", "cpu_ms", "ready_ms", "wait_ms")}
    idle = totals["wall_ms"] - totals["cpu_ms"]
    totals["blocked_ms"] = idle - totals["ready_ms"]
    totals["coverage_pct"] = 100 * (totals["wait_ms"] + totals["ready_ms"]) / idle if idle > 0 else None
    blocked = sum(thread["blocked_samples"] for thread in threads)
    explained = sum(thread["explained_samples"] for thread in threads)
    totals["sampled_pct"] = 100 * explained / blocked if blocked else None
    return totals


def account_of_process(process, sampled, waits, hooked, sampler):
    """`process` as reported, or None with the threads of one that hostprobe did not record."""
    pid = process["pid"]
    threads = []
    rest = dict(sampled)
    for reported in process["threads"]:
        tid = reported["tid"]
        threads.append(account(reported, rest.pop(tid, []), waits.get((pid, tid), ([], [])), hooked, sampler.boot_ns))
    # No hook was ever called in these: there is no entry, so there is no wait either.
    threads += [account({"tid": tid, "wait_ms": 0.0}, seen, ([], []), hooked, sampler.boot_ns)
                for tid, seen in sorted(rest.items())]
    for thread in threads:
        thread["own"] = thread["role"] == "hostprobe"
        thread["small"] = is_small(thread)
        if is_measured(thread):
            totals = coverage([thread])
            thread |= {key: totals[key] for key in ("blocked_ms", "coverage_pct")}
        thread["sampled_pct"] = coverage([thread])["sampled_pct"]
    return {"pid": pid, "rank": process.get("rank"), "command": process.get("command", ""), "threads": threads,
            "sum": coverage([thread for thread in threads if not thread["own"]])}


def missing_of(processes):
    totals = Counter()
    for process in processes:
        for thread in process["threads"]:
            if not thread["own"]:
                for part in thread["missing"]:
                    totals[part["function"], part["syscall"], part["module"], part["why"]] += part["ms"]
    return [{"ms": ms, "function": function, "syscall": syscall, "module": module, "why": why}
            for (function, syscall, module, why), ms in totals.most_common()]


def analyse(options, run, sampler):
    report = json.loads(output_of(options, "report", run, "--json"))
    waits = recorded_waits(options, run, report["processes"])
    hooked = hooked_functions(options)
    sampled = defaultdict(lambda: defaultdict(list))
    for thread in sampler.ended:
        sampled[thread.pid][thread.tid].append(thread)
    processes = [account_of_process(process, sampled.pop(process["pid"], {}), waits, hooked, sampler)
                 for process in report["processes"]]
    everything = [thread for process in processes for thread in process["threads"] if not thread["own"]]
    not_recorded = [{"pid": pid, "command": sampler.commands.get(pid, ""), "threads": len(threads)}
                    for pid, threads in sorted(sampled.items())]
    return {"command": [str(word) for word in options.command], "processes": processes, "job": coverage(everything),
            "missing": missing_of(processes), "not_recorded": not_recorded,
            "sampler": {"rounds": sampler.rounds, "cpu_s": sampler.own_s, "threads_too_short": sampler.unseen}}


# ---- for people ---------------------------------------------------------------------------------------------------------

def seconds(ms):
    return "?" if ms is None else f"{ms / 1000:.2f}"


def percent(value):
    return "–" if value is None else f"{value:.1f}"


def place_text(part):
    caller = f" from {part['module']}" if part["module"] else ""
    if part["why"] == "inline":
        return f"{part['syscall']}{caller}, inline"
    function = part["function"] if part["function"] not in ("", "?") else part["syscall"]
    call = f" ({part['syscall']})" if part["syscall"] != function else ""
    return f"{function}{call}{caller}, {part['why']}"


def row(role, name, values, sampled):
    return (f"  {(role or '–')[:12]:<12} {name[:18]:<18}" + "".join(f"{seconds(values.get(key)):>10}" for key in
            ("wall_ms", "cpu_ms", "ready_ms", "wait_ms", "blocked_ms"))
            + f"{percent(values.get('coverage_pct')):>10}{percent(sampled):>9}")


HEADING = (f"  {'role':<12} {'thread':<18}{'wall s':>10}{'CPU s':>10}{'ready s':>10}{'hooked s':>10}{'blocked s':>10}"
           f"{'coverage':>10}{'sampled':>9}")


def lacks_something(thread):
    values = [value for value in (thread.get("coverage_pct"), thread["sampled_pct"]) if value is not None]
    return bool(values) and min(values) < WELL_COVERED_PCT


def process_lines(process):
    rank = "" if process["rank"] is None else f" · rank {process['rank']}"
    yield f"process {process['pid']}{rank} · {process['command'][:90]}"
    yield HEADING
    for thread in process["threads"]:
        if thread["own"] or thread["small"]:
            continue
        yield row(thread["role"], thread["name"], thread, thread["sampled_pct"])
        if lacks_something(thread):
            for part in thread["missing"][:PLACES_SHOWN]:
                yield f"      missing {seconds(part['ms'])} s: {place_text(part)}"
    small = [thread for thread in process["threads"] if thread["small"] and not thread["own"]]
    if small:
        totals = coverage(small)
        yield row("", f"{len(small)} short or busy", totals, totals["sampled_pct"])
    for thread in process["threads"]:
        if thread["own"]:
            yield row("(hostprobe)", thread["name"], thread, thread["sampled_pct"])
    yield row("sum", "without hostprobe", process["sum"], process["sum"]["sampled_pct"])
    yield ""


def text(answer):
    for process in answer["processes"]:
        yield from process_lines(process)
    if answer["not_recorded"]:
        names = Counter(" ".join(process["command"].split()[:4])[-60:] for process in answer["not_recorded"])
        yield "not recorded: " + "; ".join(f"{count} × {name or '?'}" for name, count in names.most_common())
    job, sampler = answer["job"], answer["sampler"]
    blocked = sum(thread["blocked_samples"] for process in answer["processes"] for thread in process["threads"])
    yield f"samples: {sampler['rounds']} rounds, {blocked} of a blocked thread; {sampler['cpu_s']:.1f} s of CPU"
    yield "missing in the whole job (blocked samples outside of any recorded wait):"
    for part in answer["missing"][:15]:
        yield f"  {seconds(part['ms']):>8} s  {place_text(part)}"
    yield ""
    for process in answer["processes"]:
        yield (f"process {process['pid']}: coverage {percent(process['sum']['coverage_pct'])} %, "
               f"sampled {percent(process['sum']['sampled_pct'])} %")
    yield f"job: coverage {percent(job['coverage_pct'])} %, sampled {percent(job['sampled_pct'])} %"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder (default: build)")
    parser.add_argument("--workload", choices=("ddp", "loader", "simulated"), help="a ready-made command: two ranks of "
                        "PyTorch over gloo; a starving DataLoader; 8 ranks on the simulated node")
    parser.add_argument("-o", "--out", type=Path, help="keep the run folder here (default: a temporary one)")
    parser.add_argument("--simgpu", type=int, default=0, metavar="N", help="run the command on N simulated GPUs")
    parser.add_argument("--seconds-between-samples", type=float, default=0.05, metavar="S",
                        help="at least; it becomes more where sampling would take 4 %% of a core (default: 0.05)")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of the table")
    parser.add_argument("command", nargs="*", help="after --")
    options = parser.parse_args()
    if bool(options.command) == bool(options.workload):
        parser.error("give a command after --, or --workload")
    options.build = options.build.resolve()
    if not (options.build / "bin/hostprobe").exists():
        parser.error(f"no {options.build / 'bin/hostprobe'}: build it, or name the folder by --build")
    if options.workload:
        options.command, options.simgpu = workload(options.workload, options.build)
    return options


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        run = options.out.resolve() if options.out else Path(folder) / "run"
        sampler = run_job(options, run)
        answer = analyse(options, run, sampler)
    print(json.dumps(answer) if options.json else "\n".join(text(answer)))


if __name__ == "__main__":
    main()
