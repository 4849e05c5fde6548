#!/usr/bin/env python3
"""Samples of running threads beside py-spy's, of the same process at the same time: which Python functions the CPU time went into.

The program trains a small network on the CPU with PyTorch; before each step it augments in Python, and behind each it logs JSON and now
and then makes garbage. Its own clock of CPU time says what is true. py-spy does not stop the program (--nonblocking) and looks 100 times a
second at threads that run. A row: the share of the main thread's samples that lie in a function or in what it calls, by both, with
Wilson's 95 % interval; the last column is the program's own share of CPU time.

examples:
  pip install py-spy==0.4.1 && bench/py_spy.py --py-spy $(which py-spy) --python TORCH_PYTHON
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from environment import clean_environment

SOURCE = Path(__file__).resolve().parents[1]
PROGRAM = """
import gc, json, os, sys, threading, time
os.environ["OMP_NUM_THREADS"] = "1"
import torch
spent = {}
def timed(function):
    def call(*arguments):
        begin = time.thread_time()
        result = function(*arguments)
        spent[function.__name__] = spent.get(function.__name__, 0) + time.thread_time() - begin
        return result
    return call
@timed
def augment(n):
    x = 0
    for i in range(n):
        x = (x * 31 + i) % 1000003
    return x
@timed
def log(step, values):
    for _ in range(4):
        json.dumps({"step": step, "values": values, "names": [str(v) for v in values]}, indent=1)
class Knot:
    pass
@timed
def litter(n):
    for _ in range(n):
        knot = Knot(); knot.self = knot
@timed
def train_step(model, batch):
    model(batch).square().mean().backward()
print("ready", flush=True)
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4)))
batch = torch.randn(64, 256)
sys.stdin.readline()
begin, cpu = time.monotonic(), time.thread_time()
spent.clear()
step = 0
while time.monotonic() < begin + float(sys.argv[1]):
    augment(60000); train_step(model, batch); log(step, list(range(300))); litter(2000)
    time.sleep(0.002)
    step += 1
print(json.dumps({name: s / (time.thread_time() - cpu) for name, s in spent.items()}), flush=True)
sys.stdin.readline()
"""
FUNCTIONS = ("augment", "train_step", "log", "litter")


def interval(hits, count):
    if count == 0:
        return "-"
    z, p = 1.96, hits / count
    middle, half = (p + z * z / 2 / count), z * math.sqrt(p * (1 - p) / count + z * z / 4 / count**2)
    return f"{100 * p:.1f} ({100 * (middle - half) / (1 + z * z / count):.1f} to {100 * (middle + half) / (1 + z * z / count):.1f})"


def stacks_of_trace(path, pid):
    """[(frames, innermost first)] of the main thread's Python samples in a trace file (docs/reference/format.md)."""
    import struct
    data, at, strings, stacks, rows = path.read_bytes(), 4096, bytearray(), {}, []
    while at + 32 <= len(data):
        _, kind, _, size = struct.unpack_from("<IHHQ", data, at)
        block, at = data[at + 32:at + 32 + size], at + 32 + size
        if kind == 3:
            offset, count = struct.unpack_from("<II", block)
            strings.extend(bytes(max(0, offset + count - len(strings))))
            strings[offset:offset + count] = block[8:8 + count]
        elif kind == 5:
            stacks[struct.unpack_from("<I", block)[0]] = struct.unpack_from("<15I", block, 184)[:struct.unpack_from("<H", block, 22)[0]]
        elif kind == 14:
            rows += struct.iter_unpack("<QIHHQII", block)

    def text(number):
        begin = (number - 1) * 8
        return strings[begin + 8:begin + 8 + struct.unpack_from("<I", strings, begin)[0]].decode()
    return [[text(f) for f in stacks.get(row[5] - 1, ())] for row in rows if row[1] == pid and row[2] == 1]


def of_py_spy(path):
    """[(frames, innermost first, count)] of its main thread."""
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")[::-1]
        yield frames, int(count)


def measure(options, folder):
    run, raw = folder / "run", folder / "raw"
    environment = clean_environment() | {"LD_PRELOAD": str(options.build / "lib/libhostprobe.so"), "HOSTPROBE_TARGET": "all",
                                         "HOSTPROBE_OUT": str(run), "HOSTPROBE_MODE": "trace", "HOSTPROBE_BUDGET": "0",
                                         "HOSTPROBE_SAMPLES": str(options.rate)}
    program = subprocess.Popen([options.python, "-c", PROGRAM, str(options.seconds)], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    spy = subprocess.Popen([options.py_spy, "record", "--nonblocking", "--rate", "100", "--duration", str(int(options.seconds) + 1),
                            "--format", "raw", "--output", raw, "--pid", str(program.pid)], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    program.stdin.write("\n")
    program.stdin.flush()
    true = json.loads(program.stdout.readline())
    spy.wait()
    program.communicate("\n")
    if program.returncode != 0:
        sys.exit(f"py_spy.py: the program ended with {program.returncode}")
    ours = [stack for path in run.glob("*.hptrace") for stack in stacks_of_trace(path, program.pid)]
    return true, ours, list(of_py_spy(raw))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--py-spy", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=20)
    options = parser.parse_args()
    options.build = options.build.resolve()
    with tempfile.TemporaryDirectory(prefix="py-spy.") as folder:
        true, ours, theirs = measure(options, Path(folder))
    counts, spied, all_spied = Counter(), Counter(), 0
    loop = [stack for stack in ours if any(re.match(rf"({'|'.join(FUNCTIONS)}) ", frame) for frame in stack)]
    for stack in loop:
        counts.update({name for name in FUNCTIONS if any(frame.startswith(name + " (") for frame in stack)})
    for stack, count in theirs:
        names = {name for name in FUNCTIONS if any(frame.startswith(name + " (") for frame in stack)}
        all_spied += count if names else 0
        for name in names:
            spied[name] += count
    print("| function | hostprobe, % | py-spy, % | CPU time, % |\n|---|---|---|---|")
    whole = sum(true.values())
    for name in FUNCTIONS:
        print(f"| {name} | {interval(counts[name], len(loop))} | {interval(spied[name], all_spied)} | {100 * true[name] / whole:.1f} |")
    print(f"\n{len(loop)} samples of hostprobe's, {all_spied} of py-spy's; all shares are of samples within these functions.")
    for title, leaves, all_leaves in (
            ("hostprobe", Counter(stack[0].split(":")[0] for stack in loop), len(loop)),
            ("py-spy", sum((Counter({stack[0].split(":")[0]: count}) for stack, count in theirs
                            if any(frame.startswith(name + " (") for frame in stack for name in FUNCTIONS)), Counter()), all_spied)):
        print(f"\n{title}, innermost: " + ", ".join(f"{name}) {100 * count / all_leaves:.0f} %" for name, count in leaves.most_common(6)))


if __name__ == "__main__":
    main()
