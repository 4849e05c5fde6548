// quota.h: when the CPU quota of the control group that a process was in was used up.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/machine.h"
#include "answer/process.h"
#include "model/timeline.h"
#include "model/window.h"

namespace hostprobe::analysis {

struct Throttled {
  Window window;  // on the trace's own axis
  double ns = 0;  // for which the group was stopped meanwhile, on all CPUs together: more than any one thread of it was
};

// By time; those that follow each other closely are one.
std::vector<Throttled> throttled_times(const Trace& trace);
// Nothing: it never was.
std::optional<QuotaAnswer> answer_quota(const Trace& trace);

bool is_bound_by_quota(const ProcessAnswer& process);
// By its mask and its quota; 0: not known.
double allowed_cpus(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
