"""Rank 1 leaves the path of collectives: it evaluates and rank 0 does not, so rank 0 waits for ever in an all-reduce."""

import time

from training import Training, join_ranks, leave_ranks, parser

options = parser(__doc__, steps=40).parse_args()
rank = join_ranks()
training = Training(rank)


def evaluate():
    time.sleep(0.02 if options.healthy else 600)  # THE LINE


for step in range(options.steps):
    training.compute(0.005)
    training.backward()
    if step == 25 and (rank == 1 or options.healthy):
        evaluate()
    training.average()
    training.update()
    training.end_step()
training.write_times()
leave_ranks()
