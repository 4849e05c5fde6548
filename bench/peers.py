#!/usr/bin/env python3
"""What other recorders add to a call, beside hostprobe on the same calls and in the same run. First
`cmake --build build --target peers`; a recorder whose package is absent is skipped with a word.

  hostprobe   a launch, a synchronise and a free mutex pair, by LD_PRELOAD
  lttng       LTTng-UST: a launch between two tracepoints with the same words (6 integers, 1 integer)
  wrapper     lttng-ust-pthread-wrapper by LD_PRELOAD: the same free mutex pair, 3 events
  uftrace     uftrace record of a launch compiled with -pg: entry and exit, no arguments
  spdlog      a launch between two lines of an asynchronous logger

Floors P and T, bare and recorded calls take turns in each process. The thread that is measured is alone on the first CPU,
the threads and daemons that take the records away are on the last. Added = recorded − bare, CPU time of the thread, in T;
the recorders take turns, each round in new processes. A run in which a recorder lost an event is void. As root, LTTng and
what it traces run as nobody, so that the daemon is none of the system's; they must be able to read the build folder.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from environment import clean_environment

WRAPPERS = ("/usr/lib/x86_64-linux-gnu/liblttng-ust-pthread-wrapper.so.1", "/usr/lib64/liblttng-ust-pthread-wrapper.so.1",
            "/usr/lib/liblttng-ust-pthread-wrapper.so.1")
# What is compared with which of hostprobe's calls, how often, and the most that hostprobe may cost of it.
GOALS = (("lttng pair", "launch 11 arguments", 1, 1 / 8), ("wrapper: mutex pair free", "mutex pair free", 1, 1 / 6),
         ("wrapper: mutex pair free", "synchronize 1 argument", 2, None), ("uftrace function", "launch 11 arguments", 1, 1 / 5),
         ("spdlog pair", "launch 11 arguments", 1, 1 / 15))


class Absent(Exception):
    pass


def stop(words):
    sys.exit(f"peers.py: {words}")


def cpus():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        stop("needs two CPUs, one for the thread that is measured and one for the consumers")
    return allowed[0], allowed[-1]


def program(options, name):
    path = options.build / "bench" / name
    if not path.exists():
        raise Absent(f"{path} is not built: cmake --build {options.build} --target peers, after its package is installed")
    return path


def measure(options, words, environment, prefix="", **how):
    """The repetitions of one process: {call: [{figure: nanoseconds}]}."""
    settings = [f"{name}={value}" for name, value in environment.items()]
    done = subprocess.run(["taskset", "-c", str(cpus()[1]), "env", *settings, *map(str, words), str(cpus()[0]),
                           str(options.repetitions)], env=clean_environment(), capture_output=True, text=True, **how)
    if done.returncode != 0:
        stop(f"{words[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if words[0] == "lost" or "LOST" in line:
            stop(f"records were lost, so this run is void: {line}")
        if len(words) == 5:
            figures = dict(zip(("p", "t", "bare", "traced"), map(float, words[1:])))
            figures["of_t"] = (figures["traced"] - figures["bare"]) / figures["t"]
            found.setdefault(prefix + words[0].replace("_", " "), []).append(figures)
    if re.search(r"LOST|\blost\b", done.stderr):
        stop(f"records were lost, so this run is void: {done.stderr}")
    return found


def run_hostprobe(options, folder):
    environment = {"LD_PRELOAD": options.build / "lib/libhostprobe.so", "HOSTPROBE_TARGET": "all",
                   "HOSTPROBE_OUT": folder / "run"}
    return measure(options, [program(options, "peer_preload")], environment)


def run_spdlog(options, folder):
    return measure(options, [program(options, "peer_spdlog")], {"PEERS_OUT": folder / "log"})


def run_uftrace(options, folder):
    if shutil.which("uftrace") is None:
        raise Absent("uftrace is not installed")
    return measure(options, ["uftrace", "record", "--no-libcall", "--no-event", "-b", "4m", "-d", folder / "uftrace",
                             program(options, "peer_uftrace")], {})


# ---- LTTng ----

class LttngSession:
    """A session daemon of our own with one session that records `event`; ended by its process id."""

    def __init__(self, folder, event):
        if shutil.which("lttng-sessiond") is None:
            raise Absent("lttng-tools is not installed")
        self.folder, self.event = folder, event
        self.environment = {"LTTNG_HOME": str(folder), "HOME": str(folder), "LTTNG_UST_REGISTER_TIMEOUT": "-1"}
        self.how = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
        if self.how:
            shutil.chown(folder, "nobody", "nogroup")

    def lttng(self, *words, may_fail=False):
        done = subprocess.run(["lttng", "--no-sessiond", *map(str, words)], env=clean_environment(**self.environment),
                              cwd=self.folder, capture_output=True, text=True, **self.how)
        if done.returncode != 0 and not may_fail:
            stop(f"lttng {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done

    def __enter__(self):
        command = ["taskset", "-c", str(cpus()[1]), "lttng-sessiond", "--no-kernel"]
        self.log = open(self.folder / "sessiond.log", "w")
        self.daemon = subprocess.Popen(command, env=clean_environment(**self.environment), cwd=self.folder, stdout=self.log,
                                       stderr=subprocess.STDOUT, **self.how)
        try:
            for _ in range(200):
                if self.lttng("list", may_fail=True).returncode == 0:
                    break
                time.sleep(0.05)
            self.lttng("create", "peers", f"--output={self.folder}/trace")
            self.lttng("enable-channel", "--userspace", "--discard", "--subbuf-size=4M", "--num-subbuf=4", "c")
            self.lttng("enable-event", "--userspace", "--channel=c", self.event)
            self.lttng("start")
        except BaseException:
            self.__exit__()
            raise
        return self

    def finish(self, found):
        """Stops the session; what was traced must be there and whole."""
        said = self.lttng("stop").stdout
        said += self.lttng("list", "peers").stdout
        lost = re.search(r"Discarded events: (\d+)", said)
        if re.search(r"\bdiscarded\b", said) or lost is None or int(lost.group(1)):
            stop(f"LTTng discarded events, so this run is void: {said}")
        if sum(file.stat().st_size for file in self.folder.glob("trace/**/c_*")) < 1000000:
            stop("LTTng has recorded nothing")
        return found

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.wait(30)
        self.log.close()


def run_lttng(options, folder):
    path = program(options, "peer_lttng")
    with LttngSession(folder, "hostprobe_bench:*") as session:
        return session.finish(measure(options, [path], session.environment, **session.how))


def run_wrapper(options, folder):
    wrapper = next((path for path in WRAPPERS if Path(path).exists()), None)
    if wrapper is None:
        raise Absent("lttng-ust-pthread-wrapper is not installed (liblttng-ust1)")
    with LttngSession(folder, "lttng_ust_pthread:*") as session:
        environment = session.environment | {"LD_PRELOAD": wrapper}
        found = measure(options, [program(options, "peer_preload")], environment, "wrapper: ", **session.how)
        return session.finish({name: lines for name, lines in found.items() if "mutex" in name})


RUNS = {"hostprobe": run_hostprobe, "lttng": run_lttng, "wrapper": run_wrapper, "uftrace": run_uftrace,
        "spdlog": run_spdlog}


# ---- the report ----

def figure(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def table(heading, rows):
    yield "| " + " | ".join(heading) + " |"
    yield "|" + "---|" * len(heading)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def goal_rows(results):
    for peer, own, times, most in GOALS:
        if peer in results and own in results:
            ratios = [other["of_t"] / (times * mine["of_t"]) for other, mine in zip(results[peer], results[own])]
            against = own if times == 1 else f"{times} × {own}"
            goal = "–" if most is None else f"≥ {1 / most:.0f}"
            kept = "–" if most is None else "yes" if statistics.median(ratios) >= 1 / most else "no"
            yield peer, against, figure(ratios, 1), goal, kept


def report(results):
    everything = [line for lines in results.values() for line in lines]
    yield (f"floor P = {figure([line['p'] for line in everything], 1)} ns, "
           f"floor T = {figure([line['t'] for line in everything], 1)} ns")
    yield ""
    yield from table(("recorder: call", "bare ns", "added ns", "added, in T"),
                     ((name, figure([line["bare"] for line in lines], 1),
                       figure([line["traced"] - line["bare"] for line in lines], 1),
                       figure([line["of_t"] for line in lines])) for name, lines in results.items()))
    yield from table(("recorder: call", "over hostprobe's", "ratio of what is added, in T", "goal", "kept"),
                     goal_rows(results))


def run_round(options, wanted, results):
    for name in list(wanted):
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            os.chmod(folder, 0o755)
            try:
                found = RUNS[name](options, Path(folder))
            except Absent as why:
                print(f"peers.py: {name} skipped: {why}", file=sys.stderr)
                wanted.remove(name)
                continue
            for call, lines in found.items():
                results.setdefault(call, []).extend(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorders", nargs="*", metavar="RECORDER", help=f"only these: {', '.join(RUNS)}")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--rounds", type=int, default=3, help="processes of each recorder")
    parser.add_argument("--repetitions", type=int, default=4, help="repetitions of each process")
    options = parser.parse_args()
    if unknown := set(options.recorders) - set(RUNS):
        parser.error(f"no such recorder: {', '.join(sorted(unknown))}")
    options.build = options.build.resolve()
    wanted, results = options.recorders or list(RUNS), {}
    for _ in range(options.rounds):
        run_round(options, wanted, results)
    if results:
        print("\n".join(report(results)))


if __name__ == "__main__":
    main()
