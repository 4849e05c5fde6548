#!/usr/bin/env python3
"""What each source of the kernel's switches costs a program: the probe's own records (perf events), `hostprobe sched` by tracefs, and
by totals in the kernel (bpf). As root.

ping: two threads on one CPU that do nothing but wake each other (bench/ping_pong.cpp), as many switches a second as there can be; their
CPU time. 'beside': somebody else is recorded. ddp: examples/train_ddp.py under torchrun with two ranks, its steps a second, and
the CPU time of everything with whoever records. Rounds in which each way has its turn; what is printed is the median of
the ratios to the way without, of the same round, and the range of the middle half.

example: bench/kernel_sources.py --build build --rounds 7"""

import argparse
import contextlib
import re
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from environment import clean_environment

SOURCE = Path(__file__).resolve().parents[1]
SOURCES = ("tracefs", "bpf")


class Bench:
    def __init__(self, options):
        self.build = options.build.resolve()
        self.options = options
        self.told = {}

    def probed(self, sched, folder):
        return clean_environment(LD_PRELOAD=str(self.build / "lib/libhostprobe.so"), HOSTPROBE_OUT=str(folder), HOSTPROBE_SCHED=sched,
                                 HOSTPROBE_TARGET="all", HOSTPROBE_BUDGET="0")

    def run(self, way, command):
        """What the command says, and the CPU seconds of all that ran for it."""
        with tempfile.TemporaryDirectory() as folder:
            environment = self.probed(way.split("-")[1], folder) if way.startswith("probe") else clean_environment()
            if way in SOURCES:
                command = [self.build / "bin/hostprobe", "sched", "-o", folder, "--source", way, "--", *command]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = sum(after[i] - before[i] for i in (0, 1))
            if way in SOURCES:
                size = sum(path.stat().st_size for path in Path(folder).glob("*.hptrace"))
                cost = re.search(r"in ([\d.]+) ms of CPU time", done.stderr)
                lost = int(re.search(r"(\d+) lost", done.stderr)[1])
                self.told.setdefault(way, []).append((size, lost, 0.1 * float(cost[1]) / cpu_s if cost else None))
        return done.stdout + done.stderr, cpu_s

    @contextlib.contextmanager
    def recording_of_another(self, source):
        """As long as it lasts, a process that sleeps is recorded."""
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(["sleep", "1000"]) as other:
            command = [self.build / "bin/hostprobe", "sched", "-o", folder, "--source", source, "--pid", str(other.pid)]
            with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recording:
                time.sleep(1)
                yield
                other.kill()
                recording.wait()


def ping(bench, way):
    command = [bench.build / "bench/ping_pong", bench.options.switches // 2]
    if way.endswith("-beside"):
        with bench.recording_of_another(way.split("-")[0]):
            return {"CPU time": float(bench.run("beside", command)[0])}
    return {"CPU time": float(bench.run(way, command)[0].split()[0])}


def ddp(bench, way):
    command = [bench.options.python.parent / "torchrun", "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps",
               bench.options.steps, "--checkpoint-every", 0]
    output, cpu_s = bench.run(way, command)
    return {"time of a step": 1 / float(re.search(r"([\d.]+) steps/s", output)[1]), "CPU time of everything": cpu_s}


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def measure(bench, name, once, ways, rounds):
    """`ways`: each way and the one that it is compared with."""
    ratios = {}
    for _ in range(rounds):
        figures = {way: once(bench, way) for way in dict.fromkeys(sum(ways, ()))}
        for way, without in ways:
            for what, value in figures[way].items():
                ratios.setdefault((way, what), []).append(value / figures[without][what])
    for (way, what), values in ratios.items():
        print(f"{name:5} {way:15} {what:23} {spread(values)}", flush=True)
    for way, told in bench.told.items():
        sizes, losses, costs = zip(*told)
        own = "" if None in costs else f", by its own account {statistics.median(costs):.2f} % of the CPU time of everything"
        print(f"{name:5} {way:15} {statistics.median(sizes) / 1e6:.2f} MB a run, {sum(losses)} lost in all{own}", flush=True)
    bench.told.clear()


def torch_python():
    paths = subprocess.run([SOURCE / "setup.sh", "--paths"], capture_output=True, text=True, check=True).stdout
    return Path(dict(line.split("=", 1) for line in paths.splitlines())["TORCH_PYTHON"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ddp-rounds", type=int, default=5)
    parser.add_argument("--switches", type=int, default=400000, help="of ping, in a run")
    parser.add_argument("--steps", type=int, default=300, help="of ddp, in a run")
    parser.add_argument("--python", type=Path, default=None, help="one that has PyTorch (default: setup.sh's)")
    options = parser.parse_args()
    options.python = options.python or torch_python()
    bench = Bench(options)
    ways = [("probe-auto", "probe-off"), *((source, "nothing") for source in SOURCES)]
    beside = [(f"{source}-beside", "nothing") for source in SOURCES]
    measure(bench, "ping", ping, ways + beside, options.rounds)
    measure(bench, "ddp", ddp, ways, options.ddp_rounds)


if __name__ == "__main__":
    main()
