"""Rank 0 reads the batches of both ranks and sends them round. With --healthy each rank reads its own."""

from training import Training, join_ranks, leave_ranks, on_cpu, parser
import torch
import torch.distributed as dist

READ_S = 0.012  # of CPU, for the batch of one rank
options = parser(__doc__, steps=150).parse_args()
rank = join_ranks()
training = Training(rank)


def read_batch():
    on_cpu(READ_S)  # THE LINE
    return torch.ones(4, 64)


def batch_of_this_rank():
    if options.healthy:
        return read_batch()
    batches = torch.stack([read_batch() for _ in range(2)]) if rank == 0 else torch.empty(2, 4, 64)
    dist.broadcast(batches, src=0)
    return batches[rank]


for _ in range(options.steps):
    training.batch = batch_of_this_rank()
    training.step(0.006)
training.write_times()
leave_ranks()
