#!/usr/bin/env python3
"""Trains a tiny classifier whose DataLoader cannot keep up: the main thread starves for data. A workload of coverage.py.

Each sample costs its worker some milliseconds, half of them computing and half asleep as if a file had to come, so two
workers make some hundred samples a second while a step of the model takes a few milliseconds. It computes with one
thread; with --threads 2 the waits of OpenMP come in, on two CPUs at the price of a main thread that no longer starves.

examples:
  hostprobe run -o RUN -- python3 bench/train_loader.py
  bench/coverage.py --build build --workload loader
"""

import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FEATURES, CLASSES = 64, 10


class SlowSamples(Dataset):
    def __init__(self, length: int, sample_ms: float):
        self.length = length
        self.half_s = sample_ms / 2000

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int):
        end = time.thread_time() + self.half_s
        features = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        while time.thread_time() < end:
            features = features.roll(1)
        time.sleep(self.half_s)
        return features, index % CLASSES


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150, help="training steps (default %(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples of a step (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="DataLoader workers (default %(default)s)")
    parser.add_argument("--sample-ms", type=float, default=3.0, metavar="MS", help="cost of a sample (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="threads to compute with (default %(default)s)")
    parser.add_argument("--width", type=int, default=512, help="units of the hidden layer (default %(default)s)")
    return parser.parse_args()


def main() -> None:
    args = parse()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(FEATURES, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU(),
                          nn.Linear(args.width, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    loss_of = nn.CrossEntropyLoss()
    begin = time.monotonic()
    for features, classes in DataLoader(SlowSamples(args.steps * args.batch, args.sample_ms), args.batch,
                                        num_workers=args.workers):
        optimizer.zero_grad()
        loss = loss_of(model(features), classes)
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}, {args.steps / (time.monotonic() - begin):.1f} steps/s")


if __name__ == "__main__":
    main()
