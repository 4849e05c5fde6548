#!/usr/bin/env python3
"""Trains a network on one GPU with a fault on the host, or without it: what a report must name, and what it must leave alone.

Prints "step_us MEAN" of the steps behind the first tenth. --healthy is the twin: the same work without the fault.

  busy      large matrices, the loss read every 50th step: the GPU is the limit, there is no fault
  item      a number of each layer is read back in every step                            sync_calls
  launch    many small kernels; the twin is one CUDA graph                               launch_bound
  loader    batches come from one slow worker; the twin has six                          dataloader_wait
  pageable  batches are copied from pageable memory; the twin's are pinned               pageable_copy
  gc        gc.collect() over a large heap in some steps; the twin calls none            gc_pause
  save      the loss is written to a disk in each step; the twin keeps it                file_io
  neighbour many small kernels, and another process on the only CPU that is allowed      cpu_contention
  decode    small graphs, and the host looks at each token's number                      none: the next token needs it
"""

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

CAUSES = {"busy": None, "item": "sync_calls", "launch": "launch_bound", "loader": "dataloader_wait", "pageable": "pageable_copy",
          "gc": "gc_pause", "save": "file_io", "neighbour": "cpu_contention", "decode": None}


def network(layers, width, device):
    blocks = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*blocks).to(device=device, dtype=torch.bfloat16)


class Steps:
    """A step of training; kinds replace what comes before and behind it."""

    reads_every = 50  # steps: the loss

    def is_read(self, number):
        return number % self.reads_every == self.reads_every - 1

    def __init__(self, device, healthy, layers=16, width=4096, rows=4096):
        torch.manual_seed(1)
        self.device, self.healthy, self.rows, self.width = device, healthy, rows, width
        self.model = network(layers, width, device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=device == "cuda")
        self.batch = torch.randn(rows, width, dtype=torch.bfloat16).to(device)

    def next_batch(self):
        return self.batch

    def forward(self, batch):
        return self.model(batch)

    def work(self, batch):
        self.optimizer.zero_grad(set_to_none=True)
        loss = (self.forward(batch) - batch).float().square().mean()
        loss.backward()
        self.optimizer.step()
        return loss

    def step(self, number):
        loss = self.work(self.next_batch())
        if self.is_read(number):
            loss.item()

    def end(self):
        pass


class Item(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy)
        self.norms = []

    def forward(self, batch):
        for part in self.model:
            batch = part(batch)
            norm = batch.float().norm()
            self.norms.append(norm if self.healthy else norm.item())
        return batch

    def step(self, number):
        super().step(number)
        if self.is_read(number):
            self.norms.clear()


class Launch(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy, layers=24, width=256, rows=64)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=False, capturable=device == "cuda")
        self.graph = None
        if healthy and device == "cuda":
            self.capture()

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.work(self.batch)
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.work(self.batch)

    def step(self, number):
        if self.graph is None:
            return super().step(number)
        self.graph.replay()
        if self.is_read(number):
            self.loss.item()


class Samples(torch.utils.data.Dataset):
    """Batches that take a worker 30 ms to make."""

    def __init__(self, rows, width, count):
        self.rows, self.width, self.count = rows, width, count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        end = time.perf_counter() + 0.03
        total = 0
        while time.perf_counter() < end:
            total += sum(range(200))
        return torch.full((self.rows, self.width), 1.0 / (1 + number), dtype=torch.bfloat16)


class Loader(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy)
        workers = 6 if healthy else 1
        samples = Samples(self.rows, self.width, 100000)
        self.batches = iter(torch.utils.data.DataLoader(samples, batch_size=None, num_workers=workers, pin_memory=device == "cuda"))

    def next_batch(self):
        return next(self.batches).to(self.device, non_blocking=True)


class Pageable(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy, layers=8, rows=8192)
        self.host = torch.randn(self.rows, self.width, dtype=torch.bfloat16)
        if healthy and device == "cuda":
            self.host = self.host.pin_memory()

    def next_batch(self):
        return self.host.to(self.device, non_blocking=self.healthy)


class Collected(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy)
        self.heap = [{"number": [number]} for number in range(300000)]
        gc.collect()
        gc.freeze() if healthy else None

    def step(self, number):
        if number % 8 == 7 and not self.healthy:
            gc.collect()
        super().step(number)


class Save(Steps):
    def __init__(self, device, healthy):
        super().__init__(device, healthy)
        self.folder = tempfile.TemporaryDirectory()
        self.file = open(os.path.join(self.folder.name, "losses"), "wb")

    def step(self, number):
        loss = self.work(self.next_batch()).item()
        if not self.healthy:
            self.file.write(b"%f" % loss * 500000)
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.seek(0)


class Neighbour(Launch):
    """Both have one CPU; the neighbour of the twin sleeps."""

    def __init__(self, device, healthy):
        super().__init__(device, False)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        work = "import time; time.sleep(3600)" if healthy else "while True: pass"
        self.other = subprocess.Popen([sys.executable, "-S", "-c", work], env={"PATH": os.environ["PATH"]})

    def end(self):
        self.other.kill()
        self.other.wait()


class Decode(Launch):
    """A token's number goes back to the host, which chooses what comes next."""

    reads_every = 1

    def __init__(self, device, healthy):
        super().__init__(device, True)


KINDS = {"busy": Steps, "item": Item, "launch": Launch, "loader": Loader, "pageable": Pageable, "gc": Collected, "save": Save, "neighbour": Neighbour,
         "decode": Decode}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--healthy", action="store_true")
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    steps = KINDS[options.kind](device, options.healthy)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    for number in range(10):
        steps.step(number)
    wait()
    begin, number = time.perf_counter(), 0
    while time.perf_counter() < begin + options.seconds / 10:
        steps.step(number)
        number += 1
    wait()
    begin, first = time.perf_counter(), number
    while time.perf_counter() < begin + options.seconds * 9 / 10:
        steps.step(number)
        number += 1
    wait()
    print(f"step_us {(time.perf_counter() - begin) / (number - first) * 1e6:.1f}", flush=True)
    steps.end()


if __name__ == "__main__":
    sys.exit(main())
