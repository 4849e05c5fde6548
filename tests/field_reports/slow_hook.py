"""A hook of the backward pass sleeps, and the all-reduce hides it: on rank 1 in each step or in every tenth, or on the ranks in turn."""

import time

import torch.distributed as dist
from training import Training, join_ranks, leave_ranks, parser

made = parser(__doc__, steps=150)
made.add_argument("--when", choices=("always", "in_turn", "tenth"), default="always")
options = made.parse_args()
rank = join_ranks()
training = Training(rank)
PERIOD = {"always": 1, "in_turn": 1, "tenth": 10}[options.when]


def is_slow(step):
    slow_rank = step % dist.get_world_size() if options.when == "in_turn" else 1
    return not options.healthy and rank == slow_rank and step % PERIOD == PERIOD - 1


def slow_hook(gradient):
    if is_slow(step):
        time.sleep(0.030)  # THE LINE


training.net.weight.register_hook(slow_hook)
for step in range(options.steps):
    training.step(0.006)
training.write_times()
leave_ranks()
