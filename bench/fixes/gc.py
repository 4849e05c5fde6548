#!/usr/bin/env python3
"""Step times of examples/train_ddp.py with a million live Python objects in each rank, without and with the fix `gc`, in turns.

The objects are made by a script that then runs the example unmodified; steps are those that the zero-code shim marks. With --grow the
script also keeps so many objects more after each step, as a history of metrics does: CPython collects the oldest generation only
once a quarter of what lives is new. Told are
medians over --times runs each: the p99 of a step, how many steps took more than 50 ms, pauses and their total; and whether the
last line, the loss, is the same in all runs."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]

OBJECTS = """
import runpy, sys
live = [[i] for i in range(int(sys.argv[1]))]
grow = int(sys.argv[2])
if grow:
    from torch.optim.optimizer import register_optimizer_step_post_hook
    register_optimizer_step_post_hook(lambda *_: live.extend([i] for i in range(grow)))
example = sys.argv[3]
sys.argv = sys.argv[3:]
runpy.run_path(example, run_name="__main__")
"""


def once(build, torchrun, objects, grow, steps, fix):
    with tempfile.TemporaryDirectory() as folder:
        script, run = Path(folder) / "objects.py", Path(folder) / "run"
        script.write_text(OBJECTS)
        out = subprocess.run([build / "bin/hostprobe", "run", "-o", run, "--fix", fix, "--", torchrun, "--nproc-per-node=2", script,
                              str(objects), str(grow), SOURCE / "examples/train_ddp.py", "--steps", str(steps)],
                             check=True, capture_output=True, text=True, env=os.environ).stdout
        dump = subprocess.run([build / "bin/hostprobe", "dump", run, "--json"], check=True, capture_output=True, text=True)
        report = json.loads(subprocess.run([build / "bin/hostprobe", "report", run, "--json"], check=True, capture_output=True,
                                           text=True).stdout)
    ranks = {p["pid"]: p for p in report["processes"] if p["gc"] and p["rank"] == 0 and p["kind"] == "rank"}
    ms = [1e-6 * record["duration_ns"] for record in map(json.loads, dump.stdout.splitlines())
          if record.get("function") == "hostprobe_optimizer_step" and record["pid"] in ranks]
    gc = next(iter(ranks.values()))["gc"]
    return {"loss": out.splitlines()[-1], "p99_ms": sorted(ms)[int(len(ms) * 0.99)], "slow": sum(one > 50 for one in ms),
            "pauses_ms": gc["total_ms"], "old": gc["by_generation"].get("2", 0), "steps": len(ms)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--torchrun", required=True, help="torchrun of the environment that setup.sh --paths calls TORCH_PYTHON")
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--grow", type=int, default=0, help="objects kept after each step")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    runs = {"none": [], "gc": []}
    for _ in range(options.times):
        for fix, all_ in runs.items():
            all_.append(once(options.build.absolute(), options.torchrun, options.objects, options.grow, options.steps, fix))
    print("| fix | steps | p99 of a step, ms | steps over 50 ms | pauses, ms | of generation 2 |\n|---|---|---|---|---|---|")
    for fix, all_ in runs.items():
        middle = {name: statistics.median(one[name] for one in all_) for name in all_[0] if name != "loss"}
        print(f"| {fix} | {middle['steps']:.0f} | {middle['p99_ms']:.1f} | {middle['slow']:.0f} | {middle['pauses_ms']:.0f} | "
              f"{middle['old']:.0f} |")
    losses = {one["loss"] for all_ in runs.values() for one in all_}
    print("the loss is the same in all runs" if len(losses) == 1 else f"DIFFERENT losses: {losses}")


if __name__ == "__main__":
    main()
