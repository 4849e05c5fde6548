// passages.cpp: see passages.h. Cold, but for hp_passages.
#include "probe/intercept/passages.h"

#include <string.h>

#include <atomic>

#include "probe/arch/architecture.h"
#include "probe/record/launch_order.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {
namespace {
constexpr unsigned kPassages = 640;  // passages.S of arch/
}  // namespace
}  // namespace hostprobe::probe

extern "C" {
extern const char hp_passages[] __attribute__((visibility("hidden")));
extern void* hp_passage_reals[];
HP_KEPT_BY_CHILDREN __attribute__((visibility("hidden"))) void* hp_passage_reals[hostprobe::probe::kPassages];
}

namespace hostprobe::probe {
namespace {

HP_KEPT_BY_CHILDREN bool g_lets_handles_go[kPassages];
HP_KEPT_BY_CHILDREN std::atomic<bool> g_used_up{false};

// What they answer does not depend on work that was launched, and they change none. Without _v2, _ptsz and the like.
constexpr char kLookUps[][48] = {
    "cuInit",
    "cuGetProcAddress",
    "cuGetExportTable",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDriverGetVersion",
    "cuCtxGetApiVersion",
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetFlags",
    "cuCtxGetId",
    "cuCtxGetStreamPriorityRange",
    "cuDeviceCanAccessPeer",
    "cuDeviceComputeCapability",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetByPCIBusId",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetLuid",
    "cuDeviceGetMemPool",
    "cuDeviceGetName",
    "cuDeviceGetP2PAttribute",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetProperties",
    "cuDeviceGetUuid",
    "cuDevicePrimaryCtxGetState",
    "cuDeviceTotalMem",
    "cuFuncGetAttribute",
    "cuFuncGetModule",
    "cuFuncGetName",
    "cuFuncGetParamCount",
    "cuFuncGetParamInfo",
    "cuKernelGetAttribute",
    "cuKernelGetLibrary",
    "cuKernelGetName",
    "cuKernelGetParamCount",
    "cuKernelGetParamInfo",
    "cuMemGetAddressRange",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuStreamGetCaptureInfo",
    "cuStreamGetCtx",
    "cuStreamGetDevice",
    "cuStreamGetFlags",
    "cuStreamGetId",
    "cuStreamGetPriority",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
};
constexpr const char* kEnds[] = {"", "_v2", "_v3", "_ptsz", "_ptds", "_v2_ptsz", "_v3_ptsz", "_v2_ptds"};

bool is_look_up(const char* name) {
  for (const char* look_up : kLookUps) {
    const char* end = after(name, look_up);
    for (const char* one : kEnds)
      if (end != nullptr && same(end, one)) return true;
  }
  return false;
}

// Those of a module or a context have hooks.
bool lets_handles_go(const char* name) {
  return after(name, "cuCtxDetach") != nullptr || after(name, "cuGreenCtxDestroy") != nullptr;
}

}  // namespace

bool is_ordered_name(const char* name) {
  const char* rest = after(name, "cu");
  return rest != nullptr && *rest >= 'A' && *rest <= 'Z' && !is_look_up(name);
}

void* passage_for(const char* name, void* real) {
  for (unsigned i = 0; i < kPassages; ++i) {
    void* none = nullptr;
    if (!std::atomic_ref(hp_passage_reals[i]).compare_exchange_strong(none, real, std::memory_order_acq_rel) &&
        none != real)
      continue;
    if (lets_handles_go(name)) std::atomic_ref(g_lets_handles_go[i]).store(true, std::memory_order_relaxed);
    return const_cast<char*>(hp_passages) + i * HP_PASSAGE_BYTES;
  }
  g_used_up.store(true, std::memory_order_relaxed);
  return nullptr;
}

bool passages_used_up() { return g_used_up.load(std::memory_order_relaxed); }

}  // namespace hostprobe::probe

// While launches wait: where the passage leads.
extern "C" __attribute__((visibility("hidden"))) void* hp_enter_passage(unsigned number) {
  using namespace hostprobe::probe;
  submit_launches(std::atomic_ref(g_lets_handles_go[number]).load(std::memory_order_relaxed));
  return hp_passage_reals[number];
}
