// sync.h: calls in which a process waited for its GPU.
//
// The waist (answer/). analysis/measures/syncs.h fills it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "histogram.h"
#include "role.h"

namespace hostprobe::analysis {

// Calls that return at once, unless the GPU has to be waited for.
struct GpuStall {
  std::uint64_t count = 0;
  std::map<Role, double> ms_by_role;
  double share_pct = 0;  // as of synchronisations

  double total_ms() const {
    double ms = 0;
    for (const auto& [role, of_role] : ms_by_role) ms += of_role;
    return ms;
  }
  void add(const GpuStall& other) {
    count += other.count;
    for (const auto& [role, ms] : other.ms_by_role) ms_by_role[role] += ms;
  }
};

struct SyncAnswer {
  bool hooked = false;
  Histogram time;
  std::map<std::string, std::uint64_t> by_function;
  std::map<Role, double> total_ms_by_role;
  double share_pct = 0;  // of the lives of the threads that wait most, each instant once
  GpuStall memory;       // allocations and frees, the latter among the synchronisations too
  GpuStall copies;       // into a stream, of memory that is not pinned
};

}  // namespace hostprobe::analysis
