"""cuda-bindings as its users call it: a kernel compiled by NVRTC, launched by cuLaunchKernel and cuLaunchKernelEx, captured
into a graph and replayed. Prints what it launched."""

import sys

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b'extern "C" __global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }'
KERNELS, EXTENDED, GRAPHS = 40, 30, 20


def check(answer):
    status, *rest = answer
    if status.value != 0:
        sys.exit(f"bindings_launches: {status!r}")
    return rest[0] if len(rest) == 1 else rest


def compile_ptx(device):
    major = check(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
    minor = check(driver.cuDeviceGetAttribute(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
    program = check(nvrtc.nvrtcCreateProgram(SOURCE, b"scale.cu", 0, [], []))
    check(nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture=compute_{major}{minor}".encode()]))
    ptx = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, ptx))
    return ptx


check(driver.cuInit(0))
device = check(driver.cuDeviceGet(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoadData(compile_ptx(device)))
kernel = check(driver.cuModuleGetFunction(module, b"scale"))
stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
memory = check(driver.cuMemAlloc(256 * 4))
values = np.arange(256, dtype=np.float32)
check(driver.cuMemcpyHtoDAsync(memory, values.ctypes.data, values.nbytes, stream))
pointer, factor = np.array([int(memory)], dtype=np.uint64), np.array([1.0], dtype=np.float32)
arguments = np.array([pointer.ctypes.data, factor.ctypes.data], dtype=np.uint64)
config = driver.CUlaunchConfig()
config.gridDimX = config.gridDimY = config.gridDimZ = 1
config.blockDimX, config.blockDimY, config.blockDimZ = 256, 1, 1
config.hStream = stream


def launch():
    check(driver.cuLaunchKernel(kernel, 1, 1, 1, 256, 1, 1, 0, stream, arguments.ctypes.data, 0))


for _ in range(KERNELS):
    launch()
for _ in range(EXTENDED):
    check(driver.cuLaunchKernelEx(config, kernel, arguments.ctypes.data, 0))
check(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
for _ in range(3):
    launch()
graph = check(driver.cuStreamEndCapture(stream))
executable = check(driver.cuGraphInstantiate(graph, 0))
for _ in range(GRAPHS):
    check(driver.cuGraphLaunch(executable, stream))
check(driver.cuMemcpyDtoHAsync(values.ctypes.data, memory, values.nbytes, stream))
check(driver.cuStreamSynchronize(stream))
print("sum", values.sum())
print("launched cuLaunchKernel", KERNELS + 3, "cuLaunchKernelEx", EXTENDED, "cuGraphLaunch", GRAPHS)
