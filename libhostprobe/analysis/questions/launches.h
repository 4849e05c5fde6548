// launches.h: GPU launches of one process: how many, how long a call takes, and the gaps between them.
//
// Room 3. A gap runs from the end of one launch call to the start of the next on the same thread: host time in which no
// new work reached the GPU. Where records are missing in between, the gap is not known and not counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/trace/histogram.h"
#include "analysis/trace/roles.h"
#include "analysis/trace/trace.h"

namespace hostprobe::analysis {

struct LaunchAnswer {
  bool hooked = false;  // the launch functions of a driver were found: 0 launches is then a measured 0
  std::uint64_t kernels = 0;
  std::map<std::string, std::uint64_t> by_function;
  Histogram call;
  Histogram gap;
  std::uint64_t gaps_unknown = 0;
  Role role = Role::kOther;  // of the thread that launches most
  double span_ms = 0;        // of that thread: from its first launch to the end of its last
};

class Launches {
 public:
  Launches(const Trace& trace, const std::map<ThreadKey, Role>& roles);
  void add(const Thread& thread, const Hook& hook, const Record& record);
  // Launches that were counted and nothing else, to keep to the budget.
  void add_skipped(const Hook& hook, std::uint64_t count);
  // A thread's launches of one function, and the gaps before each of them.
  void add_sum(const Thread& thread, const Hook& hook, const SiteSum& sum);
  // Records are missing here: lost, or left out for the budget.
  void missing(const Thread& thread);
  // Records are missing, but the gaps between them are in the sums.
  void summed(const Thread& thread);
  LaunchAnswer finish();

 private:
  struct PerThread {
    std::uint64_t count = 0;
    std::uint64_t first_ticks = 0;
    std::uint64_t last_end_ticks = 0;  // 0: no launch before, or records are missing since
    std::uint64_t end_ticks = 0;
    double summed_ns = 0;  // calls and gaps in the sums
  };

  const Trace& trace_;
  const std::map<ThreadKey, Role>& roles_;
  std::map<const Hook*, std::uint64_t> counts_;
  std::map<ThreadKey, PerThread> threads_;
  LaunchAnswer answer_;
};

}  // namespace hostprobe::analysis
