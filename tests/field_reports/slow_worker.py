"""One of two loader workers is slower by far, and its batches come in their turn: finished ones of the other are held back.

With --healthy batches are taken in the order in which they are ready.
"""

import time

from training import Training, parser
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

options = parser(__doc__, steps=120).parse_args()


class Samples(Dataset):
    def __len__(self):
        return options.steps

    def __getitem__(self, index):
        time.sleep(0.060 if get_worker_info().id else 0.010)  # THE LINE
        return torch.full((64,), float(index))


training = Training()
for training.batch in DataLoader(Samples(), num_workers=2, in_order=not options.healthy):
    training.step(0.004)
training.write_times()
