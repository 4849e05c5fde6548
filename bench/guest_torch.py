#!/usr/bin/env python3
"""Steps of a small model on the CPU, of some 10 ms, for guest_cost.py; prints how long they took.

guest_torch.py STEPS [--yielding N]   beside N threads of C that yield all the time
guest_torch.py STEPS --workers N      samples by N worker processes of a DataLoader
"""

import argparse
import ctypes
import threading
import time

import torch

SAMPLES, SIZE = 64, 512


class Noise(torch.utils.data.Dataset):
    def __init__(self, steps):
        self.steps = steps

    def __len__(self):
        return SAMPLES * self.steps

    def __getitem__(self, number):
        return torch.full((SIZE,), float(number % 7))


def batches(options):
    if options.workers == 0:
        for _ in range(options.steps):
            yield torch.ones(SAMPLES, SIZE)
        return
    yield from torch.utils.data.DataLoader(Noise(options.steps), batch_size=SAMPLES, num_workers=options.workers)


def yield_always():
    call = ctypes.CDLL(None).sched_yield  # without Python's lock
    while True:
        for _ in range(1000):
            call()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int)
    parser.add_argument("--yielding", type=int, default=0)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for _ in range(options.yielding):
        threading.Thread(target=yield_always, daemon=True).start()
    model = torch.nn.Sequential(*(torch.nn.Linear(SIZE, SIZE) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    ends = [time.perf_counter()]
    for batch in batches(options):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        ends.append(time.perf_counter())
    ms = sorted(1e3 * (end - begin) for begin, end in zip(ends, ends[1:]))
    print(f"step ms: count {len(ms)} median {ms[len(ms) // 2]:.3f} mean {sum(ms) / len(ms):.3f}")


if __name__ == "__main__":
    main()
