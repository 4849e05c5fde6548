#!/usr/bin/env python3
"""PyTorch's own tests of DataLoader, multiprocessing and the stores that processes meet in.

test_torch.py [--all] [-v] [Torch.test_…]   without --all those stay out that take longest, most of them for starting Python
                                            again and again

PyTorch's package comes without them; setup.sh takes them from Debian's sources of an older one. The few that fail for that
fail bare.
"""

import argparse
import sys

import suite
from probed import path_of

# Nor one that looks for a name in the network.
NEVER = ("*.test_dns_timeout",)
LONG = {
    "test_dataloader": ("test_shuffler_iterdatapipe", "test_large_sampler_indices", "test_sampler", "test_batch_sampler",
                        "test_get_worker_info", "test_iterable_style_dataset", "test_early_exit", "test_segfault",
                        "test_no_segfault", "test_fd_limit_exceeded", "test_sequential_workers", "test_seqential_batch_workers",
                        "test_builtin_collection_conversion", "test_error_in_init"),
    "test_multiprocessing": ("test_autograd_fine_with_spawn", "test_fs_sharing", "test_meta_simple", "test_fs",
                             "test_integer_parameter_serialization_cpu"),
    "test_multiprocessing_spawn": ("SpawnTest.*", "ParallelForkServer*"),
    "test_store": (),
}


def options():
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--all", action="store_true")
    found, sys.argv[1:] = parser.parse_known_args()
    return found


OPTIONS = options()


class Torch(suite.Suite):
    python = "TORCH_PYTHON"

    def check_tests(self, module):
        tests, packages = path_of("TORCH_TESTS"), path_of("GUESTS_PYTHON").parents[1] / "lib/python3.11/site-packages"
        self.settings = {"PYTHONPATH": f"{packages}:{tests}:{tests / 'distributed'}", "OMP_NUM_THREADS": "1"}
        self.left_out = NEVER + (() if OPTIONS.all else tuple(f"*.{name}" for name in LONG[module]))
        self.check([module])


for name in LONG:
    setattr(Torch, name, lambda self, name=name: self.check_tests(name))

if __name__ == "__main__":
    suite.main()
