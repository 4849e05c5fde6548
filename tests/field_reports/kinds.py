"""Kinds of trouble that users reported in public: the program that has it, how it is started, and what the first screen must hold.

Causes and fixes are ids of the report's JSON. A place is text that the finding must contain: a line of the program that ends in
"# THE LINE", or the name of a file, a library or a thread.
"""

import dataclasses
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "diagnosis"), str(HERE.parent / "python")]

import probed  # noqa: E402
from outside import Quota  # noqa: E402

ANY = -1  # a rank that no matter depends on


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    reports: str  # owner/repository and number
    program: str
    causes: tuple = ()  # ids, one of which the first finding must have; none: no finding may be there
    options: tuple = ()
    ranks: int = 1
    rank: int | None = None  # that the first finding must name; None: it must name none
    line: str | None = ""  # which marked line is the place; None: none of them is
    names: tuple = ()  # further places; all must be there
    fix: str | None = None  # its id; None: no fix of the list is expected
    wrong_fixes: tuple = ()  # that no finding may advise
    twin: tuple = ()  # causes that its twin has as well
    library: str = ""  # a C file that is made a library
    outside: tuple = ()
    hangs_for_s: float | None = None  # it is looked at after so long, and ended

    def places(self):
        return self.names if self.line is None else (line_of(self.program, self.line), *self.names)

    def command(self, healthy):
        launcher = ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.ranks}") if self.ranks > 1 else ()
        options = (*self.options, "--healthy") if healthy else self.options
        return (probed.path_of("TORCH_PYTHON"), *launcher, HERE / self.program, *options)

    def cannot(self):
        """Why it may not be run here; None: it may."""
        return next((why for why in (one.cannot() for one in self.outside) if why), None)


def line_of(program, mark):
    """FILE:NUMBER of the marked line."""
    wanted = re.compile(rf"# THE LINE{re.escape(f': {mark}' if mark else '')}$")
    for number, line in enumerate((HERE / program).read_text().splitlines(), 1):
        if wanted.search(line):
            return f"{program}:{number}"
    raise LookupError(f"{program} has no line that is marked {mark!r}")


def of_the_supply():
    yield Kind("pool_over_quota", "vllm-project/vllm 9113, ollama/ollama 17916, kserve/kserve 1031", "pool_over_quota.py",
               ("cpu_throttle", "cpu_contention"), line=None, names=("libgomp",), fix="fewer_threads", wrong_fixes=("raise_quota",),
               outside=(Quota(1),))
    yield Kind("threads_of_ranks", "OpenMathLib/OpenBLAS 6059, llvm 225493, ISEEKYAN/Megatron-LM 137", "threads_of_ranks.py",
               ("cpu_contention",), ranks=2, rank=ANY, line=None, names=("libgomp",), fix="fewer_threads", wrong_fixes=("more_cpus",))
    yield Kind("ranks_on_one_cpu", "NVIDIA/srt-slurm PR 332, 326; NVIDIA/TensorRT-LLM 18117", "ranks_on_one_cpu.py",
               ("cpu_contention",), ranks=2, rank=ANY, fix="widen_mask", wrong_fixes=("more_cpus",))
    # Workers whose mask is narrow make batches more slowly. In the twin two CPUs are not enough for them either.
    for where, causes, twin in (("parent", ("cpu_contention",), ()),
                                ("workers", ("dataloader_wait", "cpu_contention"), ("dataloader_wait", "cpu_contention"))):
        yield Kind(f"narrow_mask_{where}", "pytorch/pytorch 101850, 8126", "narrow_mask.py", causes, ("--where", where),
                   fix="widen_mask", names=("libnarrow_mask.so",), wrong_fixes=("more_cpus", "num_workers"), twin=twin,
                   library="narrow_mask.c")
    yield Kind("wakers", "pytorch/pytorch PR 164594, PR 156187", "wakers.py", ("cpu_contention",), line=None, names=("waker",),
               library="wakers.c")
    yield Kind("spinners", "vllm-project/vllm 19036", "spinners.py", library="spinners.c")


def of_the_interpreter():
    yield Kind("collect_each_step", "huggingface/peft PR 2894, huggingface/transformers 31372, axolotl PR 1858", "collect_each_step.py",
               ("gc_pause",), fix="no_collect", wrong_fixes=("gc",))
    yield Kind("growing_heap", "sgl-project/sglang 28067, 30693, dask/distributed 8958", "growing_heap.py", ("gc_pause",), line=None,
               names=("growing_heap.py",), fix="freeze", wrong_fixes=("gc",))
    yield Kind("lock_in_free", "pytorch/pytorch 77139", "lock_in_c.py", ("gil_contention",), ("--call", "free"), line="free",
               names=("ckpt-0",), fix="processes")
    yield Kind("lock_in_pickle", "pytorch/pytorch PR 147039, pytorch/torchtitan 3393", "lock_in_c.py", ("gil_contention",),
               ("--call", "pickle"), 2, 0, line="pickle", names=("ckpt-0",), fix="processes")
    yield Kind("recompiled", "facebookresearch/sam2 768, pytorch/pytorch 150488", "recompiled.py", ("python_overhead", "host_work"))


def of_ranks():
    for when, rank in (("always", 1), ("in_turn", None), ("tenth", 1)):
        yield Kind(f"slow_hook_{when}", "traceopt-ai/traceml 252", "slow_hook.py", ("host_work",), ("--when", when), 2, rank)
    yield Kind("log_in_loop", "wandb/wandb 950, neuracore PR 893", "log_in_loop.py", ("remote_wait",), (), 2, 0,
               line="request", names=("127.0.0.1",))
    yield Kind("one_loads_for_all", "huggingface/accelerate 1245, huggingface/transformers 24999", "one_loads_for_all.py",
               ("host_work", "python_overhead"), (), 2, 0)
    yield Kind("left_path", "NVIDIA/nccl 1730, pytorch/pytorch 118369, ArcticTraining 219", "left_path.py",
               ("slow_rank", "waits_for_rank", "unexplained", "host_work"), (), 2, 1, hangs_for_s=15)


def of_memory_and_files():
    yield Kind("fresh_memory", "pytorch/pytorch PR 53715, candle 2149, golang/go 61718", "fresh_memory.py", ("page_faults",))
    yield Kind("cold_map", "mcvickerlab/GenVarLoader 338, jnwatson/py-lmdb 281, NVIDIA/Megatron-LM 584", "cold_file.py",
               ("page_faults", "file_io"), ("--by", "map"), line="map", wrong_fixes=("num_workers", "more_cpus"))
    yield Kind("cold_pread", "the same, by pread", "cold_file.py", ("file_io",), ("--by", "pread"), line="pread",
               names=("train.bin",), wrong_fixes=("num_workers", "more_cpus"))


def of_loaders():
    yield Kind("slow_worker", "pytorch/pytorch 135409, 19836", "slow_worker.py", ("dataloader_wait",), fix="in_order",
               wrong_fixes=("num_workers",), twin=("dataloader_wait",))
    yield Kind("starting_workers", "delta-interpolator PR 3, pytorch/pytorch 23662", "starting_workers.py", ("dataloader_wait",),
               fix="persistent_workers", wrong_fixes=("num_workers", "more_cpus"))
    yield Kind("unpickled_batches", "pytorch/pytorch, batches of Python objects", "unpickled_batches.py",
               ("python_overhead", "dataloader_wait", "host_work"))
    yield Kind("forked_pool", "pytorch/pytorch 45198, 75147", "forked_pool.py", ("unexplained", "lock_contention"), line="child",
               names=("libgomp",), hangs_for_s=12)


def all_kinds():
    yield from of_the_supply()
    yield from of_the_interpreter()
    yield from of_ranks()
    yield from of_memory_and_files()
    yield from of_loaders()
