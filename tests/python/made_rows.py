"""Step rows of a job that never ran, with what a query is to find in them planted.

From 40 % of the steps on every rank of host 5 lacks a CPU; rank `drifting` collects garbage for longer and longer; every 97th step rank
`stalling` writes a file. Everything else is noise. The same seed makes the same rows.
"""

import numpy
import pyarrow

BASE_MS = 400.0
PER_HOST = 8
SLOW_HOST = 5
PERIOD = 97
CAUSES = ("gpu_bound", "gc_pause", "gil_contention", "lock_contention", "dataloader_wait", "producer_wait", "file_io", "remote_wait",
          "page_faults", "python_overhead", "host_work", "launch_bound", "sync_calls", "alloc_stall", "pageable_copy", "jit_compile",
          "cpu_contention", "cpu_throttle", "process_stopped", "low_frequency", "idle_state_exit", "proxy_delay", "slow_gpu", "slow_rank",
          "comm_bandwidth", "poor_overlap", "waits_for_rank", "own_cost", "unknown", "unexplained")


class MadeJob:
    def __init__(self, ranks, steps, job="4711", begin_ns=1_795_400_000_000_000_000, seed=1):
        self.ranks, self.steps, self.job, self.begin_ns, self.seed = ranks, steps, job, begin_ns, seed
        self.drifting, self.stalling = ranks - 3, ranks - 10
        self.slow_since = int(0.4 * steps)
        step = numpy.arange(steps)
        self._slow_ms = numpy.where(step >= self.slow_since, 20.0, 0.0)
        self._drift_ms = 30.0 * step / max(1, steps - 1)
        self._stall_ms = numpy.where((step % PERIOD == 0) & (step > 0), BASE_MS, 0.0)
        late = numpy.maximum(numpy.maximum(self._slow_ms, self._drift_ms), self._stall_ms)
        self.step_ms = numpy.round(BASE_MS + late + numpy.random.default_rng(seed).normal(0, 0.5, steps), 3)
        ends = numpy.concatenate([[0], numpy.cumsum(self.step_ms)])[:-1]
        self.step_begin_ns = begin_ns + (1e6 * ends).astype(numpy.int64)

    @property
    def hosts(self):
        return -(-self.ranks // PER_HOST)

    def host_name(self, host):
        return f"n{host:04d}"

    def of_host(self, host):
        """A table of pyarrow, as hostprobe.to_step_rows takes it from a run."""
        ranks = range(host * PER_HOST, min(self.ranks, (host + 1) * PER_HOST))
        random = numpy.random.default_rng([self.seed, host])
        return pyarrow.concat_tables([self._of_rank(rank, host, random) for rank in ranks])

    def _of_rank(self, rank, host, random):
        count = self.steps
        lost = {cause: numpy.zeros(count) for cause in CAUSES}
        lost["host_work"] = random.normal(5, 0.2, count)
        lost["launch_bound"] = random.normal(2, 0.1, count)
        late = numpy.where(random.random(count) < 0.05, random.exponential(0.05, count), 0)
        if host == SLOW_HOST:
            lost["cpu_contention"] = self._slow_ms.copy()
            late = late + self._slow_ms / PER_HOST
        if rank == self.drifting:
            lost["gc_pause"] = self._drift_ms.copy()
            late = late + self._drift_ms
        if rank == self.stalling:
            lost["file_io"] = self._stall_ms.copy()
            late = late + self._stall_ms
        own = sum(lost.values())
        waited = numpy.maximum(0, self.step_ms - BASE_MS - (own - lost["host_work"] - lost["launch_bound"]))
        lost["gpu_bound"] = self.step_ms - own - waited
        names = {"job": [self.job] * count, "host": [self.host_name(host)] * count}
        return pyarrow.table({
            **{name: pyarrow.array(words, pyarrow.string()) for name, words in names.items()},
            "rank": pyarrow.array(numpy.full(count, rank, numpy.int32)),
            "step": pyarrow.array(numpy.arange(count, dtype=numpy.uint64)),
            "begin_ns": pyarrow.array(self.step_begin_ns),
            "ms": pyarrow.array(self.step_ms),
            "type": pyarrow.array(["train"] * count),
            **{f"lost_{cause}_ms": pyarrow.array(values) for cause, values in lost.items()},
            "waited_ms": pyarrow.array(waited),
            "late_ms": pyarrow.array(late),
            "own_us": pyarrow.array(numpy.round(random.exponential(20, count))),
            "lost_records": pyarrow.array(numpy.zeros(count, numpy.uint64))})

    def write(self, data):
        """Returns the number of rows."""
        from hostprobe._step_rows import write_rows
        return sum(write_rows(self.of_host(host), data, str(self.begin_ns)) for host in range(self.hosts))
