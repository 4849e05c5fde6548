#!/usr/bin/env python3
"""Real PyTorch profiles, read by hostprobe and by HolisticTraceAnalysis (HTA): seconds, and the figures side by side.

Both do the same work on each profile: parse it, launch statistics, busy and idle time of the GPU, and the critical path of one
step where there are steps. hostprobe: `import --kineto`, then `report --json`, two processes. HTA: one process; its import
of pandas and friends is not counted. The first time, HTA is installed into the cache (HOSTPROBE_CACHE). Profiles:
`bench/profiles.py --build build FILE.json.gz …`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

REQUIREMENTS = ("HolisticTraceAnalysis==0.5.0", "pandas<3")  # 0.5.0 calls pandas in a way that 3 refuses
HTA = r"""
import contextlib, io, json, logging, os, sys, time, warnings
warnings.filterwarnings("ignore"); logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
path, rank = sys.argv[1], int(sys.argv[2])
figures = {}
def timed(name, call):
    begin = time.monotonic()
    try:
        with contextlib.redirect_stdout(io.StringIO()): result = call()
    except Exception as error:
        figures[name + "_error"] = f"{type(error).__name__}: {error}"[:120]; result = None
    figures[name + "_s"] = time.monotonic() - begin
    return result
analysis = timed("parse", lambda: TraceAnalysis(trace_files={rank: path}, trace_dir=os.path.dirname(path)))
launches = timed("launches", lambda: analysis.get_cuda_kernel_launch_stats(ranks=[rank], visualize=False))
if launches is not None and rank in launches: figures["launches_with_kernel"] = len(launches[rank])
busy = timed("busy", lambda: analysis.get_temporal_breakdown(visualize=False))
if busy is not None:
    row = busy.iloc[0]
    figures.update(idle_ms=row["idle_time(us)"] / 1e3, span_ms=row["kernel_time(us)"] / 1e3)
path_of = timed("path", lambda: analysis.critical_path_analysis(rank=rank, annotation="ProfilerStep", instance_id=1))
if path_of is not None and path_of[1]:
    with contextlib.redirect_stdout(io.StringIO()): summary = path_of[0].summary()
    figures["path_pct"] = {str(name): round(float(value), 2) for name, value in summary.items()}
print(json.dumps(figures))
"""


def hta_python():
    folder = Path(os.environ.get("HOSTPROBE_CACHE") or Path.home() / ".cache/hostprobe") / "hta-0.5.0"
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        print("installing HolisticTraceAnalysis", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        (folder / "complete").touch()
    return python


def rank_of(profile):
    import gzip
    opened = gzip.open(profile, "rt") if profile.suffix == ".gz" else open(profile)
    with opened as text:
        return json.load(text).get("distributedInfo", {}).get("rank", 0)


def seconds(words, **how):
    begin = time.monotonic()
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **how)
    if done.returncode != 0:
        sys.exit(f"profiles.py: {words[0]} {words[1]} ended with {done.returncode}:\n{done.stderr}")
    return time.monotonic() - begin, done.stdout


def by_hostprobe(command, profile):
    with tempfile.TemporaryDirectory() as folder:
        parse, _ = seconds([command, "import", "-o", Path(folder, "run"), "--kineto", profile])
        report, text = seconds([command, "report", "--json", Path(folder, "run")])
    document = json.loads(text)
    process = document["processes"][0]
    return {"parse_s": parse, "report_s": report, "gpu": process.get("gpu"), "launches": process["launches"]["count"],
            "steps": document["steps"], "path_pct": document["critical_path_pct"]}


def by_hta(python, profile, rank):
    return json.loads(seconds([python, "-c", HTA, profile, rank])[1].splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--figures", action="store_true", help="print what both computed, as JSON")
    parser.add_argument("profiles", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args()
    python = hta_python()
    for profile in options.profiles:
        profile, rank = profile.absolute(), rank_of(profile)
        pairs = [(by_hostprobe(options.build / "bin/hostprobe", profile), by_hta(python, profile, rank))
                 for _ in range(options.pairs)]
        ours = [own["parse_s"] + own["report_s"] for own, _ in pairs]
        theirs = [sum(value for name, value in hta.items() if name.endswith("_s")) for _, hta in pairs]
        ratio = statistics.median(their / own for own, their in zip(ours, theirs))
        print(f"{profile.name:24} hostprobe {statistics.median(ours):6.2f} s   HTA {statistics.median(theirs):6.2f} s   "
              f"median of ratios {ratio:.1f}")
        if options.figures:
            print(json.dumps({"hostprobe": pairs[-1][0], "hta": pairs[-1][1]}, indent=1))


if __name__ == "__main__":
    main()
