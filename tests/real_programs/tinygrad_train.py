"""A small network trained by tinygrad with its JIT, which puts the kernels of a step into CUDA graphs. With DEBUG=2 tinygrad
itself prints a line for each kernel and each graph it launches."""

import os
import sys

import numpy as np
from tinygrad import Context, Tensor, TinyJit
from tinygrad.nn.optim import SGD

STEPS = 12
device = f"CUDA:{sys.argv[1]}" if len(sys.argv) > 1 and sys.argv[1] != "0" else "CUDA"
random = np.random.default_rng(1)


def parameter(*shape):
    return Tensor(random.standard_normal(shape).astype("float32"), device=device)


weights = [parameter(32, 64), parameter(64, 64), parameter(64, 8)]
optimizer = SGD(weights, lr=0.01)


@TinyJit
def step(batch):
    optimizer.zero_grad()
    out = batch
    for weight in weights:
        out = (out @ weight).relu()
    loss = (out * out).mean().backward()
    optimizer.step()
    return loss.realize()


with Context(TRAINING=1):
    for _ in range(STEPS):
        loss = step(parameter(16, 32).realize())
        loss.numpy()
print(f"trained {STEPS} steps", file=sys.stderr)
