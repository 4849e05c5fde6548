// driver_by_plt.h: the driver by direct calls of an object that is linked to libcuda.so.1.
#pragma once

#include "driver_work.h"

#undef cuLaunchKernel
#undef cuGraphLaunch
extern "C" {
CUresult cuLaunchKernel_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                             void**, void**);
CUresult cuGraphLaunch_ptsz(CUgraphExec, CUstream);
CUresult cuStreamSynchronize_ptsz(CUstream);
}

#define VICTIM_DIRECT(name) [](auto... arguments) { return name(arguments...); }

inline Driver driver_by_plt() {
  Driver d = {};
  d.suffix = "";
  d.init = VICTIM_DIRECT(cuInit);
  d.device_get = VICTIM_DIRECT(cuDeviceGet);
  d.retain = VICTIM_DIRECT(cuDevicePrimaryCtxRetain);
  d.set_current = VICTIM_DIRECT(cuCtxSetCurrent);
  d.load = VICTIM_DIRECT(cuModuleLoadData);
  d.get_function = VICTIM_DIRECT(cuModuleGetFunction);
  d.stream_create = VICTIM_DIRECT(cuStreamCreate);
  d.event_create = VICTIM_DIRECT(cuEventCreate);
  d.event_record = VICTIM_DIRECT(cuEventRecord);
  d.begin_capture = VICTIM_DIRECT(cuStreamBeginCapture);
  d.end_capture = VICTIM_DIRECT(cuStreamEndCapture);
  d.instantiate = VICTIM_DIRECT(cuGraphInstantiateWithFlags);
  d.launch = VICTIM_DIRECT(cuLaunchKernel);
  d.launch_ex = VICTIM_DIRECT(cuLaunchKernelEx);
  d.launch_cooperative = VICTIM_DIRECT(cuLaunchCooperativeKernel);
  d.graph_launch = VICTIM_DIRECT(cuGraphLaunch);
  d.launch_host = VICTIM_DIRECT(cuLaunchHostFunc);
  d.stream_synchronize = VICTIM_DIRECT(cuStreamSynchronize);
  d.event_synchronize = VICTIM_DIRECT(cuEventSynchronize);
  d.context_synchronize = VICTIM_DIRECT(cuCtxSynchronize);
#if CUDA_VERSION >= 13000
  d.context_synchronize_v2 = VICTIM_DIRECT(cuCtxSynchronize_v2);
#endif
  return d;
}

// The per-thread-stream functions, called directly as well.
inline void call_ptsz_functions(const DriverState& s) {
  for (int i = 0; i < 4; ++i)
    check(cuLaunchKernel_ptsz(s.kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel_ptsz");
  check(cuGraphLaunch_ptsz(s.graph, nullptr), "cuGraphLaunch_ptsz");
  for (int i = 0; i < 2; ++i) check(cuStreamSynchronize_ptsz(nullptr), "cuStreamSynchronize_ptsz");
  tell("count cuLaunchKernel_ptsz 4");
  tell("count cuGraphLaunch_ptsz 1");
  tell("count cuStreamSynchronize_ptsz 2");
}
