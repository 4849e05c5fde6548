// collective_sizes.h: size classes of collectives, and the bandwidth that one gets out of the links.
//
// Room 3. Classes are powers of four of the bytes a call passes: 1 MiB up to, not including, 4 MiB is one.
#pragma once

#include <cstdint>
#include <string>

#include "answer/collective.h"
#include "answer/histogram.h"

namespace hostprobe::analysis {

int size_class(std::uint64_t bytes);

// What nccl-tests divides by the time for its bus bandwidth: bytes that each link must carry at least, whatever the
// algorithm. `bytes` as passed by the caller.
double bus_bytes(const std::string& operation, std::uint64_t bytes, std::uint32_t ranks);

}  // namespace hostprobe::analysis
