// launch_queue.cpp: see launch_queue.h.
#include "probe/fixes/launching/launch_queue.h"

namespace hostprobe::probe {

LaunchQueue::Reserved LaunchQueue::reserve(unsigned units, std::uint64_t& position) {
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  for (;;) {
    if ((tail & kClosed) != 0) return Reserved::kClosed;
    if (tail + units - submitted() > kUnits) return Reserved::kFull;
    if (!tail_.compare_exchange_weak(tail, tail + units, std::memory_order_seq_cst, std::memory_order_relaxed))
      continue;
    position = tail;
    return Reserved::kYes;
  }
}

QueuedLaunch* LaunchQueue::next() {
  const std::uint64_t position = submitted_.load(std::memory_order_relaxed);
  return ready_[position % kUnits].load(std::memory_order_acquire) == position + 1 ? &at(position) : nullptr;
}

}  // namespace hostprobe::probe
