"""64 threads of a library wake at the same time once a second and take the CPUs from the loop.

WAKERS names the library, made of wakers.c.
"""

import ctypes
import os

from training import Training, parser

options = parser(__doc__, steps=600).parse_args()
training = Training()
if not options.healthy:
    ctypes.CDLL(os.environ["WAKERS"]).start_wakers()  # THE LINE
for _ in range(options.steps):
    training.step(0.010)
training.write_times()
