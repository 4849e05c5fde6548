#!/usr/bin/env python3
"""A small training on the CPU whose pool of threads has as many as is asked for, and whose CPU mask somebody may have narrowed.

usage: train_supply.py [--threads N] [--narrow main|workers] [--workers N] [--steps N]
"""

import argparse
import os
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch.utils.data import DataLoader, Dataset


def narrow_mask():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class Samples(Dataset):
    def __len__(self):
        return 1 << 16

    def __getitem__(self, index):
        burn(0.012)
        return torch.full((16,), float(index % 7))


def narrow_worker(number):
    narrow_mask()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--narrow", choices=("main", "workers"))
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.randn(8).sum()
    if options.narrow == "main":
        narrow_mask()
    net = torch.nn.Linear(16, 16)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    batches = iter(DataLoader(Samples(), num_workers=options.workers,
                              worker_init_fn=narrow_worker if options.narrow == "workers" else None)) if options.workers else None
    x = torch.zeros(1 << 19)
    for _ in range(options.steps):
        if batches:
            net(next(batches)).sum().backward()
            burn(0.010)
        else:
            for _ in range(150):
                x.add_(1)
            net(torch.ones(2, 16)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
