// collective_sizes.h: size classes of collectives, and the bandwidth that one gets out of the links.
//
// Room 3. Classes are powers of four of the bytes a call passes: 1 MiB up to, not including, 4 MiB is one.
#pragma once

#include <cstdint>
#include <string>

#include "model/histogram.h"

namespace hostprobe::analysis {

inline constexpr int kNoBytes = -1;      // the class of calls that move nothing
inline constexpr int kSizeUnknown = -2;  // of those that only counters know

int size_class(std::uint64_t bytes);
// What the smallest call of a class passes, and what the smallest of the next one does. Not of kSizeUnknown.
std::uint64_t least_bytes(int size_class);
std::uint64_t next_least_bytes(int size_class);

// What nccl-tests divides by the time for its bus bandwidth: bytes that each link must carry at least, whatever the
// algorithm. `bytes` as passed by the caller.
double bus_bytes(const std::string& operation, std::uint64_t bytes, std::uint32_t ranks);

// The calls of one size class.
struct CollectiveSize {
  Histogram host;      // duration of the calls, on all ranks
  Histogram gpu;       // of their kernels, on all ranks: waiting for the last rank included
  Histogram transfer;  // of each operation: from the last start to the last end
  double bus_bytes = 0;
  void add(const CollectiveSize& other) {
    host.add(other.host);
    gpu.add(other.gpu);
    transfer.add(other.transfer);
    bus_bytes += other.bus_bytes;
  }
};

}  // namespace hostprobe::analysis
