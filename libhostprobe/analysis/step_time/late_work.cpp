// late_work.cpp: see late_work.h.
#include "late_work.h"

#include <algorithm>
#include <map>

#include "analysis/transfers/lost_share.h"

namespace hostprobe::analysis {
namespace {

bool is_own_work(Cause cause) { return cause == Cause::kHostWork || cause == Cause::kPythonOverhead; }

}  // namespace

void move_late_work(Cause lack, double beyond_ns, StepTime& time) {
  std::map<std::uint32_t, LostTime*> lacks;  // of each member
  for (LostTime& lost : time.lost)
    if (lost.cause == lack && lost.ns > 0) lacks.try_emplace(lost.member, &lost);
  double late_ns = 0, lack_ns = 0;
  for (const LostTime& lost : time.lost)
    if (is_own_work(lost.cause) && lacks.contains(lost.member)) late_ns += lost.ns;
  for (const auto& [member, lost] : lacks) lack_ns += lost->ns;
  // A thread that had a CPU for most of the time is late by its own work.
  if (beyond_ns <= 0 || late_ns <= 0 || late_ns > lack_ns) return;
  const double moved_ns = std::min(beyond_ns, late_ns);
  for (LostTime& lost : time.lost)
    if (const auto to = lacks.find(lost.member); is_own_work(lost.cause) && to != lacks.end())
      move_share(moved_ns / late_ns, lost, *to->second);
  std::erase_if(time.lost, [](const LostTime& lost) { return lost.ns <= 0; });
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
  Gain& gain = time.gains[lack];
  for (double* ns : {&gain.ns, &gain.high_ns}) *ns += moved_ns;
}

void move_late_work(const Gains& gains, StepTime& time) {
  for (const Cause lack : {Cause::kCpuContention, Cause::kCpuThrottle})
    move_late_work(lack, gains.beyond_ns(lack), time);
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
