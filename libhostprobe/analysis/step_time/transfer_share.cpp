// transfer_share.cpp: see transfer_share.h.
#include "transfer_share.h"

#include <algorithm>

#include "lost_times.h"

namespace hostprobe::analysis {

void take_from_transfers(double part, LostTime named, StepTime& time) {
  for (LostTime& lost : time.lost) {
    if (lost.cause != Cause::kTransfer) continue;
    named.pieces += lost.pieces;
    move_share(part, lost, named);
  }
  if (named.ns <= 0) return;
  time.lost.push_back(std::move(named));
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

}  // namespace hostprobe::analysis
