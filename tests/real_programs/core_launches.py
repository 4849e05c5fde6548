"""cuda.core as its users call it: Program, Stream, launch, and the default stream. Prints what it launched."""

import sys

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

SOURCE = 'extern "C" __global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }'
LAUNCHES, ON_DEFAULT_STREAM = 50, 25

device = Device(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
device.set_current()
major, minor = device.compute_capability
kernel = Program(SOURCE, "c++", ProgramOptions(arch=f"sm_{major}{minor}")).compile("cubin").get_kernel("scale")
stream = device.create_stream()
memory = device.allocate(256 * 4, stream=stream)
config = LaunchConfig(grid=1, block=256)
for _ in range(LAUNCHES):
    launch(stream, config, kernel, memory, 2.0)
stream.sync()
for _ in range(ON_DEFAULT_STREAM):
    launch(device.default_stream, config, kernel, memory, 2.0)
device.default_stream.sync()
print("launched", LAUNCHES + ON_DEFAULT_STREAM)
