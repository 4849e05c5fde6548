"""Each step takes fresh memory from the kernel. With --healthy malloc keeps what was freed, by its own settings."""

import os
import sys

KEEPS = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
if "--healthy" in sys.argv and "MALLOC_TRIM_THRESHOLD_" not in os.environ:
    os.environ.update(KEEPS)
    os.execv(sys.executable, [sys.executable, *sys.argv])

from training import Training, parser
import torch

options = parser(__doc__, steps=100).parse_args()
training = Training()


def augment():
    return torch.empty(48 << 20, dtype=torch.uint8).fill_(1)  # THE LINE


for _ in range(options.steps):
    training.compute(0.005)
    images = augment()
    del images
    training.backward()
    training.update()
    training.end_step()
training.write_times()
