// late_progress.cpp: see late_progress.h.
#include "late_progress.h"

#include <algorithm>

#include "transfer_share.h"

namespace hostprobe::analysis {
namespace {

std::vector<double> medians_of(const ProcessAnswer& process) {
  std::vector<double> medians;
  for (const ProgressAnswer& thread : process.progress)
    if (thread.poll.count() > 0) medians.push_back(thread.poll.percentile_ns(50));
  std::sort(medians.begin(), medians.end());
  return medians;
}

double median_of(std::vector<double> sorted) { return sorted[sorted.size() / 2]; }

struct Late {
  std::uint32_t member = 0;
  double part = 0;  // of a transfer's time
};

// Part 0: none is.
Late late_member(const std::vector<const ProcessAnswer*>& members) {
  std::vector<std::vector<double>> medians;
  for (const ProcessAnswer* member : members) medians.push_back(medians_of(*member));
  for (std::uint32_t i = 0; i < members.size(); ++i) {
    std::vector<double> others;
    for (std::uint32_t k = 0; k < members.size(); ++k)
      if (k != i) others.insert(others.end(), medians[k].begin(), medians[k].end());
    if (medians[i].empty() || others.empty()) continue;
    std::sort(others.begin(), others.end());
    if (medians[i].front() <= others.back()) continue;
    return {i, 1 - median_of(others) / median_of(medians[i])};
  }
  return {};
}

}  // namespace

double name_late_progress(const std::vector<const ProcessAnswer*>& members, StepTime& time) {
  const Late late = late_member(members);
  if (late.part <= 0) return 1;
  LostTime delay;
  delay.cause = Cause::kProxyDelay;
  delay.member = late.member;
  delay.site.role = Role::kNcclProgress;
  take_from_transfers(late.part, std::move(delay), time);
  return 1 - late.part;
}

}  // namespace hostprobe::analysis
