// hooks/cuda.cpp: launches and synchronising calls of the CUDA driver API. One block per function.
//
// Room 2 (probe/). None of these is exported: routes.cpp hands the wrappers out through dlsym, cuGetProcAddress and
// patched GOT slots. Runs on the program's launching threads. `rec.c` holds the caller's return address when the body
// starts; launches put the block's shape there instead.
#include <cuda.h>

#include "probe/hooks/graph_nodes.h"
#include "probe/hooks/kernel_name.h"
#include "probe/intercept/routes.h"
#include "probe/record/hook.h"

// cuda.h renames functions by #define to their newest versions; hooks are named as the library exports them.
#undef cuLaunchKernel
#undef cuLaunchKernelEx
#undef cuLaunchCooperativeKernel
#undef cuGraphLaunch
#undef cuLaunchHostFunc
#undef cuStreamSynchronize
#undef cuEventSynchronize
#undef cuCtxSynchronize

using namespace hostprobe;
using namespace hostprobe::probe;

namespace {

inline void fill_launch(Record& rec, CUresult result, CUfunction f, std::uint64_t grid, std::uint64_t block,
                        CUstream stream, unsigned shared_bytes) {
  rec.a = result == CUDA_SUCCESS ? kernel_name(f) : 0;
  rec.b = grid;
  rec.c = block;
  rec.d = reinterpret_cast<std::uint64_t>(stream);
  rec.e = shared_bytes;
}

inline void fill_config(Record& rec, CUresult result, const CUlaunchConfig* config, CUfunction f) {
  CUlaunchConfig none{};
  const CUlaunchConfig& c = result == CUDA_SUCCESS ? *config : none;
  fill_launch(rec, result, f, pack_dim(c.gridDimX, c.gridDimY, c.gridDimZ),
              pack_dim(c.blockDimX, c.blockDimY, c.blockDimZ), c.hStream, c.sharedMemBytes);
}

inline void fill_sync(Record& rec, const void* object) {
  rec.a = reinterpret_cast<std::uint64_t>(object);
  rec.b = rec.d = rec.e = 0;
}

}  // namespace

// What the hook's role says of work in a stream.
constexpr Enqueued enqueued_as(HookRole role) {
  return role == HookRole::kLaunchCallback ? Enqueued::kCallback : Enqueued::kKernels;
}

// A launch into `stream`, an expression with the arguments.
#define HP_LAUNCH_HOOK(role, name, params, args, stream, l0, l1, l2, l3, l4)                                    \
  HP_MOMENTS_HOOK(                                                                                              \
      kCuda, CUresult, kLaunch, role, name, params, args, Nothing, (void)0, {}, ([&] {                          \
        return WorkQueue{stream, std::bool_constant<is_per_thread(#name)>::value, enqueued_as(HookRole::role)}; \
      }),                                                                                                       \
      l0, l1, l2, l3, l4)
#define HP_LAUNCH_CALL(role, name, params, args, stream, l0, l1, w0, w1)                    \
  HP_LAUNCH_HOOK(role, name, params, args, stream, l0, l1, "site:code", "stream:hex", "") { \
    rec.a = word_of(w0), rec.b = word_of(w1);                                               \
    rec.d = word_of(stream), rec.e = 0;                                                     \
  }

#define HP_LAUNCH_KERNEL(name)                                                                                 \
  HP_LAUNCH_HOOK(kLaunch, name,                                                                                \
                 (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,  \
                  unsigned shared, CUstream stream, void** params, void** extra),                              \
                 (f, gx, gy, gz, bx, by, bz, shared, stream, params, extra), stream, "kernel:str", "grid:dim", \
                 "block:dim", "stream:hex", "shared_bytes") {                                                  \
    fill_launch(rec, result, f, pack_dim(gx, gy, gz), pack_dim(bx, by, bz), stream, shared);                   \
  }
HP_LAUNCH_KERNEL(cuLaunchKernel)
HP_LAUNCH_KERNEL(cuLaunchKernel_ptsz)

#define HP_LAUNCH_KERNEL_EX(name)                                                                                     \
  HP_LAUNCH_HOOK(kLaunch, name, (const CUlaunchConfig* config, CUfunction f, void** params, void** extra),            \
                 (config, f, params, extra), config == nullptr ? nullptr : config->hStream, "kernel:str", "grid:dim", \
                 "block:dim", "stream:hex", "shared_bytes") {                                                         \
    fill_config(rec, result, config, f);                                                                              \
  }
HP_LAUNCH_KERNEL_EX(cuLaunchKernelEx)
HP_LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz)

#define HP_LAUNCH_COOPERATIVE(name)                                                                                  \
  HP_LAUNCH_HOOK(kLaunch, name,                                                                                      \
                 (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,        \
                  unsigned shared, CUstream stream, void** params),                                                  \
                 (f, gx, gy, gz, bx, by, bz, shared, stream, params), stream, "kernel:str", "grid:dim", "block:dim", \
                 "stream:hex", "shared_bytes") {                                                                     \
    fill_launch(rec, result, f, pack_dim(gx, gy, gz), pack_dim(bx, by, bz), stream, shared);                         \
  }
HP_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel)
HP_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz)

#define HP_GRAPH_LAUNCH(name)                                                                                    \
  HP_LAUNCH_HOOK(kLaunchGraph, name, (CUgraphExec graph, CUstream stream), (graph, stream), stream, "graph:hex", \
                 "nodes", "site:code", "stream:hex", "kernels") {                                                \
    const GraphSize size = size_of_graph(graph);                                                                 \
    rec.a = word_of(graph), rec.b = size.nodes;                                                                  \
    rec.d = word_of(stream), rec.e = size.kernels;                                                               \
  }
HP_GRAPH_LAUNCH(cuGraphLaunch)
HP_GRAPH_LAUNCH(cuGraphLaunch_ptsz)

#define HP_LAUNCH_HOST(name, params, args) \
  HP_LAUNCH_CALL(kLaunchCallback, name, params, args, stream, "function:code", "", function, 0)
HP_LAUNCH_HOST(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void* user), (stream, function, user))
HP_LAUNCH_HOST(cuLaunchHostFunc_ptsz, (CUstream stream, CUhostFn function, void* user), (stream, function, user))
HP_LAUNCH_HOST(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn function, void* user, unsigned mode),
               (stream, function, user, mode))
HP_LAUNCH_HOST(cuLaunchHostFunc_v2_ptsz, (CUstream stream, CUhostFn function, void* user, unsigned mode),
               (stream, function, user, mode))

// One kernel on each of several devices; recorded as what the first device got.
HP_LAUNCH_HOOK(kLaunchMany, cuLaunchCooperativeKernelMultiDevice,
               (CUDA_LAUNCH_PARAMS * each, unsigned devices, unsigned flags), (each, devices, flags),
               each == nullptr || devices == 0 ? nullptr : each[0].hStream, "kernel:str", "grid:dim", "block:dim",
               "stream:hex", "shared_bytes") {
  CUDA_LAUNCH_PARAMS first{};
  if (result == CUDA_SUCCESS && each != nullptr && devices > 0) first = each[0];
  fill_launch(rec, result, first.function, pack_dim(first.gridDimX, first.gridDimY, first.gridDimZ),
              pack_dim(first.blockDimX, first.blockDimY, first.blockDimZ), first.hStream, first.sharedMemBytes);
}

#define HP_SYNCHRONIZE(role, name, params, args, label, object) \
  HP_DRIVER_HOOK(kBlocking, role, name, params, args, label, "", "site:code", "", "") { fill_sync(rec, object); }
HP_SYNCHRONIZE(kSyncStream, cuStreamSynchronize, (CUstream stream), (stream), "stream:hex", stream)
HP_SYNCHRONIZE(kSyncStream, cuStreamSynchronize_ptsz, (CUstream stream), (stream), "stream:hex", stream)
HP_SYNCHRONIZE(kSyncEvent, cuEventSynchronize, (CUevent event), (event), "event:hex", event)
HP_SYNCHRONIZE(kSyncContext, cuCtxSynchronize, (), (), "", nullptr)
HP_SYNCHRONIZE(kSyncContext, cuCtxSynchronize_v2, (CUcontext context), (context), "context:hex", context)
