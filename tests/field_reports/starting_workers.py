"""Each epoch starts its loader workers anew, by spawn: its first batch takes seconds. With --healthy they live on (persistent_workers)."""

import torch
from torch.utils.data import DataLoader, Dataset
from training import Training, parser

EPOCHS, SAMPLES = 3, 40


class Samples(Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return torch.full((64,), float(index))


def train_epoch(training, loader):
    for training.batch in loader:  # THE LINE
        training.step(0.005)


def main():
    options = parser(__doc__, steps=EPOCHS * SAMPLES).parse_args()
    training = Training()
    loader = DataLoader(Samples(), num_workers=2, multiprocessing_context="spawn", persistent_workers=options.healthy)
    for _ in range(options.steps // SAMPLES):
        train_epoch(training, loader)
    training.write_times()


if __name__ == "__main__":
    main()
