#!/usr/bin/env python3
"""Trains a small model by the schedules of Megatron's core, with hostprobe told of iterations, micro-batches, batches and pipeline
stages, and the garbage collector set up. The three lines that any script of Megatron-LM needs are marked below.

Megatron's passes run on a GPU only: they count tokens in a tensor on "cuda". Without one this script calls Megatron's forward_step
and backward_step itself, in the order of its pass without a pipeline; then the optimizer's steps are the iterations.

examples:
  hostprobe run -o RUN -- torchrun --nproc-per-node=1 examples/megatron_hooks.py
  hostprobe report RUN
"""

import argparse
import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported, which reads it once

import hostprobe.megatron, hostprobe.torch  # 1
hostprobe.megatron.install()  # 2
hostprobe.torch.install()  # 3

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.enums import ModelType
from megatron.core.model_parallel_config import ModelParallelConfig
from megatron.core.pipeline_parallel import schedules
from torch.utils.data import DataLoader, TensorDataset

FEATURES, MICROBATCH = 32, 4


class Model(torch.nn.Module):
    """As much of a model as the schedules ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(FEATURES, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        self.config = ModelParallelConfig(pipeline_dtype=torch.float32)
        self.model_type = ModelType.encoder_or_decoder

    def set_input_tensor(self, tensors) -> None:
        """What the stage before sends; there is one stage."""

    def forward(self, features):
        return self.layers(features)


def forward_step(data_iterator, model):
    features, wanted = next(data_iterator)

    def loss_of(output):
        loss = torch.nn.functional.mse_loss(output, wanted)
        return loss, {"loss": loss.detach()}

    return model(features), loss_of


def run_pass(data_iterator, model, microbatches: int):
    """One pass over the micro-batches; returns what loss_of said of each."""
    if torch.cuda.is_available():
        return schedules.get_forward_backward_func()(
            forward_step_func=forward_step, data_iterator=data_iterator, model=model, num_microbatches=microbatches,
            seq_length=1, micro_batch_size=MICROBATCH, forward_only=False)
    said: list = []
    for number in range(microbatches):
        output, _ = schedules.forward_step(forward_step, data_iterator, model, microbatches, None, said, model.config, 1,
                                           current_microbatch=number)
        schedules.backward_step(None, output, None, model.model_type, model.config)
    return said


def train(iterations: int, microbatches: int) -> float:
    torch.manual_seed(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    features = torch.randn(iterations * microbatches * MICROBATCH, FEATURES).to(device)
    batches = iter(DataLoader(TensorDataset(features, features.sum(1, keepdim=True)), MICROBATCH))
    model = Model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(iterations):
        said = run_pass(batches, model, microbatches)
        optimizer.step()
        optimizer.zero_grad()
    return said[-1]["loss"].item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20, help="(default %(default)s)")
    parser.add_argument("--microbatches", type=int, default=4, help="per iteration (default %(default)s)")
    options = parser.parse_args()
    if "RANK" not in os.environ:
        sys.exit("megatron_hooks.py: start it with: torchrun --nproc-per-node=1 examples/megatron_hooks.py")
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    parallel_state.initialize_model_parallel()
    loss = train(options.iterations, options.microbatches)
    print(json.dumps({**hostprobe.torch.report(), **hostprobe.megatron.report()}, indent=1), file=sys.stderr)
    print(f"loss {loss.hex()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
