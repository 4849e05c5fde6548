#!/usr/bin/env python3
"""Trains a small classifier with DistributedDataParallel on the CPU (gloo), the way larger jobs are put together.

Under torchrun each rank has a DataLoader with persistent workers, a prefetch thread that feeds a queue.Queue, several
gradient buckets, AdamW, and a checkpoint every few steps. Everything is seeded: two runs with the same options print the
same last line, bit for bit, with and without hostprobe.

examples:
  torchrun --nproc-per-node=2 examples/train_ddp.py
  hostprobe run -o RUN -- torchrun --nproc-per-node=2 examples/train_ddp.py --steps 300
  hostprobe run -o RUN -- torchrun --nproc-per-node=2 examples/train_ddp.py --slow-loader-ms 1   # bound by the loader
"""

import argparse
import os
import queue
import sys
import tempfile
import threading
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, which reads it once

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FEATURES, CLASSES, SAMPLES = 64, 10, 4096


class Samples(Dataset):
    """Samples made from their index, so that every worker and every run sees the same ones."""

    def __init__(self, length: int, slow_ms: float):
        self.length = length
        self.slow_s = slow_ms / 1000

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int):
        if self.slow_s > 0:
            time.sleep(self.slow_s)
        features = torch.randn(FEATURES, generator=torch.Generator().manual_seed(index))
        return features, int(features.sum().abs()) % CLASSES


class Prefetcher:
    """A thread that takes batches from the loader and keeps a few of them ready in a queue."""

    DEPTH = 4
    WAIT_S = 60

    def __init__(self, loader: DataLoader):
        self.loader = loader
        self.queue = queue.Queue(maxsize=self.DEPTH)
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._fill, name="prefetch", daemon=True)
        self.thread.start()

    def _put(self, item) -> bool:
        while not self.stopping.is_set():
            try:
                self.queue.put(item, timeout=0.5)
                return True
            except queue.Full:
                continue
        return False

    def _fill(self) -> None:
        try:
            while not self.stopping.is_set():
                for batch in self.loader:
                    if not self._put(batch):
                        return
        except BaseException as error:  # handed to the main thread, which is the one that can end the program
            self._put(error)

    def next(self):
        item = self.queue.get(timeout=self.WAIT_S)
        if isinstance(item, BaseException):
            raise item
        return item

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(timeout=self.WAIT_S)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="training steps (default %(default)s)")
    parser.add_argument("--batch", type=int, default=16, help="samples per rank and step (default %(default)s)")
    parser.add_argument("--width", type=int, default=256, help="units per hidden layer (default %(default)s)")
    parser.add_argument("--layers", type=int, default=4, help="hidden layers (default %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="DataLoader workers per rank (default %(default)s)")
    parser.add_argument("--slow-loader-ms", type=float, default=0.0, metavar="MS",
                        help="sleep this long per sample in the workers (default %(default)s)")
    parser.add_argument("--work", type=int, default=0, metavar="N",
                        help="pure Python additions per step in the main thread (default %(default)s)")
    parser.add_argument("--checkpoint-every", type=int, default=25, metavar="N",
                        help="steps between checkpoints, 0 for none (default %(default)s)")
    parser.add_argument("--checkpoint", metavar="FILE", help="where (default: a temporary file, removed at the end)")
    parser.add_argument("--seed", type=int, default=1, help="(default %(default)s)")
    return parser.parse_args()


def build_model(args: argparse.Namespace) -> nn.Module:
    torch.manual_seed(args.seed)
    layers = [nn.Linear(FEATURES, args.width), nn.ReLU()]
    for _ in range(args.layers - 1):
        layers += [nn.Linear(args.width, args.width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(args.width, CLASSES))


def build_loader(args: argparse.Namespace, rank: int, world: int) -> DataLoader:
    samples = Samples(length=SAMPLES, slow_ms=args.slow_loader_ms)
    sampler = torch.utils.data.DistributedSampler(samples, world, rank, seed=args.seed, drop_last=True)
    return DataLoader(samples, args.batch, sampler=sampler, num_workers=args.workers, drop_last=True,
                      persistent_workers=args.workers > 0)


def save_checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, step: int, path: str) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path + ".new")
    os.replace(path + ".new", path)


def train(args: argparse.Namespace, rank: int, world: int, checkpoint: str) -> float:
    # Small buckets, so that several all-reduces overlap with the backward pass.
    model = DistributedDataParallel(build_model(args), bucket_cap_mb=0.25)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    batches = Prefetcher(build_loader(args, rank, world))
    for step in range(1, args.steps + 1):
        features, classes = batches.next()
        optimizer.zero_grad()
        loss = loss_of(model(features), classes)
        loss.backward()
        optimizer.step()
        sum(range(args.work))
        if args.checkpoint_every and step % args.checkpoint_every == 0 and rank == 0:
            save_checkpoint(model.module, optimizer, step, checkpoint)
    batches.stop()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    return mean.item() / world


def main() -> None:
    args = parse()
    if args.steps < 1:
        sys.exit("train_ddp.py: --steps must be at least 1")
    if "RANK" not in os.environ:
        sys.exit("train_ddp.py: not a rank of a job; start it with: torchrun --nproc-per-node=2 examples/train_ddp.py")
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    if not 1 <= args.batch <= SAMPLES // world:
        sys.exit(f"train_ddp.py: --batch must be from 1 to {SAMPLES // world}: {SAMPLES} samples, {world} ranks")
    with tempfile.TemporaryDirectory(prefix="train_ddp.") as folder:
        begin = time.monotonic()
        loss = train(args, rank, world, args.checkpoint or os.path.join(folder, "checkpoint.pt"))
        seconds = time.monotonic() - begin
    if rank == 0:
        print(f"{args.steps / seconds:.1f} steps/s", file=sys.stderr)
        print(f"loss {loss.hex()}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
