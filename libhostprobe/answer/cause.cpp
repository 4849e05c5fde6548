// cause.cpp: see cause.h.
#include "cause.h"

namespace hostprobe::analysis {

const char* cause_id(Cause cause) {
  constexpr const char* kIds[] = {
      "gpu_bound",       "gpu_bound",       "host_work",       "gc_pause",        "gil_contention",
      "lock_contention", "dataloader_wait", "file_io",         "python_overhead", "host_work",
      "launch_bound",    "sync_calls",      "alloc_stall",     "pageable_copy",   "jit_compile",
      "cpu_contention",  "cpu_throttle",    "process_stopped", "low_frequency",   "idle_state_exit",
      "proxy_delay",     "slow_gpu",        "comm_bandwidth",  "waits_for_rank",  "unexplained"};
  static_assert(sizeof kIds / sizeof kIds[0] == kCauses);
  return kIds[static_cast<std::size_t>(cause)];
}

}  // namespace hostprobe::analysis
