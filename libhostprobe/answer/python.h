// python.h: what Python's garbage collector and its interpreter lock took.
//
// The waist (answer/). analysis/measures/gc_pauses.h and gil_waits.h fill it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "histogram.h"
#include "role.h"
#include "thread_key.h"

namespace hostprobe::analysis {

// How memory lives on from collection to collection, by how much of it was counted behind them.
struct LivingBlocks {
  double first = 0, last = 0;  // means of the first and the last third
  double per_ns = 0;           // how fast they become more; 0: they do not
  bool grow() const { return per_ns > 0; }
};

// Of collections that have a place in time: those in the steps, or in the later half of a life without steps.
struct GcWork {
  double ns = 0;
  std::uint64_t collected = 0;
  // That the program asked for by gc.collect().
  std::uint64_t requests = 0, requests_collected = 0;
  double requests_ns = 0;
  std::vector<std::string> requests_stack;  // of the longest that has one, innermost first
  LivingBlocks blocks;
  double first_pause_ns = 0,
         last_pause_ns =
             0;  // of the oldest generation that the interpreter collected itself: of its first and last third
};

struct GcAnswer {
  Histogram time;
  std::map<std::uint64_t, Histogram> by_generation;
  GcWork work;
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
