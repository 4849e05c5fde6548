"""The runs that golden documents are made of, and which documents of each. Every path is relative to the folder of the runs, so
that no document names a place of this machine."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "import"))

from ascend_profile import write_rank  # noqa: E402
from inspector_log import inspector_lines  # noqa: E402
from nsight_report import write_job  # noqa: E402

SAMPLES = HERE.parent / "import/samples"
DUMPED_NS = 1_795_722_081_000_000_000  # when the samples of dumps were made, 8 s after their last operation
PROFILES = Path(os.environ.get("HOSTPROBE_TEST_PROFILES") or HERE.parents[2] / "shared" / "data" / "kineto")
START = 1_700_000_000_000_000  # µs since 1970, as in support/trace_file.h

REPORTS = ("", "--json", "--all", "--json --all", "--step slowest", "--json --step slowest", "--steps detected", "--json --memory-mb 0")
DUMPS = ("", "--json", "--switches")
EXPORTS = ("--chrome", "--perfetto", "--csv")
PAIRS = (("healthy", "python"), ("transfers", "slow_links"), ("own_work", "input"), ("progress", "hosts"), ("monitor", "flight"),
         ("profile", "healthy"), ("cpu_job", "cpu_job"), ("unseen", "unmarked"),
         ("healthy", "stopped"), ("stuck", "damaged"), ("before", "after"), ("after", "after"), ("many_threads", "workers"),
         ("damaged", "threads"))
# Comparisons that are a gate too: which fail, pass, and cannot be decided.
GATES = (("before", "after", "3%"), ("after", "before", "3%"), ("after", "after", "0.5"), ("healthy", "stopped", "10%"),
         ("transfers", "slow_links", "2%"), ("monitor", "flight", "3%"), ("damaged", "threads", "3%"))
# Runs that are also asked for these, and for each rank alone.
DUMPED = ("threads", "flight", "monitor", "damaged", "wakes", "machine", "scheduler", "totals", "ftrace", "profile", "joined",
          "table", "hang", "hang_json", "inspector", "nsight", "ascend", "version1", "version2", "version3")
EXPORTED = ("threads", "input", "hosts", "flight", "machine", "scheduler", "ftrace", "profile", "joined", "workers", "version2")
STACKED = ("python", "own_work", "threads", "monitor", "cpu_job")  # as stacks of running and waiting time
RANKED = {"own_work": (0, 1), "hosts": (2,), "stuck": (2,), "profile": (1,), "healthy": (7,)}
LISTED = ("threads", "monitor", "profile", "version3")  # `hostprobe hooks`
# Single files of a run, whole and not.
FILES = {"threads": ("testhost-4242-1.hptrace",), "flight": ("testhost-4400-1-0001.hpdump",),
         "damaged": ("testhost-4500-1.hptrace", "testhost-4503-1.hptrace", "testhost-4504-1.hptrace")}

FTRACE = """\
# tracer: nop
          redis-70    [000] d..2. 5.001000: sched_waking: comm=python3 pid=4242 prio=120 target_cpu=001
         <idle>-0     [001] d..2. 5.001010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=python3 next_pid=4242 next_prio=120
        python3-4242  [001] d.h2. 5.002000: irq_handler_entry: irq=27 name=virtio0
        python3-4242  [001] d.h2. 5.002010: irq_handler_exit: irq=27 ret=handled
        python3-4242  [001] ..s1. 5.002011: softirq_entry: vec=3 [action=NET_RX]
        python3-4242  [001] ..s1. 5.002030: softirq_exit: vec=3 [action=NET_RX]
CPU:1 [LOST 12 EVENTS]
        python3-4242  [001] d..2. 5.012000: sched_switch: prev_comm=python3 prev_pid=4242 prev_prio=120 prev_state=R ==> \
next_comm=redis next_pid=70 next_prio=120
          redis-70    [001] d..2. 5.016000: sched_switch: prev_comm=redis prev_pid=70 prev_prio=120 prev_state=S ==> \
next_comm=python3 next_pid=4242 next_prio=120
        python3-4242  [001] d..2. 5.017000: sched_migrate_task: comm=python3 pid=4242 prio=120 orig_cpu=1 dest_cpu=0
        python3-4242  [001] d..2. 5.018000: sched_process_fork: comm=python3 pid=4242 child_comm=python3 child_pid=4299
        python3-4242  [001] d..2. 5.019000: sched_stat_runtime: comm=python3
        python3-4242  [001] d..2. 5.030000: sched_switch: prev_comm=python3
        python3-4242  [001] d..2. 5.040000: sched_switch: prev_comm=python3 prev_pid=4242 prev_prio=120 prev_state=S ==> \
next_comm=swapper/1 next_pid=0 next_prio=120
"""

TABLE = """\
timestamp_ns,event_type,pid,tid,comm,cpu,grid_x,grid_y,grid_z,block_x,block_y,block_z,shared_mem,stream,last_offcpu_ns,\
last_oncpu_ns,irq_num,irq_name,duration_ns
1000000000,launchKernel,100,100,train,1,8,1,1,128,1,1,0,0x7,0,0,,,4000
1000050000,launchKernel,100,100,train,1,8,2,1,128,1,1,512,0x7,1000010000,1000030000,,,5000
1000090000,syncStreamSynchronize,100,100,train,1,,,,,,,,0x7,0,0,,,90000
1000200000,hardirq,100,100,train,1,,,,,,,,,,,27,virtio0,3000
1000300000,softirq,100,100,train,1,,,,,,,,,,,3,NET_RX,2000
1000400000,noSuchEvent,100,100,train,1,,,,,,,,,,,,,1
a line that is none
1000500000,launchKernel,100,101,helper,0,1,1,1,32,1,1,0,0x0,0,0,,,3000
"""


def call(name, begin_us, duration_us, correlation, pid, category="cuda_runtime"):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": pid, "ts": begin_us, "dur": duration_us,
            "args": {"correlation": correlation}}


def on_gpu(name, begin_us, duration_us, correlation, category="kernel", stream=7, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": begin_us, "dur": duration_us,
            "args": {"device": 0, "stream": stream, "correlation": correlation, **arguments}}


def span(name, begin_us, duration_us, pid, category="user_annotation", **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": pid, "ts": begin_us, "dur": duration_us, "args": arguments}


def step_events(pid, number, begin, late_us):
    """A step of 1 ms of a rank: launches, a copy, a collective that begins late, and a wait for the GPU."""
    correlation = 100 * number
    events = [span(f"ProfilerStep#{number}", begin, 990, pid), span("aten::mm", begin + 5, 60, pid, "cpu_op")]
    for n in range(8):
        at = begin + 10 + 30 * n + (late_us if n > 4 else 0)
        events += [call("cudaLaunchKernel", at, 6, correlation + n, pid),
                   on_gpu("gemm" if n % 2 else "norm", at + 9, 20 + n, correlation + n, grid=[8, n + 1, 1], block=[128, 1, 1])]
    events += [call("cudaMemcpyAsync", begin + 300 + late_us, 8, correlation + 20, pid),
               on_gpu("Memcpy HtoD (Pageable -> Device)", begin + 310 + late_us, 15, correlation + 20, "gpu_memcpy", bytes=1 << 16),
               call("cudaMalloc", begin + 340 + late_us, 120, correlation + 21, pid),
               span("record_param_comms", begin + 480 + late_us, 9, pid, "cpu_op",
                    **{"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 2,
                       "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Seq": number + 1}),
               call("cudaLaunchKernel", begin + 482 + late_us, 5, correlation + 30, pid),
               on_gpu("ncclDevKernel_AllReduce_Sum_f32", begin + 490 + late_us, 560 - late_us - 490 + 200, correlation + 30, stream=9),
               call("cudaStreamSynchronize", begin + 500 + late_us, 780 - 500 - late_us, correlation + 31, pid)]
    return events


def write_profile(path, pid, rank, late_us):
    events = []
    for number in range(8):
        events += step_events(pid, number, START + 1000 * number, late_us if number % 3 else 0)
    text = json.dumps({"traceEvents": events, "host_name": "testhost", "distributedInfo": {"rank": rank, "world_size": 2}})
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def make_runs(build, folder):
    """Makes the run folders; those whose trace files are made by the command itself are made by the first of their documents."""
    subprocess.run([build.folder / "bin" / "golden_runs", folder], check=True)
    runs = {path.name: "made" for path in sorted(folder.iterdir())}
    subprocess.run([build.folder / "bin" / "golden_made_run", folder / "many", "4", "2500"], check=True)
    runs["many"] = "made"
    for version in (1, 2, 3):
        (folder / f"version{version}").mkdir()
        for path in sorted(HERE.glob(f"version{version}*.hp*")):
            shutil.copy(path, folder / f"version{version}")
        runs[f"version{version}"] = "made"
    for rank, late_us in ((0, 0), (1, 150)):
        write_profile(folder / f"rank{rank}.json.gz", 4242 + rank, rank, late_us)
    (folder / "trace.txt").write_text(FTRACE)
    (folder / "events.csv").write_text(TABLE)
    runs["profile"] = ("import", "-o", "profile", "--kineto", "rank0.json.gz", "rank1.json.gz")
    shutil.copytree(folder / "threads", folder / "joined")
    runs["joined"] = ("import", "-o", "joined", "--kineto", "rank0.json.gz")
    shutil.copytree(folder / "threads", folder / "ftrace")
    runs["ftrace"] = ("import", "-o", "ftrace", "--ftrace", "--clock", "mono", "trace.txt")
    runs["table"] = ("import", "-o", "table", "--csv", "events.csv")
    runs["copy"] = ("import", "-o", "copy", "--csv", "input.csv")
    for rank in range(3):
        path = folder / f"nccl_trace_rank_{rank}"
        shutil.copy(SAMPLES / path.name, path)
        os.utime(path, ns=(DUMPED_NS, DUMPED_NS))
        shutil.copy(SAMPLES / f"{path.name}.json", folder)
        os.utime(folder / f"{path.name}.json", ns=(DUMPED_NS, DUMPED_NS))
    runs["hang"] = ("import", "-o", "hang", "--flight-recorder", *(f"nccl_trace_rank_{rank}" for rank in range(3)))
    runs["hang_json"] = ("import", "-o", "hang_json", "--flight-recorder", *(f"nccl_trace_rank_{rank}.json" for rank in range(3)))
    write_job(folder / "job.sqlite")
    (folder / "inspector.log").write_text("".join(inspector_lines()))
    runs["inspector"] = ("import", "-o", "inspector", "--inspector", "inspector.log")
    runs["nsight"] = ("import", "-o", "nsight", "--nsight", "job.sqlite")
    for rank, late_us in ((0, 0), (1, 120)):
        (folder / f"ascend_rank{rank}").mkdir()
        write_rank(folder / f"ascend_rank{rank}" / "trace_view.json", rank, late_us=late_us)
    runs["ascend"] = ("import", "-o", "ascend", "--kineto", *(f"ascend_rank{rank}/trace_view.json" for rank in range(2)))
    for path in sorted(PROFILES.glob("*.json.gz")):
        name = "kineto_" + path.name.removesuffix(".json.gz").replace("-", "_")
        shutil.copy(path, folder / f"{name}.json.gz")
        runs[name] = ("import", "-o", name, "--kineto", f"{name}.json.gz")
    return runs


def outputs_of(run, made):
    """(arguments of the command, what it writes beside its standard output or None) of each document of the run."""
    if run == "copy":
        yield ("export", "input", "--csv", "input.csv"), None
    if made != "made":
        yield made, None
    for options in REPORTS:
        yield ("report", *options.split(), run), None
    for rank in RANKED.get(run, ()):
        for options in (("--all",), ("--json",)):
            yield ("report", *options, "--rank", str(rank), run), None
    if run in DUMPED or run.startswith("kineto_"):
        for options in DUMPS:
            yield ("dump", *options.split(), run), None
    if run in EXPORTED or run.startswith("kineto_"):
        for form in EXPORTS:
            path = f"{run}{form.replace('--', '.')}"
            yield ("export", run, form, path), path
    if run in STACKED:
        for options in ((), ("--by-step",)):
            path = f"{run}.stacks{''.join(options)}"
            yield ("export", run, "--flamegraph", path, *options), path
    if run in LISTED:
        yield ("hooks", run), None
    for file in FILES.get(run, ()):
        yield ("report", f"{run}/{file}"), None
        yield ("dump", f"{run}/{file}"), None
    for old, new in PAIRS:
        if old == run:
            yield ("diff", old, new), None
            yield ("diff", "--all", old, new), None
            yield ("diff", "--json", old, new), None
    for old, new, limit in GATES:
        if old == run:
            yield ("diff", "--fail-over", limit, old, new), None
    if run == "before":
        yield ("diff", "--json", "--fail-over", "3%", run, "after"), None
