"""Runs with one or two bottlenecks planted, and healthy ones: what is started, what the report is to say, and the same run without it.

A fault comes from the simulated node (SIMNODE_FAULT), from the program, or from the machine (outside.py). Programs say nothing to
hostprobe that users' programs do not.
"""

import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import probed  # noqa: E402
from outside import Beside, Quota, Stopped  # noqa: E402

HERE = Path(__file__).resolve().parent
EXAMPLES = probed.BUILD / "examples"
ONE_CPU = "1"
IN_CI = ("gc", "gil", "lock", "file_lock")  # of what is planted in PyTorch
# With workers two ranks are not healthy: handing a batch of two small tensors on takes longer than to make it, and four processes have
# two CPUs. So only those have workers whose fault is there; and those that want a CPU for it a single rank.
BUSY_WORKERS = ("transform", "file_lock", "loader_fsync")
IN_WORKERS = ("loader", *BUSY_WORKERS)


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    command: tuple
    gpus: int = 0
    causes: tuple = ()  # ids that are right; none: healthy
    rank: int | None = None  # where it sits; None: nowhere in particular
    faults: str = ""
    short: bool = False  # also in CI
    outside: tuple = ()
    cpus: str = ""  # that the job may use, as taskset wants them
    without: tuple = ()  # fields of the same run without its heaviest fault, as pairs
    mended: tuple = ()  # of the same run after what the finding advises, where that is less than to be without
    also: tuple = ()  # of two faults, ids of the smaller one
    hidden: tuple = ()  # of two faults, ids of one that costs nothing beside the other
    site: tuple = ()  # words, one of which the heaviest finding's site is to hold

    def start(self, folder, mode="trace"):
        """The command of `hostprobe run`, and changes to the environment."""
        simulated = ("--simgpu", self.gpus) if self.gpus else ()
        pinned = ("taskset", "-c", self.cpus) if self.cpus else ()
        changes = {"HOSTPROBE_MODE": mode}
        if self.faults:
            changes["SIMNODE_FAULT"] = self.faults
        return (*pinned, probed.COMMAND, "run", "-o", folder, *simulated, "--", *self.command), changes

    def cannot(self):
        """Why it may not be run here; None: it may."""
        return next((why for why in (one.cannot() for one in self.outside) if why), None)

    def clean(self):
        """The same without the fault; None: nothing is known of that."""
        return dataclasses.replace(self, **dict(self.without)) if self.without else None

    def after(self):
        """The same after the advice was followed."""
        return dataclasses.replace(self, **dict(self.mended)) if self.mended else self.clean()

    def key(self):
        """Runs with the same one are the same."""
        return self.command, self.gpus, self.faults, self.outside, self.cpus


def loop(*options):
    return (EXAMPLES / "train_loop", "--steps", 400, *options)


def parallel(ranks, *options, steps=150):
    return (EXAMPLES / "train_parallel", "--ranks", ranks, "--steps", steps, *options)


def torch(*options, ranks=2, workers=0):
    """Ranks of PyTorch on the CPU."""
    return (probed.path_of("TORCH_PYTHON"), "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}",
            HERE / "train_cpu.py", "--workers", workers, *options)


TENSOR = ("--tensor", 2, "--pipeline", 1)


def healthy():
    """Among them delays that cost nothing."""
    yield Scenario("healthy_loop", loop(), 1, short=True)
    yield Scenario("healthy_large_kernels", loop("--kernels", 20, "--kernel-us", 300), 1)
    yield Scenario("healthy_data_parallel", parallel(2, "--tensor", 1, "--pipeline", 1, "--kernel-us", 60), 2, short=True)
    yield Scenario("healthy_tensor_parallel", parallel(2, *TENSOR, "--kernel-us", 60), 2)
    yield Scenario("healthy_pipeline", parallel(2, "--tensor", 1, "--pipeline", 2, "--kernel-us", 60), 2)
    yield Scenario("healthy_sharded", parallel(4, "--tensor", 2, "--pipeline", 1, "--kernel-us", 200, steps=40), 4)
    yield Scenario("healthy_graphs", parallel(2, *TENSOR, "--graph", 1, "--kernel-us", 60), 2)
    yield Scenario("healthy_decode", loop("--graph", 25, "--vary", 1), 1)
    yield Scenario("healthy_ddp", torch())
    yield Scenario("healthy_single", torch(ranks=1))
    # The host needs time before each launch, but is ahead of the GPU.
    yield Scenario("healthy_run_ahead", loop("--kernels", 100, "--kernel-us", 60, "--host-us", 15), 1)
    # A launch is late while there is still work queued.
    yield Scenario("healthy_late_launches", loop("--kernels", 100, "--kernel-us", 60), 1, faults="launch_delay,amount=20")
    # A thread writes them while training goes on.
    yield Scenario("healthy_checkpoints",
                   parallel(2, "--tensor", 1, "--pipeline", 1, "--kernel-us", 60, "--checkpoint-every", 5), 2)
    # Loader threads want the CPU that they share with others; batches are ready all the same.
    yield Scenario("healthy_slow_batches", loop("--kernels", 100, "--kernel-us", 60, "--load-us", 4000, "--threads", 2), 1)


def on_the_simulated_node():
    yield Scenario("launches", loop("--kernel-us", 1, "--host-us", 5), 1, ("launch_bound",), short=True)
    yield Scenario("launches_more", loop("--kernel-us", 1, "--host-us", 15), 1, ("launch_bound",))
    for us in (5000, 20000):
        yield Scenario(f"loader_{us}", loop("--steps", 150, "--load-us", us), 1, ("dataloader_wait",), short=us == 20000,
                       without=(("command", loop("--steps", 150)),))
    for amount in (1.5, 3):  # as many steps as are recorded before the budget sheds launches
        yield Scenario(f"slow_gpu_{amount}", parallel(2, *TENSOR, "--kernel-us", 40, steps=90), 2, ("slow_gpu",), 1,
                       f"slow_gpu,rank=1,amount={amount}", short=amount == 3, without=(("faults", ""),))
    for us in (20, 100):
        yield Scenario(f"launch_delay_{us}", parallel(2, *TENSOR, steps=60), 2, ("launch_bound",), 1,
                       f"launch_delay,rank=1,amount={us}", short=us == 100, without=(("faults", ""),))
    for us in (200, 1000):
        yield Scenario(f"proxy_delay_{us}", parallel(2, *TENSOR, steps=40), 2, ("proxy_delay",), 1,
                       f"proxy_delay,rank=1,amount={us}", without=(("faults", ""),))
    for fault, amounts in (("slow_link", (200, 1000)), ("link_latency", (100, 200))):  # most messages are small
        for amount in amounts:
            yield Scenario(f"{fault}_{amount}", parallel(2, *TENSOR, "--kernel-us", 40, steps=60), 2, ("comm_bandwidth",),
                           faults=f"{fault},rank=1,amount={amount}", site=("nccl",), without=(("faults", ""),))
    for every in (2, 1):
        yield Scenario(f"syncs_{every}", loop("--sync-every", every), 1, ("sync_calls",), site=("cuStreamSynchronize",),
                       without=(("command", loop()),))
    for kb in (4096, 32768):
        yield Scenario(f"pageable_{kb}", loop("--pageable-kb", kb), 1, ("pageable_copy",), site=("cuMemcpy",),
                       without=(("command", loop()),), mended=(("command", loop("--pinned-kb", kb)),))
    for us in (500, 2000):
        yield Scenario(f"callbacks_{us}", loop("--callback-us", us), 1, ("host_work",), short=us == 2000, site=("cuLaunchHostFunc",),
                       without=(("command", loop()),))
    for ms in (2, 10):
        yield Scenario(f"module_loads_{ms}", loop("--load-every", 2), 1, ("jit_compile",), faults=f"load_pause,amount={ms}",
                       site=("cuModuleLoad",), without=(("faults", ""), ("command", loop())))
    for us in (50, 300):
        yield Scenario(f"allocations_{us}", loop("--alloc-every", 20), 1, ("alloc_stall",), faults=f"alloc_stall,amount={us}",
                       site=("cuMemAlloc", "cuMemFree"), without=(("faults", ""), ("command", loop())))
    for us in (5, 20):  # of work: two threads run in turns
        handed_over = ("--kernel-us", 1, "--host-us", us, "--kernels", 100)
        yield Scenario(f"hand_overs_{us}", loop(*handed_over, "--helper", 1), 1, ("idle_state_exit",), site=("sem_wait",),
                       without=(("command", loop(*handed_over)),))


def in_pytorch():
    """The steps of one twin differ by 5 % and more from run to run: a gain of less than a third cannot be measured to a fifth of it."""
    for kind, amounts, causes, site in (
            ("gc", (20, 100), ("gc_pause",), ()), ("lock", (10, 30), ("lock_contention",), ()),
            ("gil", (1, 2), ("gil_contention",), ()), ("sleep", (10, 40), ("host_work",), ()),
            ("fsync", (32, 96), ("file_io",), ("fsync",)), ("read", (128, 256), ("file_io",), ("read",)),
            ("pages", (256, 768), ("page_faults",), ("page fault",)),
            ("pipe", (30, 60), ("unexplained",), ("write",)), ("child", (10, 40), ("unexplained",), ("waitpid",)),
            ("loader", (30, 90), ("dataloader_wait",), ()), ("transform", (20, 60), ("dataloader_wait",), ()),
            ("python", (10, 40), ("host_work", "python_overhead"), ()), ("json", (20, 60), ("python_overhead",), ("encode", "plant")),
            ("evaluate", (40, 160), ("host_work",), ("plant",)), ("file_lock", (40, 80), ("lock_contention",), ("flock", "getitem")),
            ("loader_fsync", (96, 192), ("file_io",), ("fsync", "getitem"))):
        for number, amount in enumerate(amounts):
            ranks, workers = 1 if kind in BUSY_WORKERS else 2, int(kind in IN_WORKERS)
            rank = -1 if kind == "json" else number % ranks  # -1: all
            steps = ("--steps", 40) if kind == "gil" else ()  # they last half a second and more
            yield Scenario(f"torch_{kind}_{amount}",
                           torch("--plant", kind, "--amount", amount, "--rank", rank, *steps, ranks=ranks, workers=workers),
                           causes=causes, rank=None if rank < 0 else rank, short=kind in IN_CI and amount == amounts[-1],
                           site=site,
                           # Much of a page's time is the kernel's work for it, which counts as the program's own: no share is held to it.
                           without=() if kind == "pages" else (("command", torch(*steps, ranks=ranks, workers=workers)),))


def from_outside():
    longer = parallel(2, *TENSOR, "--kernel-us", 40, steps=120)
    for for_ms in (150, 300):
        stop = Stopped(for_ms, 500, 1)
        yield Scenario(f"stopped_{for_ms}", longer, 2, ("process_stopped",), 1, outside=(stop,), short=for_ms == 300,
                       without=(("outside", ()),))
        yield Scenario(f"torch_stopped_{for_ms}", torch("--steps", 400), causes=("process_stopped",), rank=1, outside=(stop,),
                       without=(("outside", ()),))
    for cpus in (0.6, 0.3):
        yield Scenario(f"quota_{cpus}", torch(ranks=1), causes=("cpu_throttle",), rank=0,
                       outside=(Quota(cpus),), short=cpus == 0.3, without=(("outside", ()),))
    for cpus in (0.4, 0.25):
        yield Scenario(f"quota_of_a_rank_{cpus}", torch(), causes=("cpu_throttle",), rank=1,
                       outside=(Quota(cpus, 1),), without=(("outside", ()),))
    for others in (1, 3):
        beside = Beside(("stress-ng", "--cpu", str(others), "--taskset", ONE_CPU, "--quiet"))
        yield Scenario(f"neighbours_{others}", torch(ranks=1), causes=("cpu_contention",), rank=0,
                       outside=(beside,), cpus=ONE_CPU, without=(("outside", ()),))
    for ranks in (2, 3):
        yield Scenario(f"one_cpu_{ranks}", torch(ranks=ranks), causes=("cpu_contention",), cpus=ONE_CPU)


def in_pairs():
    """The heavier one comes first; both are among the findings, unless one hides the other."""
    yield Scenario("loads_and_allocations", loop("--alloc-every", 20, "--load-every", 2), 1, ("jit_compile",),
                   faults="load_pause,amount=10;alloc_stall,amount=100", also=("alloc_stall",),
                   without=(("faults", "alloc_stall,amount=100"), ("command", loop("--alloc-every", 20))))
    for name, plants, amounts, ranks, causes, rank, also, left in (
            ("gc_and_sleep", "gc,sleep", "100,15", "0,0", ("gc_pause",), 0, ("host_work",), ("sleep", "15", "0")),
            ("lock_and_sleep", "lock,sleep", "60,10", "1,1", ("lock_contention",), 1, ("host_work",), ("sleep", "10", "1")),
            ("sleep_and_fsync_elsewhere", "sleep,fsync", "80,8", "0,1", ("host_work",), 0, (), ("fsync", "8", "1"))):
        plant, amount, where = left
        yield Scenario(f"torch_{name}", torch("--plant", plants, "--amount", amounts, "--rank", ranks), causes=causes, rank=rank,
                       also=also, without=(("command", torch("--plant", plant, "--amount", amount, "--rank", where)),))
    yield Scenario("loader_and_syncs", loop("--steps", 150, "--load-us", 8000, "--sync-every", 2), 1, ("dataloader_wait",),
                   hidden=("sync_calls",), without=(("command", loop("--steps", 150, "--sync-every", 2)),))
    yield Scenario("stopped_and_slow_gpu", parallel(2, *TENSOR, "--kernel-us", 40, steps=400), 2, ("process_stopped",), 0,
                   "slow_gpu,rank=1,amount=1.5", outside=(Stopped(300, 600, 0),), also=("slow_gpu",),
                   without=(("outside", ()),))


def all_scenarios():
    yield from healthy()
    yield from on_the_simulated_node()
    yield from in_pytorch()
    yield from from_outside()
    yield from in_pairs()
