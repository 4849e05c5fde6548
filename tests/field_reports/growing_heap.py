"""The heap grows with each step. Automatic collections free nothing of it and take longer and longer.

With --healthy the same objects are dropped. What was imported is frozen in both, so that only the growth costs.
"""

import gc

from training import Training, parser

options = parser(__doc__, steps=400).parse_args()
training = Training()
cache = []
gc.collect()
gc.freeze()


def remember(step):
    rows = [{"step": step, "row": [number]} for number in range(3000)]
    if not options.healthy:
        cache.extend(rows)  # THE LINE


for step in range(options.steps):
    training.compute(0.005)
    training.backward()
    training.update()
    remember(step)
    training.end_step()
training.write_times()
