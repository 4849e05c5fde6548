// idle_exits.cpp: see idle_exits.h.
#include "idle_exits.h"

#include <algorithm>

namespace hostprobe::analysis {
namespace {

double without_cpu_ns(const StepTime& time, std::uint32_t member) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (lost.member == member && (lost.cause == Cause::kCpuContention || lost.cause == Cause::kCpuThrottle))
      ns += lost.ns;
  return ns;
}

void join(LostTime& first, const LostTime& second) {
  first.ns += second.ns;
  first.pieces += second.pieces;
  first.step_ns.resize(std::max(first.step_ns.size(), second.step_ns.size()));
  for (std::size_t i = 0; i < second.step_ns.size(); ++i) first.step_ns[i] += second.step_ns[i];
}

}  // namespace

void check_idle_exits(const std::vector<StepTimeMember>& members, StepTime& time) {
  for (auto lost = time.lost.begin(); lost != time.lost.end();) {
    const bool is_alone = members[lost->member].answer->cpus == 1;
    if (lost->cause != Cause::kIdleStateExit || (!is_alone && lost->ns > without_cpu_ns(time, lost->member))) {
      ++lost;
      continue;
    }
    lost->cause = Cause::kCpuContention;
    const auto other = std::find_if(time.lost.begin(), time.lost.end(), [&](const LostTime& one) {
      return &one != &*lost && one.cause == lost->cause && one.member == lost->member;
    });
    if (other == time.lost.end()) continue;
    join(*other, *lost);
    lost = time.lost.erase(lost);
  }
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

}  // namespace hostprobe::analysis
