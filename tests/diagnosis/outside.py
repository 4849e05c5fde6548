"""What befalls a program from outside while it runs: it is stopped, its group's CPU quota is used up, others want its CPUs.

Each has `cannot()`, the reason why it may not be had here or None; `prepare()`, run in the child before it becomes the program; and
`around(process)`, a context in which it acts on a process that the caller started, and on nothing else.
"""

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup/cpu")  # version 1
UNIFIED = Path("/sys/fs/cgroup")
SCORER = os.getpid()  # prepare() runs in a child


def children_of(pid):
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            pids += [int(word) for word in (task / "children").read_text().split()]
    return pids


def rank_in(pid):
    """What a launcher told the process; None: nothing."""
    with contextlib.suppress(OSError):
        for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"RANK="):
                return int(word[5:])
    return None


def find_rank(pid, rank):
    """The process of that rank below `pid`, not one that it started itself; of rank None the last program of the chain."""
    for child in children_of(pid):
        if rank is not None and rank_in(child) == rank:
            return child
        found = find_rank(child, rank)
        if found is not None:
            return found
    return pid if rank is None else None


class Outside:
    """What may be had everywhere, and needs nothing of the program."""

    def cannot(self):
        return None

    def prepare(self):
        pass


class Meanwhile(Outside):
    """What a thread of this program does to the other one while that runs: _act(process, over), until `over` is set."""

    @contextlib.contextmanager
    def around(self, process):
        over = threading.Event()
        thread = threading.Thread(target=self._act, args=(process, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@dataclasses.dataclass(frozen=True)
class Stopped(Meanwhile):
    """SIGSTOP, and SIGCONT after a while, again and again."""

    for_ms: float
    every_ms: float
    rank: int | None = None

    def _act(self, process, over):
        target = None
        while target is None and not over.wait(0.2):
            target = find_rank(process.pid, self.rank) if self.rank is not None or children_of(process.pid) else None
        if target is None:
            return
        with contextlib.suppress(ProcessLookupError):
            descriptor = os.pidfd_open(target)
            try:
                while not over.wait((self.every_ms - self.for_ms) / 1000):
                    signal.pidfd_send_signal(descriptor, signal.SIGSTOP)
                    time.sleep(self.for_ms / 1000)
                    signal.pidfd_send_signal(descriptor, signal.SIGCONT)
            finally:
                os.close(descriptor)


@dataclasses.dataclass(frozen=True)
class Quota:
    """A control group with so much CPU time, for all of the job or for one rank."""

    cpus: float
    rank: int | None = None

    @property
    def group(self):
        return (GROUPS if GROUPS.is_dir() else UNIFIED) / f"hostprobe-diagnosis-{SCORER}"

    def cannot(self):
        try:
            self.group.mkdir()
        except OSError as error:
            return f"no control group of our own: {error}"
        there = (self.group / "cpu.cfs_quota_us").exists() or (self.group / "cpu.max").exists()
        self.group.rmdir()
        return None if there else "control groups here have no quota of CPU time"

    def prepare_group(self):
        self.group.mkdir(exist_ok=True)
        period = 100000
        if (self.group / "cpu.max").exists():
            (self.group / "cpu.max").write_text(f"{int(self.cpus * period)} {period}")
        else:
            (self.group / "cpu.cfs_period_us").write_text(str(period))
            (self.group / "cpu.cfs_quota_us").write_text(str(int(self.cpus * period)))

    def prepare(self):
        self.prepare_group()
        if self.rank is None:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def _move(self, process):
        while process.poll() is None:
            target = find_rank(process.pid, self.rank)
            if target is not None:
                with contextlib.suppress(OSError):
                    (self.group / "cgroup.procs").write_text(str(target))
                return
            time.sleep(0.1)

    @contextlib.contextmanager
    def around(self, process):
        if self.rank is not None:
            threading.Thread(target=self._move, args=(process,), daemon=True).start()
        try:
            yield
        finally:
            for _ in range(50):  # those that ended a moment ago are still in it
                with contextlib.suppress(OSError):
                    self.group.rmdir()
                if not self.group.exists():
                    break
                time.sleep(0.1)


@dataclasses.dataclass(frozen=True)
class Pinned(Meanwhile):
    """A rank may use these CPUs only, as where somebody has given each rank its own."""

    cpus: tuple
    rank: int

    def cannot(self):
        return None if os.sched_getaffinity(0) >= set(self.cpus) else f"there are no CPUs {self.cpus}"

    def _act(self, process, over):
        """Again and again: those started meanwhile by a thread that was not pinned yet are as free as that was."""
        target = None
        while not over.wait(0.05):
            target = target or find_rank(process.pid, self.rank)
            for task in Path(f"/proc/{target}/task").glob("*") if target else ():
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(int(task.name), self.cpus)


@dataclasses.dataclass(frozen=True)
class Beside:
    """Another program that wants the CPU, all the while."""

    command: tuple
    number: int = 0  # of several alike

    def cannot(self):
        return None if shutil.which(self.command[0]) else f"there is no {self.command[0]}"

    def prepare(self):
        pass

    @contextlib.contextmanager
    def around(self, process):
        # In the same session, hence in the same group of the scheduler's.
        other = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            other.terminate()
            other.wait()
