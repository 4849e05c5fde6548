// collective_sizes.cpp: see collective_sizes.h.
#include "collective_sizes.h"

#include <bit>

namespace hostprobe::analysis {

int size_class(std::uint64_t bytes) { return bytes == 0 ? kNoBytes : (std::bit_width(bytes) - 1) / 2; }

double bus_bytes(const std::string& operation, std::uint64_t bytes, std::uint32_t ranks) {
  const auto own = static_cast<double>(bytes);
  const double others = ranks > 1 ? static_cast<double>(ranks - 1) : 0;
  if (operation == "AllReduce") return ranks == 0 ? 0 : 2 * own * others / static_cast<double>(ranks);
  // The caller passes one rank's part of what moves.
  if (operation == "AllGather" || operation == "ReduceScatter" || operation == "AlltoAll" || operation == "Gather" ||
      operation == "Scatter")
    return own * others;
  return own;  // Broadcast, Reduce
}

}  // namespace hostprobe::analysis
