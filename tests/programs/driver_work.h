// driver_work.h: the same piece of GPU work for every driver_* victim: the victims differ only in how they come by the
// driver's functions. Tells, line by line, how often which exported function must have been entered.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include "victim.h"

// What a route is asked for. `exported` is the name in libcuda.so.1, `base` and `version` are what cuGetProcAddress is
// asked for, `stream_version` is 0 for functions that have no per-thread-stream form.
struct DriverName {
  const char* exported;
  const char* base;
  int version;
  int stream_version;
};
using FindFunction = void* (*)(const DriverName& name, bool per_thread);

struct Driver {
  PFN_cuInit_v2000 init;
  PFN_cuDeviceGet_v2000 device_get;
  PFN_cuDevicePrimaryCtxRetain_v7000 retain;
  PFN_cuCtxSetCurrent_v4000 set_current;
  PFN_cuModuleLoadData_v2000 load;
  PFN_cuModuleGetFunction_v2000 get_function;
  PFN_cuStreamCreate_v2000 stream_create;
  PFN_cuEventCreate_v2000 event_create;
  PFN_cuEventRecord_v2000 event_record;
  PFN_cuStreamBeginCapture_v10010 begin_capture;
  PFN_cuStreamEndCapture_v10000 end_capture;
  PFN_cuGraphInstantiateWithFlags_v11040 instantiate;
  PFN_cuLaunchKernel_v4000 launch;
  PFN_cuLaunchKernelEx_v11060 launch_ex;
  PFN_cuLaunchCooperativeKernel_v9000 launch_cooperative;
  PFN_cuGraphLaunch_v10000 graph_launch;
  PFN_cuLaunchHostFunc_v10000 launch_host;
  PFN_cuStreamSynchronize_v2000 stream_synchronize;
  PFN_cuEventSynchronize_v2000 event_synchronize;
  PFN_cuCtxSynchronize_v2000 context_synchronize;
  CUresult (*context_synchronize_v2)(CUcontext);  // since CUDA 13; null before
  const char* suffix;                             // "_ptsz" for per-thread-stream functions
};

inline void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  printf("%s failed: %d\n", what, static_cast<int>(result));
  fflush(stdout);
  _exit(99);
}

template <class Function>
void fetch(FindFunction find, bool per_thread, Function*& out, DriverName name) {
  out = reinterpret_cast<Function*>(find(name, per_thread));
  if (out == nullptr && strcmp(name.exported, "cuCtxSynchronize_v2") != 0) {
    printf("%s was not found\n", name.exported);
    fflush(stdout);
    _exit(98);
  }
}

inline Driver find_driver(FindFunction find, bool per_thread) {
  Driver d = {};
  d.suffix = per_thread ? "_ptsz" : "";
  fetch(find, per_thread, d.init, {"cuInit", "cuInit", 2000, 0});
  fetch(find, per_thread, d.device_get, {"cuDeviceGet", "cuDeviceGet", 2000, 0});
  fetch(find, per_thread, d.retain, {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", 7000, 0});
  fetch(find, per_thread, d.set_current, {"cuCtxSetCurrent", "cuCtxSetCurrent", 4000, 0});
  fetch(find, per_thread, d.load, {"cuModuleLoadData", "cuModuleLoadData", 2000, 0});
  fetch(find, per_thread, d.get_function, {"cuModuleGetFunction", "cuModuleGetFunction", 2000, 0});
  fetch(find, per_thread, d.stream_create, {"cuStreamCreate", "cuStreamCreate", 2000, 0});
  fetch(find, per_thread, d.event_create, {"cuEventCreate", "cuEventCreate", 2000, 0});
  fetch(find, per_thread, d.event_record, {"cuEventRecord", "cuEventRecord", 2000, 7000});
  fetch(find, per_thread, d.begin_capture, {"cuStreamBeginCapture_v2", "cuStreamBeginCapture", 10010, 10010});
  fetch(find, per_thread, d.end_capture, {"cuStreamEndCapture", "cuStreamEndCapture", 10000, 10000});
  fetch(find, per_thread, d.instantiate, {"cuGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags", 11040, 0});
  fetch(find, per_thread, d.launch, {"cuLaunchKernel", "cuLaunchKernel", 4000, 7000});
  fetch(find, per_thread, d.launch_ex, {"cuLaunchKernelEx", "cuLaunchKernelEx", 11060, 11060});
  fetch(find, per_thread, d.launch_cooperative, {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel", 9000, 9000});
  fetch(find, per_thread, d.graph_launch, {"cuGraphLaunch", "cuGraphLaunch", 10000, 10000});
  fetch(find, per_thread, d.launch_host, {"cuLaunchHostFunc", "cuLaunchHostFunc", 10000, 10000});
  fetch(find, per_thread, d.stream_synchronize, {"cuStreamSynchronize", "cuStreamSynchronize", 2000, 7000});
  fetch(find, per_thread, d.event_synchronize, {"cuEventSynchronize", "cuEventSynchronize", 2000, 0});
  fetch(find, per_thread, d.context_synchronize, {"cuCtxSynchronize", "cuCtxSynchronize", 2000, 0});
  fetch(find, per_thread, d.context_synchronize_v2, {"cuCtxSynchronize_v2", "cuCtxSynchronize", 13000, 0});
  return d;
}

struct DriverState {
  CUcontext context;
  CUfunction kernel;
  CUstream stream;
  CUevent event;
  CUgraphExec graph;
};

// The graph launches the kernel twice; while it is captured, cuLaunchKernel is called twice.
inline void capture_graph(const Driver& d, DriverState& s) {
  CUgraph graph = nullptr;
  check(d.begin_capture(s.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
  for (int i = 0; i < 2; ++i)
    check(d.launch(s.kernel, 1, 1, 1, 32, 1, 1, 0, s.stream, nullptr, nullptr), "captured cuLaunchKernel");
  check(d.end_capture(s.stream, &graph), "cuStreamEndCapture");
  check(d.instantiate(&s.graph, graph, 0), "cuGraphInstantiateWithFlags");
  tell("count cuLaunchKernel%s 2", d.suffix);
}

inline DriverState set_up(const Driver& d) {
  static const char kModule[] =
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry the_victims_kernel()\n{\n ret;\n}\n";
  DriverState s = {};
  CUdevice device = 0;
  CUmodule module = nullptr;
  check(d.init(0), "cuInit");
  check(d.device_get(&device, 0), "cuDeviceGet");
  check(d.retain(&s.context, device), "cuDevicePrimaryCtxRetain");
  check(d.set_current(s.context), "cuCtxSetCurrent");
  check(d.load(&module, kModule), "cuModuleLoadData");
  check(d.get_function(&s.kernel, module, "the_victims_kernel"), "cuModuleGetFunction");
  check(d.stream_create(&s.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(d.event_create(&s.event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
  capture_graph(d, s);
  return s;
}

inline void CUDA_CB nothing_on_host(void*) {}

inline void launch_round(const Driver& d, const DriverState& s) {
  CUlaunchConfig config = {};
  config.gridDimX = 5;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 64;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = s.stream;
  for (int i = 0; i < 3; ++i)
    check(d.launch(s.kernel, 7, 3, 2, 32, 4, 1, 96, s.stream, nullptr, nullptr), "cuLaunchKernel");
  for (int i = 0; i < 2; ++i) check(d.launch_ex(&config, s.kernel, nullptr, nullptr), "cuLaunchKernelEx");
  check(d.launch_cooperative(s.kernel, 2, 1, 1, 32, 1, 1, 0, s.stream, nullptr), "cuLaunchCooperativeKernel");
  check(d.graph_launch(s.graph, s.stream), "cuGraphLaunch");
  check(d.launch_host(s.stream, nothing_on_host, nullptr), "cuLaunchHostFunc");
}

inline void work_rounds(const Driver& d, const DriverState& s, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    launch_round(d, s);
    check(d.event_record(s.event, s.stream), "cuEventRecord");
    check(d.event_synchronize(s.event), "cuEventSynchronize");
    check(d.stream_synchronize(s.stream), "cuStreamSynchronize");
    check(d.context_synchronize(), "cuCtxSynchronize");
    if (d.context_synchronize_v2 != nullptr) check(d.context_synchronize_v2(s.context), "cuCtxSynchronize_v2");
  }
  tell("count cuLaunchKernel%s %d", d.suffix, 3 * rounds);
  tell("count cuLaunchKernelEx%s %d", d.suffix, 2 * rounds);
  tell("count cuLaunchCooperativeKernel%s %d", d.suffix, rounds);
  tell("count cuGraphLaunch%s %d", d.suffix, rounds);
  tell("count cuLaunchHostFunc%s %d", d.suffix, rounds);
  tell("count cuStreamSynchronize%s %d", d.suffix, rounds);
  tell("count cuEventSynchronize %d", rounds);
  tell("count cuCtxSynchronize %d", rounds);
  if (d.context_synchronize_v2 != nullptr) tell("count cuCtxSynchronize_v2 %d", rounds);
}

inline void work_with(const Driver& d, int rounds) { work_rounds(d, set_up(d), rounds); }
