"""An OpenMP pool of eight threads in a control group with a quota of one CPU: they spin at its barriers."""

import os

os.environ["OMP_NUM_THREADS"] = "8"

import torch
from training import Training, parser

options = parser(__doc__, steps=100).parse_args()
training = Training(width=8)
torch.set_num_threads(1 if options.healthy else 8)
values = torch.zeros(1 << 20)


def train_step():
    for _ in range(200):
        values.add_(1)  # THE LINE
    training.backward()
    training.update()


for _ in range(options.steps):
    train_step()
    training.end_step()
training.write_times()
