// late_work.cpp: see late_work.h.
#include "late_work.h"

#include <algorithm>
#include <map>

#include "analysis/measures/run_delay.h"
#include "analysis/transfers/lost_share.h"

namespace hostprobe::analysis {
namespace {

// Of each rank.
std::map<std::uint32_t, LostTime*> lost_by(Cause cause, StepTime& time) {
  std::map<std::uint32_t, LostTime*> ranks;
  for (LostTime& lost : time.lost)
    if (lost.cause == cause && lost.ns > 0) ranks.try_emplace(lost.member, &lost);
  return ranks;
}

double sum_of(const std::map<std::uint32_t, LostTime*>& ranks) {
  double ns = 0;
  for (const auto& [member, lost] : ranks) ns += lost->ns;
  return ns;
}

// How much a lack of a CPU takes the kernel says.
bool may_be_followed(Cause cause) {
  return cause != Cause::kUnknown && cause != Cause::kLaunchBound && !is_lack_of_cpu(cause);
}

// False: nothing.
bool take_along(Cause cause, const Gain& gain, StepTime& time) {
  const std::map<std::uint32_t, LostTime*> own = lost_by(cause, time);
  const double lost_ns = sum_of(own);
  // What gains more than twice what it lost has taken something else along, which is not its own.
  if (lost_ns <= 0 || gain.low_ns <= lost_ns || gain.ns > 2 * lost_ns) return false;
  double left_ns = gain.ns - lost_ns;
  for (const Cause along : {Cause::kUnknown, Cause::kLaunchBound}) {
    std::map<std::uint32_t, LostTime*> others = lost_by(along, time);
    std::erase_if(others, [&own](const auto& one) { return !own.contains(one.first); });
    const double all_ns = sum_of(others), taken_ns = std::min(all_ns, left_ns);
    if (taken_ns <= 0) continue;
    for (const auto& [member, lost] : others) move_share(taken_ns / all_ns, *lost, *own.at(member));
    left_ns -= taken_ns;
  }
  return left_ns < gain.ns - lost_ns;
}

bool is_own_work(Cause cause) { return cause == Cause::kHostWork || cause == Cause::kPythonOverhead; }

}  // namespace

void move_late_work(Cause lack, double beyond_ns, StepTime& time) {
  const std::map<std::uint32_t, LostTime*> lacks = lost_by(lack, time);
  const double lack_ns = sum_of(lacks);
  double late_ns = 0;
  for (const LostTime& lost : time.lost)
    if (is_own_work(lost.cause) && lacks.contains(lost.member)) late_ns += lost.ns;
  // A thread that had a CPU for most of the time is late by its own work.
  if (beyond_ns <= 0 || late_ns <= 0 || late_ns > lack_ns) return;
  const double moved_ns = std::min(beyond_ns, late_ns);
  for (LostTime& lost : time.lost)
    if (const auto to = lacks.find(lost.member); is_own_work(lost.cause) && to != lacks.end())
      move_share(moved_ns / late_ns, lost, *to->second);
  put_in_order(time.lost);
  Gain& gain = time.gains[lack];
  for (double* ns : {&gain.ns, &gain.high_ns}) *ns += moved_ns;
}

void move_late_work(const Gains& gains, StepTime& time) {
  for (const Cause lack : {Cause::kCpuContention, Cause::kCpuThrottle})
    move_late_work(lack, gains.beyond_ns(lack), time);
}

void move_what_follows(StepTime& time) {
  std::vector<std::pair<Cause, Gain>> gains(time.gains.begin(), time.gains.end());
  std::stable_sort(gains.begin(), gains.end(), [](const auto& l, const auto& r) { return l.second.ns > r.second.ns; });
  bool any = false;
  for (const auto& [cause, gain] : gains) any = (may_be_followed(cause) && take_along(cause, gain, time)) || any;
  if (any) put_in_order(time.lost);
}

void move_longer_work(std::size_t ranks, std::vector<LostTime>& lost) {
  for (LostTime& slow : lost) {
    if ((slow.cause != Cause::kSlowGpu && slow.cause != Cause::kUnevenWork) || ranks < 2) continue;
    for (LostTime& own : lost) {
      if (own.cause != Cause::kGpuBound || own.member != slow.member) continue;
      if (own.ns <= 0) continue;
      const double moved_ns = std::min(own.ns, slow.ns / static_cast<double>(ranks - 1));
      move_share(moved_ns / own.ns, own, slow);
      slow.site_ns += moved_ns;  // the same work of the same thread
    }
  }
}

}  // namespace hostprobe::analysis
