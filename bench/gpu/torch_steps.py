#!/usr/bin/env python3
"""Trains a small, launch-bound network on one GPU; the last line is its loss in hexadecimal.

--kind eager    plain PyTorch: cuLaunchKernel through the real runtime
--kind graph    the same steps as one CUDA graph
--kind triton   a Triton kernel in each step: the driver without the runtime
--kind nccl     an all-reduce of every gradient over a process group of one rank, by the real NCCL
--time          prints the median step time in microseconds too
--profile       prints how many kernels PyTorch's profiler saw
"""

import argparse
import os
import statistics
import sys
import time

import torch
from torch import nn


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=("eager", "graph", "triton", "nccl"), default="eager")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--profile", action="store_true")
    return parser.parse_args()


class Training:
    def __init__(self, kind):
        torch.manual_seed(1)
        torch.use_deterministic_algorithms(True)
        self.kind = kind
        self.model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(64, 64), nn.ReLU()))).cuda()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, foreach=False, capturable=kind == "graph")
        generator = torch.Generator().manual_seed(2)
        self.batch = torch.randn(32, 64, generator=generator).cuda()
        self.loss = torch.zeros((), device="cuda")
        self.graph = None

    def work(self):
        self.optimizer.zero_grad(set_to_none=self.kind != "graph")
        loss = (self.model(self.batch) - self.batch).square().mean()
        loss.backward()
        if self.kind == "nccl":
            for parameter in self.model.parameters():
                torch.distributed.all_reduce(parameter.grad)
        self.optimizer.step()
        self.loss.copy_(loss.detach())

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                self.work()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.work()

    def step(self):
        if self.graph is not None:
            self.graph.replay()
        else:
            self.work()
        if self.kind == "triton":
            double_in_place(self.batch)
        torch.cuda.synchronize()


def double_in_place(tensor):
    """Twice the batch, then half of it: two Triton launches that change nothing."""
    kernel = triton_kernel()
    for factor in (2.0, 0.5):
        kernel[(tensor.numel() // 256,)](tensor, factor, BLOCK=256)


def triton_kernel(made=[]):
    if not made:
        from triton_scale import scale
        made.append(scale)
    return made[0]


def main():
    options = arguments()
    if options.kind == "nccl":
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")
        torch.distributed.init_process_group("nccl")
    training = Training(options.kind)
    if options.kind == "graph":
        training.capture()
    for _ in range(10):
        training.step()
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) if options.profile else None
    if profiler is not None:
        profiler.start()
    times = []
    for _ in range(options.steps):
        begin = time.perf_counter()
        training.step()
        times.append(time.perf_counter() - begin)
    if profiler is not None:
        profiler.stop()
        kernels = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        kernels = [e for e in kernels if not e.name.startswith(("Memcpy", "Memset"))]
        print(f"kernels {len(kernels)} steps {options.steps}")
    if options.time:
        print(f"step_us {statistics.median(times) * 1e6:.1f}")
    print("loss", float(training.loss).hex())
    if options.kind == "nccl":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
