"""Draws what is wrong with a program: what acts, how strongly, when and on which rank, and the causes that are right by their definitions.

Amounts come from the structure's own arithmetic, so the strength is only what is aimed at: what a fault really costs says the twin.
`causes` are what the definitions of causes call right. Where two of them apply to the same deed both are listed, with the reason.
"""

import dataclasses
import sys

from outside import Beside, Pinned, Quota, Stopped
from structure import BEHIND_US, LAUNCH_US, draw_structure, log_uniform

LINK_GBPS = 8  # as slow as a link inside of a host may be that is no fault; the CPUs of this machine have to move these bytes
WEAKEST, STRONGEST = 0.05, 0.6
SYNC_US = {"auto": 12, "spin": 12, "yield": 15, "block": 40}  # until a host that waited has launched again
HAND_OVER_US = 20  # two ways of a thread back onto a CPU
DELAYS = ("compute", "sleep", "fsync", "read", "pages", "ask")
# What a thread does that makes it late. Sleeping counts as the program's own: nobody else keeps the thread from going on.
CAUSE_OF = {"compute": "host_work", "sleep": "host_work", "fsync": "file_io", "read": "file_io", "pages": "page_faults", "ask": "remote_wait"}
# Names beside the drawn one that say where it is: the call, and the function of the program's that makes it.
NAMES_OF = {"sleep": ("pause_for",), "fsync": ("fsync", "append_until"), "read": ("read_until",), "pages": ("touch_fresh_pages",),
            "ask": ("ask_service",)}
TAKE = ("Channel::take", "LoaderProcesses")
NEEDS_CPU = ("compute", "pages")
ONE_CPU, OTHER_CPU = "1", "0"


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    strength: float = 0  # of the step, as aimed at; 0: hidden
    causes: tuple = ()
    rank: int | None = None
    sites: tuple = ()  # groups of words: of each group one is to be named
    deeds: tuple = ()
    instead: tuple = ()  # deeds where the fault is not
    changes: dict = dataclasses.field(default_factory=dict)  # of the plan's keys
    simnode: str = ""
    outside: tuple = ()
    around: tuple = ()  # from outside, with it and without it
    cpus: str = ""  # with it and without it
    environment: tuple = ()  # the same
    pattern: str = "constant"


@dataclasses.dataclass(frozen=True)
class Pattern:
    every: int = 1
    chance: int = 100
    rank: int = -1
    rotate: int = 0

    @property
    def share(self):
        """Of the steps."""
        return self.chance / 100 / self.every

    @property
    def where(self):
        return None if self.rank < 0 else self.rank

    def words(self):
        when = f"every {self.every} steps" if self.every > 1 else f"in {self.chance} % of the steps" if self.chance < 100 else "constant"
        who = f" on rank {self.rank}" if self.rank >= 0 else " on one rank after the other" if self.rotate else ""
        return when + who

    def keys(self):
        return dataclasses.asdict(self)


def draw_pattern(rng, structure, hungry=False):
    """`hungry`: it needs a CPU for itself, and there are two for all ranks."""
    every, chance = rng.choice(((1, 100), (1, 100), (rng.randint(2, 8), 100), (1, rng.randint(10, 50))))
    if structure.ranks == 1:
        return Pattern(every, chance)
    who = rng.choice(("one", "one", "turns") if hungry else ("all", "one", "one", "turns"))
    if who == "turns" and every * chance == 100:
        return Pattern(rotate=1)
    return Pattern(every, chance, rank=-1 if who == "all" else rng.randrange(structure.ranks))


def affordable(how, structure):
    """More ranks than CPUs leave none for a thread that computes."""
    return "sleep" if how in NEEDS_CPU and structure.ranks > 2 else how


def on_a_rank(rng, structure, pattern):
    """Not one rank after the other."""
    return dataclasses.replace(pattern, rotate=0, rank=rng.randrange(structure.ranks)) if pattern.rotate else pattern


def times_of(structure, where):
    return {"micro_batch": structure["micro_batches"], "backward": structure["micro_batches"], "layer": structure.passes,
            "kernel": structure.launched}.get(where, 1)


def extra_us(structure, strength):
    return structure.step_us * strength / (1 - strength)


def delay_us(structure, strength, pattern, where):
    """How long the launching thread is to be held up there each time, so that steps lose that share."""
    step, host, ahead, times = structure.step_us, structure.host_us, structure.ahead, times_of(structure, where)
    filling = 0
    if structure["structure"] == "pipeline" and pattern.rank > 0:  # a later stage begins later
        filling = pattern.rank * step / (structure["micro_batches"] + structure.ranks - 1)
    begins = ahead == 0 and where in ("step", "input")
    if pattern.share == 1 and not pattern.rotate and ahead and times == 1 and structure["loss_every"] > 1:
        return between_reads_us(structure, strength)
    if pattern.share == 1 and not pattern.rotate and not begins:
        queued = 0 if ahead or where == "end" else step / times
        return max(20 / times, (step / (1 - strength) - queued - host) / times)
    hidden = filling if begins else max(ahead * step, step - host)
    return (extra_us(structure, strength) / pattern.share + hidden) / times


def between_reads_us(structure, strength):
    """The same of a host that is ahead, but for the steps whose loss it reads: behind these the GPU has nothing."""
    step, host, reads = structure.step_us, structure.host_us, structure["loss_every"]
    first = extra_us(structure, strength) * reads  # if it is ahead again before the next read
    return first if first + host <= step else max(step - host, step / (1 - strength) - host - step / reads)


def launch_delay_us(structure, strength):
    """What each launch is to take longer. A host that begins each step anew is behind the GPU where kernels are short."""
    step, host, launched = structure.step_us, structure.host_us, structure.launched
    if structure.ahead:
        return (step / (1 - strength) - host) / launched
    durations = [structure["kernels"][kernel][1] + BEHIND_US for kernel in structure["layer_kernels"]]
    low, high = 0.0, step / (1 - strength) / launched
    for _ in range(30):
        delay, launching, ending = (low + high) / 2, 0.0, 0.0
        for at in range(launched):
            launching += LAUNCH_US + delay
            ending = max(ending, launching) + durations[at % len(durations)]
        low, high = (low, delay) if ending > sum(durations) * launched / len(durations) / (1 - strength) else (delay, high)
    return high


def deed(where, how, function, us=0, pattern=Pattern(), **more):
    return {"where": where, "how": how, "function": function, "us": round(us, 1), **pattern.keys(), **more}


def draw_delay(rng, structure, strength, function, how=None, wheres=("step", "input", "end", "backward", "micro_batch", "layer")):
    """The launching thread does something else first."""
    how = affordable(how or rng.choice(DELAYS), structure)
    pattern = draw_pattern(rng, structure, how in NEEDS_CPU)
    where = rng.choice([one for one in wheres if not (one == "backward" and structure["structure"] == "decode")])
    if how in ("fsync", "read", "ask", "pages") and where == "layer":
        where = "step"  # one such deed is longer than what a layer's would have to be
    us = delay_us(structure, strength, pattern, where)
    changes = {"port": rng.randint(20000, 30000)} if how == "ask" else {}
    return structure, Fault(f"{how} at {where}", strength, (CAUSE_OF[how],), pattern.where, ((function, *NAMES_OF.get(how, ())),),
                            (deed(where, how, function, us, pattern),), changes=changes, pattern=pattern.words())


def maker_causes(cause, how):
    """A thing is late because its maker waits for a file: the maker's own cause is as right as the wait for what it makes."""
    return (cause, "file_io") if how in ("fsync", "read") else (cause,)


def maker_us(structure, strength, pattern, makers, stored):
    """How long one thing takes to make, of `makers` at once and with `stored` of them in advance."""
    if pattern.share == 1:
        return makers * structure.step_us / (1 - strength)
    late = 0.5 if pattern.chance < 100 else 1  # of the stored ones: chance brings several in a row
    return extra_us(structure, strength) / pattern.share + late * (stored + structure.ahead) * structure.step_us


def draw_input(rng, structure, strength, function):
    how = affordable(rng.choice(("compute", "compute", "sleep", "sleep", "fsync", "read")), structure)
    hungry = how == "compute"
    pattern = on_a_rank(rng, structure, draw_pattern(rng, structure, hungry))
    if hungry:
        structure = structure.with_keys(loaders=1)
        pattern = dataclasses.replace(pattern, rank=pattern.rank if structure.ranks == 1 else rng.randrange(structure.ranks))
    if structure["loader"] == "none":  # the launching thread makes it: the input is late, and the time is that thread's own work
        us, causes = delay_us(structure, strength, pattern, "input"), ("dataloader_wait", CAUSE_OF[how])
        sites = ((structure["take_function"], function, *NAMES_OF.get(how, ())),)
    else:
        us = maker_us(structure, strength, pattern, structure["loaders"], structure["queue"])
        causes = maker_causes("dataloader_wait", how)
        sites = ((structure["take_function"], *TAKE), (structure["loader_name"], function, *NAMES_OF.get(how, ())))
    return structure, Fault(f"input by {structure['loader']}, {how}", strength, causes, pattern.where, sites,
                            (deed("loader", how, function, us, pattern),), pattern=pattern.words())


def draw_product(rng, structure, strength, function):
    how = affordable(rng.choice(("compute", "compute", "sleep", "sleep", "fsync", "read")), structure)
    structure = structure.with_keys(producer_lead=structure["producer_lead"] or rng.choice((1, 3)))
    pattern = on_a_rank(rng, structure, draw_pattern(rng, structure, how == "compute"))
    if how == "compute" and structure.ranks > 1:
        pattern = dataclasses.replace(pattern, rank=rng.randrange(structure.ranks))
    us = maker_us(structure, strength, pattern, 1, structure["producer_lead"])
    causes = maker_causes("producer_wait", how)
    if structure["loader"] == "none":  # nothing is waited for between it and the copy: it may as well be the input
        causes = (*causes, "dataloader_wait")
    return structure, Fault(f"product, {how}", strength, causes, pattern.where,
                            ((structure["product_function"], *TAKE), (structure["producer_name"], function, *NAMES_OF.get(how, ()))),
                            (deed("producer", how, function, us, pattern),), pattern=pattern.words())


def draw_lock(rng, structure, strength, function):
    """Another thread holds a lock that each step, or each layer, takes as well."""
    how = affordable(rng.choice(("compute", "sleep")), structure)
    rank = rng.randrange(structure.ranks) if structure.ranks > 1 else -1
    pattern = Pattern(rank=rank)
    sites = ((structure["lock_function"], "LockHolder::lock"), (structure["holder_name"], function, *NAMES_OF.get(how, ())))
    if rng.random() < 0.5:
        changes, base = {}, {"holder": "triggered", "lock_at": "step"}
        us = delay_us(structure, strength, pattern, "end")  # it is asked for when the step has been launched
    else:
        structure = structure.with_keys(run_ahead=0)
        us = rng.uniform(3000, 8000)
        changes, base = {"holder_rest_us": round(us * (1 - strength) / strength)}, {"holder": "periodic", "lock_at": "layer"}
        pattern = dataclasses.replace(pattern, every=1)
    return structure.with_keys(**base), Fault(f"lock, {base['holder']}, {how}", strength, ("lock_contention",), pattern.where, sites,
                                              (deed("holder", how, function, us, pattern),), changes=changes, pattern=pattern.words())


def with_small_kernels(structure, kernel_us):
    """The same with as many kernels of that duration in a layer as make a step of that length."""
    of_layer = structure["layer_kernels"]
    count = round(structure.step_us / (kernel_us + BEHIND_US) / structure.launched * len(of_layer))
    kernels = [(name, round(kernel_us, 2)) for name, _ in structure["kernels"]]
    changed = structure.with_keys(layer_kernels=[of_layer[i % len(of_layer)] for i in range(max(1, min(60, count)))], kernels=kernels)
    return changed.with_keys(step_us=changed.launched * (kernel_us + BEHIND_US))


def draw_synchronize(rng, structure, strength, function):
    cost = SYNC_US[structure["sync"]]
    where = rng.choice(("kernel", "kernel", "layer"))
    between = 1 if where == "kernel" else 3
    structure = with_small_kernels(structure.with_keys(graph=0), max(2, cost * (1 - strength) / strength / between - BEHIND_US))
    pattern = Pattern(rank=rng.choice((-1, 0, structure.ranks - 1)) if structure.ranks > 1 else -1)
    return structure, Fault(f"synchronize at each {where}", strength, ("sync_calls",), pattern.where, (("cuStreamSynchronize", function),),
                            (deed(where, "synchronize", function, pattern=pattern),), pattern=pattern.words())


def draw_read_back(rng, structure, strength, function):
    """A value looked at behind each kernel or layer: into pageable memory, so that the copy itself waits. Where a synchronise follows,
    as a program needs that does not rely on it, both keep the host from going on: neither is gone without the other."""
    how = rng.choice(("read_pageable", "read_and_wait"))
    where = rng.choice(("kernel", "layer"))
    cost = SYNC_US[structure["sync"]] + 5
    structure = with_small_kernels(structure.with_keys(graph=0), max(2, cost * (1 - strength) / strength / (1 if where == "kernel" else 3)))
    pattern = Pattern(rank=rng.choice((-1, 0)) if structure.ranks > 1 else -1)
    causes = ("pageable_copy",) if how == "read_pageable" else ("sync_calls", "pageable_copy")
    return structure, Fault(f"{how} at each {where}", strength, causes, pattern.where, (("cuMemcpyDtoH", function),),
                            (deed(where, how, function, pattern=pattern),), pattern=pattern.words())


def draw_pageable(rng, structure, strength, function):
    """The twin copies as much from pinned memory, at five times the rate and without waiting."""
    pattern = dataclasses.replace(on_a_rank(rng, structure, draw_pattern(rng, structure, hungry=True)), every=1, chance=100)
    size = int(min(48e6, extra_us(structure, strength) * 12500)) // 4096 * 4096 + (128 << 10)
    return structure, Fault("pageable input", strength, ("pageable_copy",), pattern.where, (("cuMemcpyHtoD", function),),
                            (deed("input", "copy_pageable", function, pattern=pattern, bytes=size),),
                            (deed("input", "copy_pinned", function, pattern=pattern, bytes=size),), pattern=pattern.words())


def draw_allocations(rng, structure, strength, function):
    where = rng.choice(("micro_batch", "layer", "step"))
    times = times_of(structure, where)
    pattern = dataclasses.replace(on_a_rank(rng, structure, draw_pattern(rng, structure, hungry=True)), every=1, chance=100)
    us = max(1, (extra_us(structure, strength) / times - 15) / 2)
    rank = f",rank={pattern.rank}" if pattern.rank >= 0 else ""
    return structure, Fault(f"allocate at each {where}", strength, ("alloc_stall",), pattern.where, (("cuMemAlloc", "cuMemFree", function),),
                            (deed(where, "allocate", function, pattern=pattern, bytes=1 << 20),),
                            simnode=f"alloc_stall{rank},amount={us:.1f}", pattern=pattern.words())


def draw_module(rng, structure, strength, function):
    pattern = on_a_rank(rng, structure, draw_pattern(rng, structure, hungry=True))
    us = delay_us(structure, strength, pattern, "input")
    rank = f",rank={pattern.rank}" if pattern.rank >= 0 else ""
    return structure, Fault("load a module", strength, ("jit_compile",), pattern.where, (("cuModuleLoad", function),),
                            (deed("input", "load_module", function, pattern=pattern),),
                            simnode=f"load_pause{rank},amount={us / 1000:.3f}", pattern=pattern.words())


def draw_call_back(rng, structure, strength, function):
    pattern = draw_pattern(rng, structure, hungry=True)
    us = extra_us(structure, strength) / pattern.share
    return structure, Fault("call back", strength, ("host_work",), pattern.where, (("cuLaunchHostFunc", function),),
                            (deed("input", "call_back", function, us, pattern),), pattern=pattern.words())


def draw_launches(rng, structure, strength, function):
    """Many small kernels, each launched by itself; the twin launches them as graphs."""
    kernel_us = max(0.2, LAUNCH_US * (1 - strength) - BEHIND_US)
    structure = with_small_kernels(structure, kernel_us).with_keys(graph=1)
    return structure, Fault("small launches", strength, ("launch_bound",), changes={"graph": 0})


def simulated(kind, causes):
    """A fault of the simulated node, on one rank of several."""
    def draw(rng, structure, strength, function):
        rank = rng.randrange(structure.ranks)
        each = extra_us(structure, strength) / max(1, structure.collectives)
        if kind == "launch_delay":
            structure = structure.with_keys(graph=0)
            amount = launch_delay_us(structure, strength)
        else:
            amount = {"slow_gpu": 1 / (1 - strength), "proxy_delay": each / 2, "link_latency": each / 2,
                      "slow_link": 1 + each * 1e5 / (structure["message_kb"] * 1024)}[kind]
        return structure, Fault(kind, strength, causes, rank if structure.ranks > 1 else None,
                                simnode=f"{kind},rank={rank},amount={amount:.3f}", pattern=f"constant on rank {rank}")
    return draw


def draw_link(rng, structure, strength, function):
    """Each transfer is slow or late. It shows on all ranks alike, so none is asked for."""
    structure, fault = simulated(rng.choice(("slow_link", "link_latency")), ("comm_bandwidth",))(rng, structure, strength, function)
    return structure, dataclasses.replace(fault, rank=None)


def draw_overlap(rng, structure, strength, function):
    """Transfers that the twin makes beside the backward pass come in line with it."""
    strength = min(strength, 0.3)
    of_gradients = structure["structure"] == "data"
    structure = structure.with_keys(buckets=max(4, structure["layers"]), graph=0)
    each = 2 if of_gradients else structure.collectives  # times that these bytes go over the link in a step
    kilobytes = max(1, round(LINK_GBPS * 1000 / 1024 * extra_us(structure, strength) / each))
    structure = structure.with_keys(**{"gradient_kb" if of_gradients else "parameter_kb": kilobytes})
    return structure, Fault("no overlap", strength, ("poor_overlap",), changes={"overlap": 0},
                            environment=(("SIMNODE_LINK_GBPS", f"{LINK_GBPS}"),))


def draw_hand_over(rng, structure, strength, function):
    """Another thread does a little work before each kernel, and the launching thread waits for it; the twin does it itself. What is lost
    are the ways back onto a CPU. Where other programs keep the CPUs busy, a thread that is woken is runnable and not running."""
    structure = with_small_kernels(structure.with_keys(graph=0), max(2, (HAND_OVER_US + LAUNCH_US) * (1 - strength) - BEHIND_US))
    partner = structure["partner_function"]
    return structure, Fault("hand over", strength, ("idle_state_exit", "cpu_contention"), None, (("sem_", structure["partner_name"], partner),),
                            (deed("partner", "compute", partner, 2),), (deed("kernel", "compute", partner, 2),), changes={"hand_overs": 1})


def with_host_work(structure, share, function):
    """Launches that need that share of the step's time on a CPU, well ahead of the GPU; and waits that need none."""
    structure = structure.with_keys(graph=0, sync="block", run_ahead=2, loss_every=0, loader="none", producer_lead=0)
    us = max(1, share * structure.step_us - structure.host_us) / structure.passes
    return structure, (deed("layer", "compute", function, us),)


def draw_contention(rng, structure, strength, function):
    """Somebody else wants the job's only CPU: a pool of its own, or a neighbour."""
    others = 1 if strength < 0.4 else rng.choice((1, 2, 3)) if strength < 0.5 else 3
    structure, work = with_host_work(structure, min(0.85, 1 / (1 - strength) / (others + 1)), function)
    if rng.random() < 0.5:
        pool = dict(burners=others, burner_rest_us=1)
        own = structure.functions[-1]
        return structure, Fault(f"a pool of {others} on the same CPU", strength, ("cpu_contention",), None,
                                ((structure["burner_name"], own),), (*work, deed("burner", "compute", own, 5000)), work, pool, cpus=ONE_CPU)
    return structure, Fault(f"{others} neighbours on the same CPU", strength, ("cpu_contention",), None, (), work, work,
                            outside=neighbours(others, ONE_CPU), cpus=ONE_CPU)


def neighbours(count, cpus):
    loop = (sys.executable, "-S", "-c", "while True: pass")
    return tuple(Beside(("taskset", "-c", cpus, *loop), number) for number in range(count))


def visitor(share, cpus, number=0):
    """A neighbour that wants its CPU for that share of the time, some ten milliseconds at once."""
    loop = (f"import time\nwhile True:\n end = time.perf_counter() + {0.03 * share:.4f}\n while time.perf_counter() < end: pass\n"
            f" time.sleep({0.03 * (1 - share):.4f})")
    return Beside(("taskset", "-c", cpus, sys.executable, "-S", "-c", loop), number)


def draw_neighbours(rng, structure, strength, function):
    """Beside ranks that need little of their CPUs, but need it at once: what is late is the launching thread, or the one that moves data
    for it; both are without a CPU, and the second one is by definition a late progress thread as well."""
    structure, causes = structure.with_keys(sync="block"), ("cpu_contention", "proxy_delay")
    if rng.random() < 0.5:
        rank = rng.randrange(structure.ranks)
        return structure, Fault("a neighbour on the CPU of a rank", strength, causes, rank, outside=(visitor(strength, ONE_CPU),),
                                around=(Pinned((int(ONE_CPU),), rank),))
    return structure, Fault("neighbours on all CPUs", strength, causes,
                            outside=(visitor(strength, OTHER_CPU, 0), visitor(strength, ONE_CPU, 1)))


def draw_quota(rng, structure, strength, function):
    structure, work = with_host_work(structure, 0.6, function)
    rank = rng.randrange(structure.ranks) if structure.ranks > 1 else None
    return structure, Fault("quota", strength, ("cpu_throttle",), rank, (), work, work, outside=(Quota(round(0.65 * (1 - strength), 2), rank),))


def draw_stopped(rng, structure, strength, function):
    rank = rng.randrange(structure.ranks) if structure.ranks > 1 else None
    if rank is None and structure["loader"] == "processes":
        structure = structure.with_keys(loader="threads")  # it would be a worker that is stopped
    every = rng.randint(250, 500)
    return structure, Fault("stopped", strength, ("process_stopped",), rank, outside=(Stopped(round(strength * every), every, rank),))


SEVERAL = ("data", "sharded", "pipeline", "tensor")
SINGLE = ("single",)
# How often, by what, and in which structures.
KINDS = (
    (6, draw_delay, None), (4, draw_input, None), (4, draw_product, None), (3, draw_lock, None), (2, draw_synchronize, None),
    (2, draw_read_back, None), (2, draw_pageable, None), (2, draw_allocations, None), (2, draw_module, None), (1, draw_call_back, None),
    (2, draw_launches, ("single", "decode")), (1, simulated("launch_delay", ("launch_bound",)), SEVERAL),
    (2, simulated("slow_gpu", ("slow_gpu",)), SEVERAL), (2, simulated("proxy_delay", ("proxy_delay",)), ("tensor", "pipeline")),
    (2, draw_link, ("tensor", "pipeline")), (2, draw_overlap, ("data", "sharded")), (1, draw_hand_over, ("single", "decode")),
    (2, draw_contention, SINGLE), (2, draw_neighbours, SEVERAL), (1, draw_quota, ("single", "data")), (2, draw_stopped, None))


def draw_one(rng):
    """A structure and the fault that it has."""
    _, draw, kinds = rng.choices(KINDS, [weight for weight, _, _ in KINDS])[0]
    structure = draw_structure(rng, kinds)
    return draw(rng, structure, log_uniform(rng, WEAKEST, STRONGEST), structure.functions[0])


def draw_pair(rng):
    """Two of them, each of which makes the launching thread late; the heavier first."""
    structure = draw_structure(rng, ("single", "data", "tensor", "decode")).with_keys(run_ahead=0)
    strength = log_uniform(rng, 0.25, 0.5)
    causes = rng.sample(sorted(set(CAUSE_OF.values())), 2)
    if structure.ranks > 2:  # see affordable(): both would sleep
        causes = ["file_io", "remote_wait"]
    hows = [rng.choice([how for how in DELAYS if CAUSE_OF[how] == cause]) for cause in causes]
    _, first = draw_delay(rng, structure, strength, structure.functions[0], hows[0], ("step", "input"))
    _, second = draw_delay(rng, structure, strength * rng.uniform(0.3, 0.5), structure.functions[1], hows[1], ("step", "input"))
    return structure, first, second


def hidden_delay(rng, structure, function):
    """The host is later than it could be, and still ahead of the GPU."""
    how = rng.choice(("compute", "sleep"))
    structure = structure.with_keys(run_ahead=max(1, structure["run_ahead"]), loss_every=rng.choice((25, 0)))
    free = max(0.0, 0.7 * structure.step_us - structure.host_us)
    return structure, (deed("step", how, function, free * (0.5 if structure.ranks > 1 else 1)),), {}


def hidden_input(rng, structure, function):
    """The loader is busy most of the time, but never late."""
    structure = structure.with_keys(loader=rng.choice(("threads", "processes")))
    us = 0.7 * structure["loaders"] * structure.step_us
    how = "sleep" if structure.ranks > 1 or structure["loaders"] > 1 else rng.choice(("sleep", "compute"))
    return structure, (deed("loader", how, function, us),), {}


def hidden_product(rng, structure, function):
    structure = structure.with_keys(producer_lead=structure["producer_lead"] or 1)
    how = rng.choice(("sleep", "compute")) if structure.ranks == 1 else "sleep"
    return structure, (deed("producer", how, function, 0.6 * structure.step_us),), {}


def hidden_lock(rng, structure, function):
    """The lock is given back before the step wants it, as the host has time to spare."""
    structure = structure.with_keys(holder="triggered", run_ahead=max(1, structure["run_ahead"]), loss_every=rng.choice((25, 0)))
    return structure, (deed("holder", "sleep", function, max(0.0, 0.5 * structure.step_us - structure.host_us)),), {}


def hidden_pool(rng, structure, function):
    """A thread that computes now and then, where a CPU is free."""
    return structure, (deed("burner", "compute", function, 1500),), {"burners": 1, "burner_rest_us": 6000}


HIDDEN = (hidden_delay, hidden_input, hidden_product, hidden_lock, hidden_pool)
# Named by what the same deed is called where it costs something.
HIDDEN_CAUSES = {"hidden_delay": ("host_work",), "hidden_input": ("dataloader_wait", "host_work"), "hidden_product": ("producer_wait",),
                 "hidden_lock": ("lock_contention",), "hidden_pool": ("cpu_contention",)}


def draw_hidden(rng):
    draw = rng.choice(HIDDEN)
    # Decoding is never ahead of the GPU, and a decode step has no room to hide in.
    structure = draw_structure(rng, SINGLE if draw is hidden_pool else ("single", "data", "sharded", "pipeline", "tensor"))
    structure, deeds, changes = draw(rng, structure, structure.functions[0])
    return structure, Fault(draw.__name__.replace("_", " "), 0, HIDDEN_CAUSES[draw.__name__], deeds=deeds, changes=changes)
