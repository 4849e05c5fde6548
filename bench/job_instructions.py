#!/usr/bin/env python3
"""What hostprobe adds to the main thread of a rank, in instructions: a whole job under callgrind, each rank by itself.

Two runs of different length; their difference is what steps cost, and the shorter less its steps what the start costs.
ours = instructions of libhostprobe.so in the main thread of rank 0 · others = all its other ones.
A job is some fifty times slower so, which moves waits: one that would have blocked finds its peer ready, or the other way
round. Stacks are off, which are taken by time; so is the budget.

  ddp         train_ddp.py, 2 ranks, PyTorch; 8 minutes
  simulated   train_parallel, 8 ranks; 2 minutes

examples:
  bench/job_instructions.py --build build simulated
  bench/job_instructions.py --build build --mode monitor ddp
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from coverage import torch_folder
from environment import clean_environment
from hook_path import count_own

SOURCE = Path(__file__).resolve().parents[1]
RANKS = {"ddp": 2, "simulated": 8}
STEPS = {"ddp": (10, 30), "simulated": (5, 25)}


def command(name, build, steps):
    if name == "ddp":
        return [torch_folder() / "python", SOURCE / "examples/train_ddp.py", "--steps", steps]
    return [build / "examples/train_parallel", "--steps", steps]


def settings_of(name, options, folder, rank):
    """As a launcher sets them; no launcher, because valgrind cannot follow one that starts itself anew."""
    common = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": RANKS[name], "LOCAL_WORLD_SIZE": RANKS[name],
              "LD_PRELOAD": options.build / "lib/libhostprobe.so", "HOSTPROBE_OUT": folder / "run",
              "HOSTPROBE_MODE": options.mode, "HOSTPROBE_BUDGET": 0, "HOSTPROBE_STACK_US": 0}
    if name == "ddp":
        return common | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": options.port}
    return common | {"TRAIN_PARALLEL_MEETING": folder / "meeting", "SIMNODE_GPUS": RANKS[name],
                     "LD_LIBRARY_PATH": options.build / "lib/hostprobe/simnode"}


def start_rank(name, options, folder, steps, rank):
    # env sets the preload, so that valgrind itself is not hooked; the rank keeps its process id.
    words = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--trace-children=yes", "--fair-sched=try",
             "--compress-strings=no", "--compress-pos=no", f"--callgrind-out-file={folder}/out.%p", "env",
             *(f"{key}={value}" for key, value in settings_of(name, options, folder, rank).items()),
             *command(name, options.build, steps)]
    return subprocess.Popen([str(word) for word in words], env=clean_environment(), cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=open(folder / f"rank{rank}.log", "w"))


def count(name, options, steps):
    """(ours, others) of the main thread of rank 0."""
    with tempfile.TemporaryDirectory(prefix="job-instructions-") as folder:
        folder = Path(folder)
        (folder / "meeting").mkdir()
        ranks = [start_rank(name, options, folder, steps, rank) for rank in range(RANKS[name])]
        for number, rank in enumerate(ranks):
            if rank.wait() != 0:
                sys.exit(f"job_instructions.py: rank {number} of {name} ended with {rank.returncode}:\n"
                         + (folder / f"rank{number}.log").read_text()[-2000:])
        files = sorted(folder.glob(f"out.{ranks[0].pid}-01"))
        text = files[0].read_text() if files else sys.exit("job_instructions.py: callgrind has written nothing of rank 0")
    everything, ours = count_own(text, Path("libhostprobe.so"))
    return ours, everything - ours


def row(name, options):
    few, many = STEPS[name]
    print(f"job_instructions.py: {name}, {few} steps, then {many}", file=sys.stderr)
    short, long = count(name, options, few), count(name, options, many)
    step = [(b - a) / (many - few) for a, b in zip(short, long)]
    start = [a - few * s for a, s in zip(short, step)]
    return " | ".join(("", name, f"{step[0]:,.0f}", f"{step[1]:,.0f}", f"{100 * step[0] / step[1]:.3f}",
                       f"{start[0]:,.0f}", f"{start[1]:,.0f}", f"{100 * start[0] / start[1]:.3f}", "")).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(RANKS) + " (default: both)")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--mode", default="flight", help="HOSTPROBE_MODE (default: flight)")
    parser.add_argument("--port", type=int, default=29611, help="where the ranks of ddp meet, on loopback")
    options = parser.parse_args()
    options.build = options.build.resolve()
    if unknown := set(options.workloads) - set(RANKS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(RANKS)}")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed (apt-get install valgrind, or ./setup.sh fast)")
    print("| workload | a step: ours | others | % | the start: ours | others | % |")
    print("|" + "---|" * 7)
    for name in options.workloads or RANKS:
        print(row(name, options), flush=True)


if __name__ == "__main__":
    main()
