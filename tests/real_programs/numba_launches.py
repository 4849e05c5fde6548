"""numba-cuda: a jitted kernel with host arrays, device arrays and a stream. Prints what it launched."""

import sys

import numpy as np
from numba import cuda

LAUNCHES, WITH_COPIES = 30, 5


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y


cuda.select_device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
stream = cuda.stream()
values = np.zeros(1024, dtype=np.float32)
on_device = cuda.to_device(values, stream=stream)
for _ in range(LAUNCHES):
    add[4, 256, stream](on_device, 1.0)
stream.synchronize()
for _ in range(WITH_COPIES):
    add[4, 256](values, 1.0)
on_device.copy_to_host()
print("launched", LAUNCHES + WITH_COPIES)
