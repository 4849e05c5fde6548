#!/usr/bin/env python3
"""Two ranks under torchrun train a small model on the CPU (gloo), with hostprobe told of batches, steps and compilations by the two
lines marked below. Without hostprobe the same program runs, and the two lines do nothing.

examples:
  hostprobe run -o RUN -- torchrun --nproc-per-node=2 examples/torchrun_hooks.py
  hostprobe report RUN
"""

import argparse
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, which reads it once

import hostprobe.torch  # 1
hostprobe.torch.install()  # 2

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

FEATURES, BATCH = 32, 16


def train(steps: int, workers: int) -> float:
    torch.manual_seed(1)
    features = torch.randn(2 * steps * BATCH, FEATURES)
    samples = TensorDataset(features, features.sum(1, keepdim=True))
    loader = DataLoader(samples, BATCH, sampler=DistributedSampler(samples, drop_last=True), num_workers=workers)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for features, wanted in loader:
        loss = nn.functional.mse_loss(model(features), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50, help="with two ranks (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="DataLoader workers per rank (default %(default)s)")
    options = parser.parse_args()
    if "RANK" not in os.environ:
        sys.exit("torchrun_hooks.py: start it with: torchrun --nproc-per-node=2 examples/torchrun_hooks.py")
    dist.init_process_group("gloo")
    loss = train(options.steps, options.workers)
    if dist.get_rank() == 0:
        print(json.dumps(hostprobe.torch.report(), indent=1), file=sys.stderr)
        print(f"loss {loss.hex()}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
