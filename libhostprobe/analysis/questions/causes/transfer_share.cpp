// transfer_share.cpp: see transfer_share.h.
#include "transfer_share.h"

#include <algorithm>

namespace hostprobe::analysis {

void take_from_transfers(double part, LostTime named, StepTime& time) {
  for (LostTime& lost : time.lost) {
    if (lost.cause != Cause::kTransfer) continue;
    named.ns += part * lost.ns;
    named.pieces += lost.pieces;
    named.step_ns.resize(std::max(named.step_ns.size(), lost.step_ns.size()));
    for (std::size_t i = 0; i < lost.step_ns.size(); ++i) {
      named.step_ns[i] += part * lost.step_ns[i];
      lost.step_ns[i] *= 1 - part;
    }
    lost.ns *= 1 - part;
  }
  if (named.ns <= 0) return;
  time.lost.push_back(std::move(named));
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

}  // namespace hostprobe::analysis
