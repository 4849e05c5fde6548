// kernel_wakers.h: who ended a wait of which the probe knows no waker, as the kernel saw it: a thread that posted past the hooks,
// another process, or an interrupt, in which case nobody did.
//
// Room 3. Only what is certain. The kernel saw the thread fall asleep and be woken in the call, and not fall asleep again before
// the call returned; if it slept there several times, the same one woke it each time; no record of the kernel's is missing
// meanwhile. Rows that do not tell in which context they were written say nothing (KernelContext).
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/measures/wake_chains.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// Processes of the machine that the trace is of.
struct WokenProcess {
  WakeChains* chains = nullptr;
  std::uint32_t pid = 0;
};

void find_kernel_wakers(const Trace& kernel, const std::vector<WokenProcess>& processes);

}  // namespace hostprobe::analysis
