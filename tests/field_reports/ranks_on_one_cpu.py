"""Each rank binds itself by a number that is the same for all of them, so they share one CPU while the others idle."""

import os

from training import Training, join_ranks, leave_ranks, parser

options = parser(__doc__, steps=150).parse_args()
rank = join_ranks()


def bind_to(number):
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[number % len(cpus)]})  # THE LINE


bind_to(rank if options.healthy else 0)
training = Training(rank)
for _ in range(options.steps):
    training.step(0.010)
training.write_times()
leave_ranks()
