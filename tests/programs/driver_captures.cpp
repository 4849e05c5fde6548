// driver_captures: captures graphs and launches them, as decode loops do, in every way there is to do it. The kernel `taken` is only
// launched where a capture takes it, `ran` only where it runs at once. Tells how many launches captures took, and how many
// kernels ran.
#include <atomic>

#include "driver_by_plt.h"

extern "C" {
CUresult begin_capture_v1(CUstream) __asm__("cuStreamBeginCapture");
CUresult begin_capture_ptsz(CUstream, CUstreamCaptureMode) __asm__("cuStreamBeginCapture_v2_ptsz");
CUresult end_capture_ptsz(CUstream, CUgraph*) __asm__("cuStreamEndCapture_ptsz");
CUresult launch_ex_ptsz(const CUlaunchConfig*, CUfunction, void**, void**) __asm__("cuLaunchKernelEx_ptsz");
}

static CUfunction g_taken, g_ran;
static CUcontext g_context;
static std::atomic<unsigned long> g_captured{0}, g_kernels{0};

#define MUST(call) check(call, #call)

static CUresult launch(CUfunction kernel, CUstream stream) {
  return cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
}
static void take(CUstream stream, int times = 1) {
  for (int i = 0; i < times; ++i) MUST(launch(g_taken, stream));
  g_captured += static_cast<unsigned long>(times);
}
static void run(CUstream stream) {
  MUST(launch(g_ran, stream));
  ++g_kernels;
}

static CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, flags));
  return stream;
}
static CUgraph capture(CUstream stream, CUstreamCaptureMode mode, int kernels) {
  CUgraph graph = nullptr;
  MUST(cuStreamBeginCapture(stream, mode));
  take(stream, kernels);
  MUST(cuStreamEndCapture(stream, &graph));
  return graph;
}
static void replay(CUgraphExec executable, CUstream stream, int times, unsigned long kernels) {
  for (int i = 0; i < times; ++i) MUST(cuGraphLaunch(executable, stream));
  g_kernels += static_cast<unsigned long>(times) * kernels;
}

// 73 kernels are captured, 3650 run; copies, fills and callbacks are no kernels.
static void decode_loop(CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc(&memory, 4096));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  take(stream, 73);
  MUST(cuMemcpyDtoDAsync(memory, memory + 1024, 512, stream));
  MUST(cuMemsetD8Async(memory, 1, 512, stream));
  MUST(cuLaunchHostFunc(stream, nothing_on_host, nullptr));
  ++g_captured;
  MUST(cuStreamEndCapture(stream, &graph));
  MUST(cuGraphInstantiate(&executable, graph, 0));
  run(stream);
  replay(executable, stream, 50, 73);
}

// Until the stream is joined back it is a part of the capture, before and afterwards it is none.
static void joined_stream(CUstream stream) {
  CUstream other = new_stream();
  CUevent fork = nullptr, join = nullptr;
  CUgraph graph = nullptr;
  MUST(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  MUST(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  take(stream);
  run(other);
  MUST(cuEventRecord(fork, stream));
  MUST(cuStreamWaitEvent(other, fork, 0));
  take(other, 3);
  MUST(cuEventRecord(join, other));
  MUST(cuStreamWaitEvent(stream, join, 0));
  take(stream);
  MUST(cuStreamEndCapture(stream, &graph));
  run(other);
  run(stream);
}

// Stream 0 of the functions with _ptsz is the thread's own, which is another than the legacy one.
static void own_stream() {
  CUgraph graph = nullptr;
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  MUST(begin_capture_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED));
  MUST(cuLaunchKernel_ptsz(g_taken, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  MUST(launch_ex_ptsz(&config, g_taken, nullptr, nullptr));
  g_captured += 2;
  take(CU_STREAM_PER_THREAD);
  CUstream other = new_stream();
  run(other);
  MUST(end_capture_ptsz(nullptr, &graph));
  run(CU_STREAM_PER_THREAD);
}

struct Other {
  std::atomic<int> stage{0};
};
static void await(const std::atomic<int>& stage, int value) {
  while (stage.load() != value) sched_yield();
}
static void* launches_beside(void* argument) {
  Other& other = *static_cast<Other*>(argument);
  MUST(cuCtxSetCurrent(g_context));
  CUstream stream = new_stream();
  await(other.stage, 1);
  for (int i = 0; i < 20; ++i) run(stream);
  other.stage = 2;
  return nullptr;
}
// What another thread launches into its own stream meanwhile runs, whatever the mode.
static void other_thread(CUstream stream, CUstreamCaptureMode mode) {
  Other other;
  pthread_t thread;
  CUgraph graph = nullptr;
  pthread_create(&thread, nullptr, launches_beside, &other);
  MUST(cuStreamBeginCapture(stream, mode));
  take(stream);
  other.stage = 1;
  await(other.stage, 2);
  take(stream);
  MUST(cuStreamEndCapture(stream, &graph));
  pthread_join(thread, nullptr);
}

static void expect(CUresult result, CUresult wanted, const char* what) {
  if (result != wanted) check(result == CUDA_SUCCESS ? CUDA_ERROR_UNKNOWN : result, what);
}
// The legacy stream may be used beside streams that do not block it, and spoils the capture of those that do.
static void legacy_stream(CUstream stream) {
  CUgraph graph = nullptr;
  MUST(begin_capture_v1(stream));
  take(stream);
  run(nullptr);
  run(CU_STREAM_LEGACY);
  MUST(cuStreamEndCapture(stream, &graph));
  CUstream blocking = new_stream(CU_STREAM_DEFAULT);
  MUST(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
  take(blocking);
  expect(launch(g_ran, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "launch into the legacy stream");
  expect(launch(g_ran, blocking), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "launch into a spoiled capture");
  expect(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "end of a spoiled capture");
  run(blocking);
  run(nullptr);
}

static CUgraphNode add_kernel(CUgraph graph) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CUgraphNode node = nullptr;
  kernel.func = g_taken;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  MUST(cuGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
  return node;
}
// 3 kernels of its own, 4 of a captured one inside, and no kernel.
static CUgraph made_by_hand(CUstream stream) {
  CUgraph graph = nullptr, inner = capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED, 4), clone = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate(&graph, 0));
  for (int i = 0; i < 3; ++i) add_kernel(graph);
  MUST(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, inner));
  MUST(cuGraphClone(&clone, graph));
  MUST(cuGraphDestroy(graph));
  return clone;
}
static void graphs_by_hand(CUstream stream) {
  CUgraph graph = made_by_hand(stream), empty_of_kernels = nullptr;
  CUgraphExec one = nullptr, two = nullptr, none = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters = {};
  MUST(cuGraphInstantiateWithParams(&one, graph, &parameters));
  replay(one, stream, 5, 7);
  CUgraphExecUpdateResultInfo info = {};
  MUST(cuGraphExecUpdate(one, made_by_hand(stream), &info));
  replay(one, stream, 5, 7);
  add_kernel(graph);
  MUST(cuGraphInstantiate(&two, graph, 0));
  MUST(cuGraphExecDestroy(one));
  replay(two, stream, 5, 8);
  CUDA_HOST_NODE_PARAMS host = {};
  CUgraphNode node = nullptr;
  host.fn = nothing_on_host;
  MUST(cuGraphCreate(&empty_of_kernels, 0));
  MUST(cuGraphAddHostNode(&node, empty_of_kernels, nullptr, 0, &host));
  MUST(cuGraphInstantiate(&none, empty_of_kernels, 0));
  replay(none, stream, 3, 0);
}

static void set_up_kernels() {
  static const char kModule[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry taken()\n{\n ret;\n}\n.visible .entry ran()\n{\n ret;\n}\n";
  CUdevice device = 0;
  CUmodule module = nullptr;
  MUST(cuInit(0));
  MUST(cuDeviceGet(&device, 0));
  MUST(cuDevicePrimaryCtxRetain(&g_context, device));
  MUST(cuCtxSetCurrent(g_context));
  MUST(cuModuleLoadData(&module, kModule));
  MUST(cuModuleGetFunction(&g_taken, module, "taken"));
  MUST(cuModuleGetFunction(&g_ran, module, "ran"));
}

int main() {
  set_up_kernels();
  CUstream stream = new_stream();
  decode_loop(stream);
  joined_stream(stream);
  own_stream();
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED})
    other_thread(stream, mode);
  legacy_stream(stream);
  graphs_by_hand(stream);
  MUST(cuCtxSynchronize());
  tell("captured %lu", g_captured.load());
  tell("kernels %lu", g_kernels.load());
  printf("done\n");
}
