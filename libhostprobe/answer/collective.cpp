// collective.cpp: see collective.h.
#include "collective.h"

#include <algorithm>

namespace hostprobe::analysis {

std::uint64_t least_bytes(int size_class) { return size_class < 0 ? 0 : std::uint64_t{1} << (2 * size_class); }

std::uint64_t next_least_bytes(int size_class) {
  return size_class < 0 ? 1 : size_class >= 31 ? UINT64_MAX : std::uint64_t{1} << (2 * size_class + 2);
}

void SampledTimes::add(const SampledTimes& other) {
  gpu.add(other.gpu);
  wait.add(other.wait);
  transfer.add(other.transfer);
  bus_bytes += other.bus_bytes;
  most_slack_ns = std::max(most_slack_ns, other.most_slack_ns);
}

std::optional<double> CollectiveAnswer::bus_gb_s() const {
  double moved_bytes = 0, ns = 0;  // bytes / ns is GB/s
  for (const auto& [number, size] : sizes) {
    moved_bytes += size.bus_bytes;
    ns += size.transfer.total_ns();
  }
  return moved_bytes <= 0 || ns <= 0 ? std::nullopt : std::optional(moved_bytes / ns);
}

}  // namespace hostprobe::analysis
