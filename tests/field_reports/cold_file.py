"""Loader workers read random pages of a file that is not in memory: of a map of it, or by pread. With --healthy it is in memory."""

import os

from training import Training, parser
import numpy
import torch
from torch.utils.data import DataLoader, Dataset

FILE_BYTES, PAGE, PAGES = 1 << 30, 4096, 64
MADV_RANDOM = 1
made = parser(__doc__, steps=60)
made.add_argument("--by", choices=("map", "pread"), default="map")
options = made.parse_args()


def make_file():
    block = os.urandom(1 << 24)
    with open("train.bin", "wb") as file:
        for _ in range(FILE_BYTES // len(block)):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return os.open("train.bin", os.O_RDONLY)


tokens_file = make_file()
if not options.healthy:
    os.posix_fadvise(tokens_file, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(tokens_file, 0, 0, os.POSIX_FADV_RANDOM)


class Tokens(Dataset):
    tokens = None

    def __len__(self):
        return 8 * options.steps

    def __getitem__(self, index):
        if self.tokens is None and options.by == "map":
            self.tokens = numpy.memmap("train.bin", dtype=numpy.uint8, mode="r")
            self.tokens._mmap.madvise(MADV_RANDOM)
        total = 0
        for at in numpy.random.default_rng(index).integers(0, FILE_BYTES // PAGE, PAGES) * PAGE:
            total += self.page_by_pread(at) if options.by == "pread" else self.page_of_map(at)
        return torch.full((64,), float(total))

    def page_of_map(self, at):
        return int(self.tokens[at:at + PAGE].sum())  # THE LINE: map

    def page_by_pread(self, at):
        return int(numpy.frombuffer(os.pread(tokens_file, PAGE, at), dtype=numpy.uint8).sum())  # THE LINE: pread


training = Training()
for training.batch in DataLoader(Tokens(), batch_size=8, num_workers=2):
    training.step(0.005)
training.write_times()
