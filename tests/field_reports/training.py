"""The small training that every program here is made of: a linear net on the CPU, and how long each of its steps took.

With STEP_TIMES=FILE in the environment each rank writes its step times, JSON in seconds, to FILE.RANK.
"""

import argparse
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist


def parser(description, steps):
    """Options that every program has. With --healthy the fault is absent."""
    made = argparse.ArgumentParser(description=description.splitlines()[0])
    made.add_argument("--healthy", action="store_true")
    made.add_argument("--steps", type=int, default=steps)
    return made


def join_ranks():
    """The rank of this process among those that torchrun started."""
    dist.init_process_group("gloo")
    return dist.get_rank()


def leave_ranks():
    dist.barrier()
    dist.destroy_process_group()


def on_cpu(seconds):
    """Work that takes so much CPU time, whatever else runs."""
    end = time.thread_time() + seconds
    n = 0
    while time.thread_time() < end:
        n += 1
    return n


class Training:
    def __init__(self, rank=0, width=64):
        torch.set_num_threads(1)
        self.rank, self.times = rank, []
        self.net = torch.nn.Linear(width, width)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-3)
        self.batch = torch.ones(4, width)
        self.matrix = torch.randn(128, 128)
        self.begin = time.perf_counter()

    def compute(self, seconds):
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            torch.mm(self.matrix, self.matrix)

    def backward(self):
        self.net(self.batch).sum().backward()

    def average(self):
        """As DistributedDataParallel does with the gradients of all ranks."""
        dist.all_reduce(self.net.weight.grad)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self, seconds):
        """A whole one that computes for so long; with the other ranks, where there are some."""
        self.compute(seconds)
        self.backward()
        if dist.is_initialized():
            self.average()
        self.update()
        self.end_step()

    def end_step(self):
        now = time.perf_counter()
        self.times.append(now - self.begin)
        self.begin = now

    def write_times(self):
        if path := os.environ.get("STEP_TIMES"):
            with open(f"{path}.{self.rank}", "w") as file:
                json.dump(self.times, file)
