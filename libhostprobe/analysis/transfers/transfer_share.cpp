// transfer_share.cpp: see transfer_share.h.
#include "transfer_share.h"

#include <algorithm>

#include "lost_share.h"

namespace hostprobe::analysis {

void take_from_transfers(double part, LostTime named, StepTime& time) {
  for (LostTime& lost : time.lost) {
    if (lost.cause != Cause::kTransfer) continue;
    named.pieces += lost.pieces;
    move_share(part, lost, named);
  }
  if (named.ns <= 0) return;
  const auto same = std::find_if(time.lost.begin(), time.lost.end(), [&](const LostTime& lost) {
    return lost.cause == named.cause && lost.member == named.member && lost.of_all == named.of_all;
  });
  if (same == time.lost.end())
    time.lost.push_back(std::move(named));
  else
    join(*same, named);
  std::stable_sort(time.lost.begin(), time.lost.end(),
                   [](const LostTime& l, const LostTime& r) { return l.ns > r.ns; });
}

double exposed_transfers_ns(const StepTime& time) {
  double ns = 0;
  for (const LostTime& lost : time.lost)
    if (lost.cause == Cause::kTransfer) ns += lost.ns;
  return ns;
}

}  // namespace hostprobe::analysis
