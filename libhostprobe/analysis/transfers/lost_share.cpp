// lost_share.cpp: see lost_share.h.
#include "lost_share.h"

#include <algorithm>

namespace hostprobe::analysis {

void move_share(double part, LostTime& from, LostTime& to) {
  to.ns += part * from.ns;
  add_steps(part, from.step_ns, to.step_ns);
  // What sits on another rank is no longer this one's own: it waits for it.
  if (to.member == from.member && !to.of_all) add_steps(part, from.own_step_ns, to.own_step_ns);
  from.ns *= 1 - part;
  from.site_ns *= 1 - part;
  for (double& ns : from.step_ns) ns *= 1 - part;
  for (double& ns : from.own_step_ns) ns *= 1 - part;
}

void put_in_order(std::vector<LostTime>& lost) {
  std::erase_if(lost, [](const LostTime& one) { return one.ns <= 0; });
  std::stable_sort(lost.begin(), lost.end(), [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

void join(LostTime& first, const LostTime& second) {
  first.ns += second.ns;
  first.pieces += second.pieces;
  add_steps(1, second.step_ns, first.step_ns);
  add_steps(1, second.own_step_ns, first.own_step_ns);
}

void add_steps(double part, const std::vector<double>& from, std::vector<double>& to) {
  to.resize(std::max(to.size(), from.size()));
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += part * from[i];
}

}  // namespace hostprobe::analysis
