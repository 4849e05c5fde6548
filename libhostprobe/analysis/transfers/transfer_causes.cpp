// transfer_causes.cpp: see transfer_causes.h.
#include "transfer_causes.h"

#include "late_progress.h"
#include "late_transfers.h"
#include "poor_overlap.h"
#include "slow_transfers.h"

namespace hostprobe::analysis {

GainFactors name_transfer_causes(const JobGraph& job, const std::vector<const ProcessAnswer*>& members,
                                 const std::vector<Window>& steps, StepTime& time) {
  constexpr double kLargerPart = 0.5;  // of transfers that a rank's progress threads do not explain
  GainFactors factors{name_late_progress(members, time), {}, {}, {}};
  if (factors.late_progress <= kLargerPart) return factors;
  const AllTransferTimes transfers = transfer_times(job);
  factors.late_transfers = name_late_transfers(transfers, members, time);
  factors.poor_overlap = name_poor_overlap(job, steps, transfers, time);
  const bool have_a_cause =
      factors.late_progress < 1 || !factors.late_transfers.empty() || !factors.poor_overlap.empty();
  factors.slow_transfers = name_slow_transfers(job, transfers, members, have_a_cause, time);
  return factors;
}

}  // namespace hostprobe::analysis
