#!/usr/bin/env python3
"""The checks that need a real GPU: do we see every launch and every synchronise that CUPTI sees, and what does it cost?

Needs: a GPU, nvcc, CUPTI, PyTorch with Triton and NCCL, and a build of hostprobe. Prints the tables of RESULTS.md.

examples:
  bench/gpu/check.py --build build                     everything, about four minutes
  bench/gpu/check.py --build build counts              only the counts
  bench/gpu/check.py --build build cost --pairs 21     only the cost, more pairs
"""

import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# CUPTI's names of what the probe hooks, without the _ptsz of per-thread default streams.
LAUNCHES = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernelMultiDevice",
            "cuGraphLaunch", "cuLaunchHostFunc")
WHAT = ("counts", "cost")
SYNCS = ("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize")


class Check:
    def __init__(self, build, cuda, folder):
        self.preload = build / "lib/libhostprobe.so"
        self.command = build / "bin/hostprobe"
        self.cuda = cuda
        self.folder = folder
        self.failed = []
        self.has_compiler = (cuda / "bin/nvcc").exists()

    def compile(self):
        cupti = self.cuda / "extras/CUPTI"
        include = next((d for d in (cupti / "include", self.cuda / "include") if (d / "cupti.h").exists()), None)
        if include is None:
            sys.exit("check: no cupti.h under the toolkit; name the toolkit with --cuda")
        library = next(d for d in (cupti / "lib64", self.cuda / "lib64") if (d / "libcupti.so").exists())
        self.injection = self.folder / "libcupti_counts.so"
        run(["g++", "-std=c++20", "-O2", "-fPIC", "-shared", HERE / "cupti_counts.cpp", f"-I{include}",
             f"-I{self.cuda}/include", f"-L{library}", "-lcupti", f"-Wl,-rpath,{library}", "-o", self.injection])
        for kind in ("shared", "static"):
            run([self.cuda / "bin/nvcc", "-O2", "-arch=native", "-cudart", kind, HERE / "runtime.cu", "-o",
                 self.folder / f"runtime_{kind}"])

    def programs(self):
        steps = [sys.executable, HERE / "torch_steps.py"]
        own = {"runtime, shared": [self.folder / "runtime_shared", "300"],
               "runtime, static": [self.folder / "runtime_static", "300"]} if self.has_compiler else {}
        return {**own,
                **{f"PyTorch, {kind}": [*steps, "--kind", kind] for kind in ("eager", "graph", "triton", "nccl")}}

    def start(self, command, name, probe=False, cupti=False):
        """Output, CUPTI's counts, the report's process."""
        environment = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
        counts, trace = self.folder / f"{name}-cupti", self.folder / f"{name}-run"
        if cupti:
            counts.mkdir()
            environment.update(CUDA_INJECTION64_PATH=str(self.injection), CUPTI_COUNTS=str(counts))
        if probe:
            environment.update(LD_PRELOAD=str(self.preload), HOSTPROBE_OUT=str(trace), HOSTPROBE_TARGET="all")
        output = run(command, env=environment)
        seen, found = {}, None
        if cupti:
            for file in counts.glob("*.json"):
                for function, count in json.loads(file.read_text()).items():
                    seen[function] = seen.get(function, 0) + count
        if probe:
            found = json.loads(run([self.command, "report", trace, "--json"]))["processes"]
        return output, seen, found

    def counts(self):
        print("| program | function | CUPTI | hostprobe |\n|---|---|---|---|")
        programs = self.programs()
        with concurrent.futures.ThreadPoolExecutor() as pool:  # no time is measured here
            runs = pool.map(self.three_ways, range(len(programs)), programs.values())
            for name, (outputs, seen, processes, processes_alone) in zip(programs, runs):
                if len(set(outputs)) != 1:
                    self.failed.append(f"{name}: another output under hostprobe: {outputs!r}")
                self.compare(name, seen, processes)
                if by_function(processes) != by_function(processes_alone):
                    print(f"| {name} | without CUPTI | | {by_function(processes_alone)} |")

    def three_ways(self, number, command):
        """Outputs without hostprobe, with it under CUPTI, and with it alone; CUPTI's counts; the reports' processes of the two."""
        plain, _, _ = self.start(command, f"{number}-plain")
        both, seen, processes = self.start(command, f"{number}-both", probe=True, cupti=True)
        alone, _, processes_alone = self.start(command, f"{number}-alone", probe=True)
        return (plain, both, alone), seen, processes, processes_alone

    def compare(self, name, seen, processes):
        # Copies and frees that wait count as synchronisations here; CUPTI has them under other domains.
        ours = {name: count for name, count in by_function(processes).items() if name in LAUNCHES + SYNCS}
        plain_names = {}
        for function, count in seen.items():
            base = function.removesuffix("_ptsz")
            if base in LAUNCHES + SYNCS or base.removesuffix("_v2") in LAUNCHES + SYNCS:
                plain_names[base.removesuffix("_v2")] = plain_names.get(base.removesuffix("_v2"), 0) + count
        for function in sorted(set(plain_names) | set(ours)):
            theirs, mine = plain_names.get(function, 0), ours.get(function, 0)
            print(f"| {name} | {function} | {theirs} | {mine} |{'' if theirs == mine else ' DIFFERS'}")
            if theirs != mine:
                self.failed.append(f"{name}: {function}: CUPTI {theirs}, hostprobe {mine}")
        lost = sum(p["lost"] for p in processes)
        if lost:
            self.failed.append(f"{name}: {lost} records lost")

    def cost(self, pairs, rows_named):
        own = {"ns per launch, shared runtime": ([self.folder / "runtime_shared", "2000", "time"], "ns_per_launch")}
        rows = {**(own if self.has_compiler else {}),
                "step in µs, PyTorch eager": ([*self.programs()["PyTorch, eager"], "--time"], "step_us"),
                "step in µs, PyTorch graph": ([*self.programs()["PyTorch, graph"], "--time"], "step_us")}
        rows = {what: row for what, row in rows.items() if rows_named in what}
        print("\n| what | without | with | ratio, median of pairs (least – greatest) | records/s | own cost |\n|---|---|---|---|---|---|")
        for number, (what, (command, word)) in enumerate(rows.items()):
            off, on, ratios = [], [], []
            for pair in range(pairs):
                order = (False, True) if pair % 2 == 0 else (True, False)
                value = {}
                for probe in order:
                    output, _, found = self.start(command, f"cost-{number}-{pair}-{probe}", probe=probe)
                    value[probe] = number_after(output, word)
                    if probe:
                        last = found[0]
                off.append(value[False])
                on.append(value[True])
                ratios.append(value[True] / value[False])
            print(f"| {what} | {statistics.median(off):.1f} | {statistics.median(on):.1f} | {statistics.median(ratios):.4f} "
                  f"({min(ratios):.4f} – {max(ratios):.4f}) | {last['records'] / last['wall_ms'] * 1000:.0f} "
                  f"| {last['own_cost_pct']:.2f} % |")


def run(command, env=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"check: {' '.join(str(w) for w in command)} ended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def by_function(processes):
    """Launches and synchronises of all processes together, _ptsz and _v2 counted with the plain name."""
    totals = {}
    for process in processes:
        for part in ("launches", "syncs"):
            for function, count in process.get(part, {}).get("by_function", {}).items():
                count = count["count"] if isinstance(count, dict) else count
                base = function.removesuffix("_ptsz").removesuffix("_v2")
                totals[base] = totals.get(base, 0) + count
    return totals


def number_after(text, word):
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith(word + " ")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="some of " + ", ".join(WHAT))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--cuda", type=Path, default=Path("/usr/local/cuda"))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--rows", default="", metavar="TEXT", help="only the rows of the cost whose name has TEXT in it")
    options = parser.parse_args()
    if unknown := set(options.what) - set(WHAT):
        parser.error(f"there is no {unknown.pop()}; there are " + ", ".join(WHAT))
    with tempfile.TemporaryDirectory() as folder:
        check = Check(options.build.resolve(), options.cuda, Path(folder))
        what = options.what or WHAT
        if check.has_compiler or "counts" in what:
            check.compile()
        if "counts" in what:
            check.counts()
        if "cost" in what:
            check.cost(options.pairs, options.rows)
    for line in check.failed:
        print("FAILED", line)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
