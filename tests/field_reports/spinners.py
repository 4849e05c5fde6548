"""A thread of a library spins on sched_yield beside the loop, on a CPU that the loop does not want: that costs the steps nothing.

SPINNERS names the library, made of spinners.c.
"""

import ctypes
import os

from training import Training, parser

options = parser(__doc__, steps=300).parse_args()
training = Training()
if not options.healthy:
    ctypes.CDLL(os.environ["SPINNERS"]).start_spinner()  # THE LINE
for _ in range(options.steps):
    training.step(0.010)
training.write_times()
