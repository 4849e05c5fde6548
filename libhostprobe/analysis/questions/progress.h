// progress.h: how well NCCL's progress threads keep up: the time between two looks at their work while there is some.
//
// Room 3. A look is a call of sched_yield with no wait since the one before (probe/progress.h). Intervals below
// HOSTPROBE_STALL_US come as sums, the longer ones as records.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/histogram.h"
#include "analysis/trace/roles.h"
#include "analysis/trace/trace.h"

namespace hostprobe::analysis {

struct ProgressAnswer {
  std::uint32_t tid = 0;
  std::string name;
  Role role = Role::kOther;
  std::string communicator;  // the one for which the thread was started; "" = not known
  Histogram poll;            // intervals
  std::uint64_t stalls = 0;  // those recorded one by one
  double stall_ms = 0;
  std::uint32_t migrations = 0;  // polls from another CPU than the one before
  std::optional<double> cpu_ms;
  std::optional<double> run_delay_ms;
};

class ProgressThreads {
 public:
  ProgressThreads(const Trace& trace, const std::map<ThreadKey, Role>& roles);

  static bool is_poll(const Hook& hook) { return hook.name == "sched_yield"; }
  void add(const Thread& thread, const Record& record);
  void add_short(const Thread& thread, const SiteSum& sum);
  void add_stalls(const Thread& thread, const SiteSum& sum);
  // Any record of NCCL's: the call inside which a thread came to be tells whose it is.
  void add_call(const Thread& caller, const Hook& hook, const Record& record);
  std::vector<ProgressAnswer> finish();

 private:
  // When and by which thread of the program a thread of NCCL's was started, NCCL's own threads in between left out.
  struct Birth {
    std::uint32_t creator_tid = 0;
    std::uint64_t ticks = 0;
    std::uint64_t communicator = 0;
    std::uint64_t communicator_ticks = 0;  // when the call began that told it
  };

  ProgressAnswer& of(const Thread& thread);
  Birth birth_of(const Thread& thread) const;

  const Trace& trace_;
  const std::map<ThreadKey, Role>& roles_;
  std::map<ThreadKey, ProgressAnswer> threads_;
  std::map<ThreadKey, Birth> births_;
};

}  // namespace hostprobe::analysis
