// driver_streams: two devices, two streams on the first, copies, a fill, a graph that is launched several times, and launches
// that a capture takes and that run nothing. Tells what ran on the devices. MORE_KERNELS: so many more of one kind.
#include <cuda.h>

#include "victim.h"

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s failed: %d\n", what, static_cast<int>(result));
  exit(1);
}
#define OK(call) check(call, #call)

constexpr char kPtx[] = ".version 7.0\n.target sm_50\n.visible .entry k10() { ret; }\n.visible .entry k50() { ret; }\n";

struct Kernels {
  CUfunction k10, k50;
};

Kernels use_device(int number) {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  Kernels kernels{};
  OK(cuDeviceGet(&device, number));
  OK(cuDevicePrimaryCtxRetain(&context, device));
  OK(cuCtxSetCurrent(context));
  OK(cuModuleLoadData(&module, kPtx));
  OK(cuModuleGetFunction(&kernels.k10, module, "k10"));
  OK(cuModuleGetFunction(&kernels.k50, module, "k50"));
  return kernels;
}

void launch(CUfunction kernel, CUstream stream, int times) {
  for (int i = 0; i < times; ++i) OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
}

CUstream make_stream() {
  CUstream stream;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

// Five kernels, a copy and a fill, which is what a launch of it runs.
CUgraphExec capture(const Kernels& kernels, CUstream stream, CUdeviceptr memory, void* pinned) {
  CUgraph graph;
  CUgraphExec executable;
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch(kernels.k10, stream, 4);
  OK(cuMemcpyHtoDAsync(memory, pinned, 4096, stream));
  OK(cuMemsetD8Async(memory, 0, 4096, stream));
  launch(kernels.k50, stream, 1);
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
  return executable;
}

}  // namespace

int main() {
  OK(cuInit(0));
  const Kernels second = use_device(1);
  launch(second.k50, make_stream(), 3);
  OK(cuCtxSynchronize());
  const Kernels first = use_device(0);
  const CUstream a = make_stream(), b = make_stream();
  CUdeviceptr memory;
  void* pinned;
  OK(cuMemAlloc(&memory, 1 << 20));
  OK(cuMemHostAlloc(&pinned, 1 << 20, 0));
  const CUgraphExec graph = capture(first, a, memory, pinned);
  for (int i = 0; i < 20; ++i) {
    launch(first.k10, a, 2);
    launch(first.k50, b, 1);
    OK(cuMemcpyHtoDAsync(memory, pinned, 1 << 20, b));
    if (i % 4 == 0) OK(cuGraphLaunch(graph, a));
    if (i % 5 == 0) OK(cuCtxSynchronize());
  }
  const int more = getenv("MORE_KERNELS") == nullptr ? 0 : atoi(getenv("MORE_KERNELS"));
  launch(first.k10, a, more);
  OK(cuCtxSynchronize());
  tell("kernels %d", 3 + 20 * 3 + 5 * 5 + more);
  tell("kernel_us %d", 3 * 50 + 20 * (2 * 10 + 50) + 5 * (4 * 10 + 50) + more * 10);
  tell("copies %d", 20 + 5);
  tell("fills %d", 5);
  if (getenv("KILL_AT_END") != nullptr) kill(getpid(), SIGKILL);
  printf("done\n");
}
