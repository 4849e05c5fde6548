"""Runs that pages are made of, each recorded or made once for all tests of a program."""

import json
import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("HOSTPROBE_TEST_BUILD", SOURCE / "build")).absolute()
COMMAND = BUILD / "bin/hostprobe"
TRAIN_LOOP, TRAIN_PARALLEL = BUILD / "examples/train_loop", BUILD / "examples/train_parallel"
MADE_RUN, GOLDEN_RUNS = BUILD / "bin/golden_made_run", BUILD / "bin/golden_runs"


def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(("HOSTPROBE_", "SIMNODE_"))}


def call(*words, status=0, folder=None, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=folder, env=environment(), timeout=500, **options)
    if done.returncode != status:
        raise AssertionError(f"{words}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done


def setup_path(name):
    lines = call(SOURCE / "setup.sh", "--paths").stdout
    return Path(re.search(rf"^{name}=(.*)$", lines, flags=re.M)[1])


def record(run, *command, options=()):
    call(COMMAND, "run", "-o", run, *options, "--", *command)
    return run


def demo_run(folder):
    return record(folder / "demo", TRAIN_LOOP, "--load-us", "5000", options=("--simgpu", "1"))


def fixed_run(folder):
    return record(folder / "demo-fixed", TRAIN_LOOP, "--load-us", "5000", "--threads", "3", options=("--simgpu", "1"))


def ddp_run(folder):
    torchrun = setup_path("TORCH_PYTHON").parent / "torchrun"
    return record(folder / "ddp", torchrun, "--nproc-per-node=2", SOURCE / "examples/train_ddp.py", "--steps", "60", "--slow-loader-ms", "2",
                  "--checkpoint-every", "10")


def parallel_run(folder, ranks=8):
    return record(folder / f"ranks{ranks}", TRAIN_PARALLEL, "--ranks", ranks, options=("--simgpu", str(ranks), "--mode", "trace"))


def made_run(folder, ranks, records):
    run = folder / f"made{ranks}"
    call(MADE_RUN, run, ranks, records)
    return run


def golden_run(folder, name):
    call(GOLDEN_RUNS, folder / "golden")
    return folder / "golden" / name


def empty_run(folder):
    """A program of one wait: the least that can be reported."""
    return record(folder / "nothing", "sleep", "0.01")


def page_of(run, *options):
    path = run.with_name(run.name + ("-redacted" if "--redact" in options else "") + ".html")
    call(COMMAND, "report", run, "--html", path, *options)
    return path


def comparison_of(a, b):
    path = a.with_name(f"{a.name}-{b.name}.html")
    call(COMMAND, "diff", a, b, "--html", path)
    return path


def report_of(run):
    return json.loads(call(COMMAND, "report", run, "--json").stdout)
