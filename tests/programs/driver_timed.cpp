// driver_timed MODE MILLISECONDS: puts work into streams for so long, in a way that could be harmed by events of somebody else's.
// full: always more than the stream can do · gaps: one kernel at a time · legacy: into stream 0, beside a stream that blocks it and the
// thread's own · streams: into many that are destroyed at once · contexts: into contexts that are destroyed, and a device that is reset ·
// storm: with events of its own, all of which it asks for · hung: beside a stream that stands still · forks: has forked · capture: captures
// what it then launches, in the mode that forbids the most. Any call that fails ends it.
#include <atomic>

#include "driver_by_plt.h"

// Newer headers name later forms only.
extern "C" CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);

static uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

static void spin(uint64_t nanoseconds) {
  for (const uint64_t end = now_ns() + nanoseconds; now_ns() < end;) {
  }
}

static uint64_t g_end_ns;
static bool is_over() { return now_ns() >= g_end_ns; }

static CUfunction g_kernel;
static void launch(CUstream stream) {
  check(cuLaunchKernel(g_kernel, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
}
static CUstream make_stream(unsigned flags) {
  CUstream stream = nullptr;
  check(cuStreamCreate(&stream, flags), "cuStreamCreate");
  return stream;
}
static CUevent make_event() {
  CUevent event = nullptr;
  check(cuEventCreate(&event, CU_EVENT_DEFAULT), "cuEventCreate");
  return event;
}
static void wait_for(CUstream stream) { check(cuStreamSynchronize(stream), "cuStreamSynchronize"); }

static void full(CUstream stream) {
  CUdeviceptr memory = 0;
  check(cuMemAlloc(&memory, 1 << 20), "cuMemAlloc");
  CUevent turns[2] = {make_event(), make_event()};
  for (unsigned turn = 0; !is_over(); ++turn) {
    for (int i = 0; i < 12; ++i) launch(stream);
    check(cuMemcpyDtoDAsync(memory, memory + (1 << 19), 1 << 19, stream), "cuMemcpyDtoDAsync");
    check(cuMemsetD8Async(memory, 0, 4096, stream), "cuMemsetD8Async");
    check(cuEventRecord(turns[turn % 2], stream), "cuEventRecord");
    if (turn > 0) check(cuEventSynchronize(turns[(turn + 1) % 2]), "cuEventSynchronize");
  }
  wait_for(stream);
}

static void gaps(CUstream stream) {
  while (!is_over()) {
    launch(stream);
    wait_for(stream);
    spin(20000);
  }
}

static void legacy() {
  CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  while (!is_over()) {
    for (CUstream stream : {CUstream{nullptr}, blocking, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) launch(stream);
    check(cuLaunchKernel_ptsz(g_kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel_ptsz");
    check(cuCtxSynchronize(), "cuCtxSynchronize");
  }
}

static void streams() {
  constexpr int kMany = 1000;
  static CUstream all[kMany];
  while (!is_over()) {
    for (CUstream& stream : all) {
      stream = make_stream(CU_STREAM_NON_BLOCKING);
      launch(stream);
      spin(20000);
    }
    for (CUstream stream : all) check(cuStreamDestroy(stream), "cuStreamDestroy");
  }
  check(cuCtxSynchronize(), "cuCtxSynchronize");
}

static void load_kernel() {
  static const char kModule[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry other()\n{\n ret;\n}\n";
  CUmodule module = nullptr;
  check(cuModuleLoadData(&module, kModule), "cuModuleLoadData");
  check(cuModuleGetFunction(&g_kernel, module, "other"), "cuModuleGetFunction");
}

static void contexts() {
  CUdevice device = 0;
  CUcontext primary = nullptr;
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  for (int round = 0; !is_over(); ++round) {
    CUcontext context = nullptr;
    if (round % 2 == 0) {
      check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
      check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    } else {
      check(cuCtxCreate_v2(&context, 0, device), "cuCtxCreate");
    }
    load_kernel();
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    for (const uint64_t end = now_ns() + 200000000; now_ns() < end; wait_for(stream))
      for (int i = 0; i < 20; ++i) launch(stream);
    for (int i = 0; i < 20; ++i) launch(stream);
    if (round % 2 == 0) {
      check(cuDevicePrimaryCtxReset(device), "cuDevicePrimaryCtxReset");
    } else {
      check(cuCtxDestroy(context), "cuCtxDestroy");
    }
  }
  check(cuDevicePrimaryCtxRetain(&primary, device), "cuDevicePrimaryCtxRetain");
}

static void storm(CUstream stream) {
  constexpr int kMany = 64;
  CUevent events[kMany];
  for (CUevent& event : events) event = make_event();
  while (!is_over()) {
    for (CUevent event : events) {
      launch(stream);
      check(cuEventRecord(event, stream), "cuEventRecord");
    }
    for (CUevent event : events)
      while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
      }
    float milliseconds = 0;
    check(cuEventElapsedTime(&milliseconds, events[0], events[kMany - 1]), "cuEventElapsedTime");
  }
}

static std::atomic<bool> g_go_on{false};
static void CUDA_CB stand_still(void*) {
  while (!g_go_on) usleep(1000);
}
static void hung(CUstream stream) {
  CUstream other = make_stream(CU_STREAM_NON_BLOCKING);
  check(cuLaunchHostFunc(other, stand_still, nullptr), "cuLaunchHostFunc");
  for (int i = 0; !is_over(); ++i) {
    if (i < 500) launch(other);
    launch(stream);
    wait_for(stream);
  }
  g_go_on = true;
  wait_for(other);
}

static void forks(CUstream stream) {
  const uint64_t end = g_end_ns;
  g_end_ns = now_ns() + 300000000;
  gaps(stream);
  const pid_t child = fork();
  if (child == 0) {
    spin(100000000);
    exit(3);
  }
  g_end_ns = end;
  gaps(stream);
  print_end_of("child", child);
}

static void capture(CUstream stream) {
  while (!is_over()) {
    CUgraph graph = nullptr;
    CUgraphExec run = nullptr;
    check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    for (int i = 0; i < 40; ++i) launch(stream);
    check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(cuGraphInstantiateWithFlags(&run, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < 20; ++i) {
      check(cuGraphLaunch(run, stream), "cuGraphLaunch");
      launch(stream);
    }
    wait_for(stream);
    check(cuGraphExecDestroy(run), "cuGraphExecDestroy");
    check(cuGraphDestroy(graph), "cuGraphDestroy");
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* mode = argv[1];
  g_end_ns = now_ns() + strtoull(argv[2], nullptr, 10) * 1000000u;
  check(cuInit(0), "cuInit");
  if (strcmp(mode, "contexts") == 0) {
    contexts();
  } else {
    CUdevice device = 0;
    CUcontext context = nullptr;
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    load_kernel();
    CUstream stream = make_stream(CU_STREAM_NON_BLOCKING);
    if (strcmp(mode, "full") == 0) full(stream);
    if (strcmp(mode, "gaps") == 0) gaps(stream);
    if (strcmp(mode, "legacy") == 0) legacy();
    if (strcmp(mode, "streams") == 0) streams();
    if (strcmp(mode, "storm") == 0) storm(stream);
    if (strcmp(mode, "hung") == 0) hung(stream);
    if (strcmp(mode, "forks") == 0) forks(stream);
    if (strcmp(mode, "capture") == 0) capture(stream);
  }
  printf("done\n");
}
