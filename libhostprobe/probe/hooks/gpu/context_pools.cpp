// context_pools.cpp: see context_pools.h.
#include "probe/hooks/gpu/context_pools.h"

#include "probe/hooks/gpu/captures.h"
#include "probe/intercept/routes.h"
#include "probe/runtime/of_process.h"

namespace hostprobe::probe {

HP_OF_PROCESS ContextDriver g_context_driver;

namespace {

enum class Known : std::uint32_t { kNotYet, kAll, kNotAll };
HP_OF_PROCESS std::atomic<Known> g_known{Known::kNotYet};

}  // namespace

// Two threads may do it at the same time: they write the same.
bool context_driver_is_known() {
  const Known known = g_known.load(std::memory_order_acquire);
  if (known != Known::kNotYet) return known == Known::kAll;
  ContextDriver& d = g_context_driver;
  const bool all = find_routed(d.context, "cuCtxGetCurrent") && find_routed(d.context_id, "cuCtxGetId") &&
                   find_routed(d.device, "cuCtxGetDevice") &&
                   find_routed(d.primary_state, "cuDevicePrimaryCtxGetState") &&
                   find_routed(d.create, "cuEventCreate") && find_routed(d.record[0], "cuEventRecord") &&
                   find_routed(d.record[1], "cuEventRecord_ptsz") && find_routed(d.query, "cuEventQuery") &&
                   find_routed(d.query_stream, "cuStreamQuery") && find_routed(d.elapsed, "cuEventElapsedTime") &&
                   !cannot_ask_beside_captures();
  g_known.store(all ? Known::kAll : Known::kNotAll, std::memory_order_release);
  return all;
}

bool context_driver_was_found() { return g_known.load(std::memory_order_acquire) == Known::kAll; }

bool current_context(CUcontext& context, std::uint64_t& id) {
  unsigned long long number = 0;
  if (g_context_driver.context(&context) != CUDA_SUCCESS || context == nullptr ||
      g_context_driver.context_id(context, &number) != CUDA_SUCCESS)
    return false;
  id = number;
  return true;
}

}  // namespace hostprobe::probe
