// progress.h: how well NCCL's progress threads keep up: the time between two looks at their work while there is some.
//
// Room 3. A look is a call of sched_yield with no wait since the one before (probe/progress.h). Intervals below
// HOSTPROBE_STALL_US come as sums, the longer ones as records.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "histogram.h"
#include "roles.h"
#include "trace.h"

namespace hostprobe::analysis {

struct ProgressAnswer {
  std::uint32_t tid = 0;
  std::string name;
  Role role = Role::kOther;
  std::string communicator;  // the one whose initialisation started the thread; "" = not known
  Histogram poll;            // intervals
  std::uint64_t stalls = 0;  // those recorded one by one
  double stall_ms = 0;
  std::uint32_t migrations = 0;  // polls from another CPU than the one before
  std::optional<double> cpu_ms;
  std::optional<double> run_delay_ms;
};

class ProgressThreads {
 public:
  ProgressThreads(const Trace& trace, const std::map<ThreadKey, Role>& roles) : trace_(trace), roles_(roles) {}

  static bool is_poll(const Hook& hook) { return hook.name == "sched_yield"; }
  void add(const Thread& thread, const Record& record);
  void add_short(const Thread& thread, const ShortWaitsSum& sum);
  // Any record of NCCL's: those that make a communicator tell whose threads start then.
  void add_communicator(const Hook& hook, const Record& record);
  std::vector<ProgressAnswer> finish();

 private:
  ProgressAnswer& of(const Thread& thread);
  std::string communicator_at(std::uint64_t ticks) const;

  const Trace& trace_;
  const std::map<ThreadKey, Role>& roles_;
  std::map<ThreadKey, ProgressAnswer> threads_;
  std::map<std::uint64_t, std::uint64_t> communicators_;  // by when the call that made it began
};

}  // namespace hostprobe::analysis
