"""A child that was forked after OpenMP had started its threads uses them: they are not there, and it waits for ever.

With --healthy the child has one thread.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

from training import Training, parser
import torch

options = parser(__doc__, steps=20).parse_args()
training = Training()
torch.set_num_threads(2)
images = torch.ones(1 << 22)
images.add_(1)


def augment():
    if options.healthy:
        torch.set_num_threads(1)
    images.add_(1)  # THE LINE: child


for _ in range(options.steps):
    training.step(0.005)
child = os.fork()
if child == 0:
    augment()
    os._exit(0)
os.waitpid(child, 0)  # THE LINE: parent
training.write_times()
