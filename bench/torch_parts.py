#!/usr/bin/env python3
"""What the parts of hostprobe.torch and hostprobe.megatron add to a call, in nanoseconds: the same call without install(), with
it in a preloaded program that is no target, and recording. CPU time of the thread, medians of --times rounds; the ways take
turns. Needs PyTorch, no GPU: a tensor that says it lies on one takes the way of those that do, and Megatron's functions are
empty ones of the same names."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import json, sys, time, timeit, types
schedules = types.ModuleType("megatron.core.pipeline_parallel.schedules")
exec("def forward_step(*a, **k): pass\\ndef backward_step(*a): pass\\ndef nvtx_range_push(*a, **k): pass\\n"
     "def nvtx_range_pop(*a, **k): pass\\ndef forward_backward_pipelining_without_interleaving(**k): pass", vars(schedules))
sys.modules[schedules.__name__] = schedules
import torch
import hostprobe.megatron, hostprobe.torch
if sys.argv[1] == "installed":
    print({**hostprobe.torch.install(), **hostprobe.megatron.install()}, file=sys.stderr)
from torch.utils.data import DataLoader, _utils
class OnGpu(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
    is_cuda = True
class Batch:
    def pin_memory(self): return self
class Forever(torch.utils.data.IterableDataset):
    def __iter__(self): return iter(lambda: 0, 1)
weight = torch.nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([weight])
names = dict(here=torch.ones(1), there=torch.ones(1).as_subclass(OnGpu), optimizer=optimizer, pin=_utils.pin_memory, batch=Batch(),
             batches=iter(DataLoader(Forever(), None)), schedules=schedules)
hostprobe.step()
calls = {"Tensor.item, CPU": "here.item()", "Tensor.item, GPU": "there.item()", "next(DataLoader)": "next(batches)",
         "optimizer.step": "optimizer.step()", "pin_memory": "pin.pin_memory(batch)",
         "forward_step": "schedules.forward_step(None, None, current_microbatch=1)", "backward_step": "schedules.backward_step()",
         "a pass": "schedules.forward_backward_pipelining_without_interleaving(num_microbatches=4)"}
print(json.dumps({name: min(timeit.repeat(call, globals=names, number=20_000, repeat=3,
                                     timer=time.thread_time)) / 20_000 * 1e9
                  for name, call in calls.items()}))
"""


def once(options, word, environment):
    with tempfile.TemporaryDirectory() as folder:
        out = subprocess.run([options.python, "-W", "ignore", "-c", PROGRAM, word], capture_output=True, text=True, check=True,
                             env={**os.environ, "PYTHONPATH": str(options.build.absolute() / "lib/hostprobe/python"),
                                  "OMP_NUM_THREADS": "1", "HOSTPROBE_OUT": folder, **environment})
    if options.verbose:
        print(out.stderr, file=sys.stderr)
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--python", default=sys.executable, help="one that has PyTorch (./setup.sh --paths: TORCH_PYTHON)")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--verbose", action="store_true", help="what install() said")
    options = parser.parse_args()
    preload = {"LD_PRELOAD": str(options.build.absolute() / "lib/libhostprobe.so")}
    ways = {"without": ("", {}), "no target": ("installed", {**preload, "HOSTPROBE_TARGET": "nobody"}),
            "recording": ("installed", {**preload, "HOSTPROBE_TARGET": "all"})}
    rounds = [{way: once(options, *how) for way, how in ways.items()} for _ in range(options.times)]
    print("| call |", " | ".join(ways), "| added |\n|---|" + (len(ways) + 1) * "---|")
    for call in rounds[0]["without"]:
        median = {way: statistics.median(r[way][call] for r in rounds) for way in ways}
        figures = [f"{ns:.0f}" for ns in median.values()] + [f"{median['recording'] - median['without']:.0f}"]
        print(f"| {call} |", " | ".join(figures), "|")


if __name__ == "__main__":
    main()
