"""Two ranks on two CPUs, each with an OpenMP pool of eight threads."""

import os

os.environ["OMP_NUM_THREADS"] = "8"

from training import Training, join_ranks, leave_ranks, parser
import torch

options = parser(__doc__, steps=100).parse_args()
rank = join_ranks()
training = Training(rank, width=8)
torch.set_num_threads(1 if options.healthy else 8)
values = torch.zeros(1 << 18)


def train_step():
    for _ in range(100):
        values.add_(1)  # THE LINE
    training.backward()
    training.average()
    training.update()


for _ in range(options.steps):
    train_step()
    training.end_step()
training.write_times()
leave_ranks()
