"""An explicit gc.collect() in each step, over a large heap that lives on."""

import gc

from training import Training, parser

options = parser(__doc__, steps=30).parse_args()
training = Training()
rows = [{"name": number, "values": [number]} for number in range(300_000)]


def train_step():
    training.compute(0.020)
    training.backward()
    training.update()
    if not options.healthy:
        gc.collect()  # THE LINE


for _ in range(options.steps):
    train_step()
    training.end_step()
training.write_times()
