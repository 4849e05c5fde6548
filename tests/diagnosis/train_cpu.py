#!/usr/bin/env python3
"""A small DDP training on the CPU (gloo), with bottlenecks planted on request, as a user's script might have them.

usage: torchrun --nproc-per-node=2 train_cpu.py [--plant KIND[,KIND]] [--rank R[,R]] [--amount X[,X]] [--steps N]
                                              [--workers N]
"""

import argparse
import fcntl
import gc
import json
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

LOCK = threading.Lock()
ENTRY = b"x" * 4096
ROWS = [{"name": f"row {number}", "values": list(range(8))} for number in range(50)]


class Samples(Dataset):
    def __init__(self, slow_ms: float, busy: bool, folder: str, fsyncs: float):
        self.slow_s, self.busy = slow_ms / 1000, busy
        self.folder, self.fsyncs, self.journal = folder, fsyncs, None

    def __len__(self):
        return 1 << 16

    def __getitem__(self, index):
        end = time.perf_counter() + self.slow_s
        if self.busy:
            while time.perf_counter() < end:
                pass
        elif self.slow_s:
            time.sleep(self.slow_s)
        if self.fsyncs:
            self.journal = self.journal or open(os.path.join(self.folder, f"journal-{os.getpid()}"), "wb", buffering=0)
            place = index % 32
            append_safely(self.journal, int((place + 1) * self.fsyncs / 32) - int(place * self.fsyncs / 32))
        if index % 32 == 0 and os.path.exists(os.path.join(self.folder, "lock")):
            with open(os.path.join(self.folder, "lock")) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
        return torch.randn(64, generator=torch.Generator().manual_seed(index)), index % 10


def append_safely(journal, count):
    """As what may lose nothing: each entry is on the disk before the next is written."""
    for _ in range(count):
        journal.write(ENTRY)
        os.fsync(journal.fileno())


def hold_interpreter():
    """Pure Python on another thread: it gives the interpreter up every 5 ms only."""
    number = 0
    while True:
        number = (number * 1103515245 + 12345) % 2147483648


def hold_lock(hold_s):
    while True:
        with LOCK:
            time.sleep(hold_s)
        time.sleep(hold_s / 8)


def hold_file_lock(path, hold_s):
    """As a process that writes a cache which the workers read."""
    if os.fork() > 0:
        return
    parent = os.getppid()
    with open(path, "w") as lock:
        while os.getppid() == parent:
            fcntl.flock(lock, fcntl.LOCK_EX)
            time.sleep(hold_s)
            fcntl.flock(lock, fcntl.LOCK_UN)
            time.sleep(hold_s / 8)
    os._exit(0)


class Link:
    def __init__(self):
        self.me = self


def plant(kind, amount, state):
    """Once in each step, between forward and backward."""
    if kind == "gc":
        state["kept"] = state.get("kept") or [[i] for i in range(int(amount * 1000))]
        state["garbage"] = [Link() for _ in range(2000)]
        gc.collect()
    elif kind == "lock":
        with LOCK:
            pass
    elif kind == "sleep":
        time.sleep(amount / 1000)
    elif kind == "python":
        end = time.perf_counter() + amount / 1000
        while time.perf_counter() < end:
            pass
    elif kind == "json":
        end = time.perf_counter() + amount / 1000
        while time.perf_counter() < end:
            json.dumps(ROWS)
    elif kind == "fsync":
        state["journal"] = state.get("journal") or open(state["file"], "wb", buffering=0)
        append_safely(state["journal"], int(amount))
    elif kind == "evaluate":
        with torch.no_grad():
            for _ in range(int(amount)):
                state["model"](state["features"])
    elif kind == "read":
        read_from_disk(state, int(amount))
    elif kind == "pages":
        touch_pages(state, int(amount))
    elif kind == "pipe":
        write_to_slow_reader(state, amount / 1000)
    elif kind == "child":
        subprocess.run(["sleep", str(amount / 1000)], check=True)


def read_from_disk(state, count):
    """Samples that no cache has: straight from the disk, 128 KiB each."""
    size, most = 128 << 10, 256
    if "samples" not in state:
        path = state["file"] + ".samples"
        with open(path, "wb") as out:
            out.write(b"x" * size * most)
            out.flush()
            os.fsync(out.fileno())
        direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
        state["samples"] = open(direct, "rb", buffering=0), mmap.mmap(-1, size)
    samples, buffer = state["samples"]
    for number in range(count):
        samples.seek(number * 7 % most * size)
        samples.readinto(buffer)


def touch_pages(state, count):
    """Samples in a mapped file, of which no cache holds a page."""
    size = mmap.PAGESIZE * 4096
    if "mapped" not in state:
        path = state["file"] + ".mapped"
        with open(path, "wb") as out:
            out.write(b"x" * size)
            out.flush()
            os.fsync(out.fileno())
        file = os.open(path, os.O_RDONLY)
        state["mapped"] = file, mmap.mmap(file, size, prot=mmap.PROT_READ)
        state["mapped"][1].madvise(mmap.MADV_RANDOM)
    file, pages = state["mapped"]
    pages.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for number in range(count):
        assert pages[number * 67 % 4096 * mmap.PAGESIZE] == ord("x")


def write_to_slow_reader(state, pause_s):
    """A log that somebody else reads, a piece at a time."""
    if "reader" not in state:
        reads = f"import os, time\nwhile os.read(0, 16384): time.sleep({pause_s})"
        state["reader"] = subprocess.Popen([sys.executable, "-S", "-c", reads], stdin=subprocess.PIPE, bufsize=0)
    state["reader"].stdin.write(b"x" * 16384)


def planted_on(options, rank):
    """Kind and amount of each that is this rank's."""
    amounts, ranks = options.amount.split(","), options.rank.split(",")
    return {kind: float(amount) for kind, amount, where in zip(options.plant.split(","), amounts, ranks)
            if int(where) in (-1, rank)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--plant", default="none")
    parser.add_argument("--rank", default="-1")
    parser.add_argument("--amount", default="5")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--width", type=int, default=512)
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    plants = planted_on(options, dist.get_rank())
    torch.manual_seed(0)
    width = options.width
    model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    slow_ms = plants.get("loader", plants.get("transform", 0)) / 32
    folder = tempfile.TemporaryDirectory(dir=".")
    if "file_lock" in plants:
        hold_file_lock(os.path.join(folder.name, "lock"), plants["file_lock"] / 1000)
        while not os.path.exists(os.path.join(folder.name, "lock")):
            time.sleep(0.01)
    samples = Samples(slow_ms, "transform" in plants, folder.name, plants.get("loader_fsync", 0))
    batches = iter(DataLoader(samples, batch_size=32, num_workers=options.workers))
    state = {"file": os.path.join(folder.name, "checkpoint"), "model": model.module, "features": torch.randn(32, 64)}
    for _ in range(int(plants.get("gil", 0))):
        threading.Thread(target=hold_interpreter, daemon=True).start()
    if "lock" in plants:
        threading.Thread(target=hold_lock, args=(plants["lock"] / 1000,), daemon=True).start()
    lengths, begin = [], time.perf_counter()
    for _ in range(options.steps):
        features, labels = next(batches)
        loss = nn.functional.cross_entropy(model(features), labels)
        for kind, amount in plants.items():
            plant(kind, amount, state)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        now = time.perf_counter()
        lengths.append(1000 * (now - begin))
        begin = now
    if dist.get_rank() == 0:
        print(f"loss {loss.item():.6f}")
        print(f"step ms: mean {statistics.fmean(lengths[len(lengths) // 10:]):.3f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
