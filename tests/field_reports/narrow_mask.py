"""A library that is loaded narrows the CPU mask: of the program and its loader workers, or of the workers alone.

NARROW_MASK names the library, made of narrow_mask.c.
"""

import ctypes
import os

from training import Training, on_cpu, parser
import torch
from torch.utils.data import DataLoader, Dataset

made = parser(__doc__, steps=80)
made.add_argument("--where", choices=("parent", "workers"), default="parent")
options = made.parse_args()
in_parent = options.where == "parent"
sample_s, step_s = (0.009, 0.010) if in_parent else (0.030, 0.005)


def load_codec():
    ctypes.CDLL(os.environ["NARROW_MASK"])  # THE LINE


def begin_worker(number):
    if not options.healthy and not in_parent:
        load_codec()


class Samples(Dataset):
    def __len__(self):
        return options.steps

    def __getitem__(self, index):
        on_cpu(sample_s)
        return torch.full((64,), float(index))


if not options.healthy and in_parent:
    load_codec()
training = Training()
for training.batch in DataLoader(Samples(), batch_size=1, num_workers=2, worker_init_fn=begin_worker):
    training.step(step_s)
training.write_times()
