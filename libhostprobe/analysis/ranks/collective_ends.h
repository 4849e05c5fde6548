// collective_ends.h: when a rank's collectives had ended, as far as its trace knows: their kernels' ends where GPU times are
// known, else the return of a blocking call that waited for them.
//
// Room 3. For aligning the clocks of hosts. Of collectives that one wait covers only the last one is told. What is held
// grows with the waits of a process, up to a limit.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace hostprobe::analysis {

class CollectiveKernels;

class Timeline;

struct CollectiveEnd {
  std::uint64_t communicator = 0;
  std::uint32_t sequence = 0;
  bool exact = false;            // the end of its kernel
  std::uint64_t arrival_ns = 0;  // CLOCK_MONOTONIC; the rank did not arrive before
  std::uint64_t end_ns = 0;      // it had ended by then
};

// Only operations that no rank can end before all have arrived, and none that was captured into a graph.
// With the ends of kernels where there are some.
std::vector<CollectiveEnd> collective_ends(const Timeline& timeline, std::shared_ptr<const CollectiveKernels> kernels);

}  // namespace hostprobe::analysis
