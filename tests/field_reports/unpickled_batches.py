"""Loader workers send large lists of Python objects, which the main thread unpickles. With --healthy they send tensors."""

from training import Training, parser
import torch
from torch.utils.data import DataLoader, Dataset

WORDS = 8_000
options = parser(__doc__, steps=100).parse_args()


class Samples(Dataset):
    def __init__(self):
        self.lists = [(str(number), number * 0.5) for number in range(WORDS)]
        self.tensor = torch.arange(WORDS)

    def __len__(self):
        return options.steps

    def __getitem__(self, index):
        return self.tensor if options.healthy else self.lists


def train_epoch():
    for batch in DataLoader(Samples(), batch_size=None, num_workers=1):  # THE LINE
        training.step(0.015)


training = Training()
train_epoch()
training.write_times()
