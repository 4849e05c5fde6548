// python.h: what Python's garbage collector and its interpreter lock took.
//
// The waist (answer/). analysis/measures/gc_pauses.h and gil_waits.h fill it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "histogram.h"
#include "role.h"
#include "thread_key.h"

namespace hostprobe::analysis {

struct GcAnswer {
  Histogram time;
  std::map<std::uint64_t, Histogram> by_generation;
  // Of the pauses that have a place in time:
  double in_steps_ns = 0;
  double placed_ns = 0;
  double late_ns = 0;  // in the later half of the process's life: of a process without steps, what is not its start-up
  double later_half_ns = 0;  // how long that is
};

struct GilHolder {
  ThreadKey thread;
  Role role = Role::kOther;
  std::uint64_t requests = 0;
  double ns = 0;  // of the waits that its release ended, and of those before them in the same request
};

struct GilThread {
  ThreadKey thread;
  Role role = Role::kOther;
  std::uint64_t requests = 0;  // that waited
  double ns = 0;
  double in_steps_ns = 0;
  double longest_ns = 0;           // request
  std::vector<GilHolder> holders;  // who had it as the request ended, as far as it is known; heaviest first
};

}  // namespace hostprobe::analysis
