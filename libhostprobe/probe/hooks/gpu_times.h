// gpu_times.h: for a few collectives a second, how long they took on the GPU: a pair of timing events of our own round the call.
//
// Room 2 (probe/). Before and after each collective that is no part of a group; two loads where none is due. Never while any
// capture is open. The events are made in the context that is current, used again and again, and looked at by later calls,
// which never wait for them. docs/decisions/0016-gpu-times.md says why so.
#pragma once

#include <atomic>
#include <cstdint>

#include "probe/hooks/communicators.h"
#include "probe/hooks/gpu/context_pools.h"
#include "probe/runtime/compiler.h"

namespace hostprobe::probe {

// How far apart they are to be; 0: none is timed. Set by the writer.
extern HP_OURS std::atomic<std::uint64_t> g_gpu_time_interval_ns;
// Calls that are being timed, by any thread.
extern HP_OURS std::atomic<std::uint32_t> g_gpu_times_open;

void begin_gpu_time_now(const void* communicator, const void* stream);
void end_gpu_time_now(const NcclOperation& operation);

inline void begin_gpu_time(const void* communicator, const void* stream) {
  if (HP_LIKELY(g_gpu_time_interval_ns.load(std::memory_order_relaxed) == 0)) return;
  begin_gpu_time_now(communicator, stream);
}
inline NcclOperation end_gpu_time(NcclOperation operation) {
  if (HP_UNLIKELY(g_gpu_times_open.load(std::memory_order_relaxed) != 0)) end_gpu_time_now(operation);
  return operation;
}

// Their events are gone with it.
void forget_gpu_times(const GoneContext& gone);

}  // namespace hostprobe::probe
