// delay_chain.h: how a delay grows on its way through a job: from the polls of a progress thread to what the other ranks lose.
//
// Room 3. Each link is a distribution over all ranks, and names the rank where it is longest. Links that were not measured are absent;
// which of them follows from which is told by wake_chains.h and causes/, not here.
#pragma once

#include <optional>
#include <vector>

#include "analysis/run_answer.h"

namespace hostprobe::analysis {

enum class DelayLink {
  kPoll,        // a progress thread with work, from one look at it to the next
  kProgressIo,  // its calls that block
  kWake,        // a main thread, from the waker's post to its return
  kLaunchGap,   // from the end of a launch to the next on that thread
  kArrival,     // the last rank's arrival at a collective, behind the first one's
  kOthersWait,  // a rank's kernel in a collective, from its start to that of the last rank
};
const char* delay_link_name(DelayLink link);

struct DelayRow {
  DelayLink link = DelayLink::kPoll;
  Histogram time;                 // of all ranks
  std::optional<int> worst = {};  // the rank whose 99th percentile is the longest; nothing: one rank, or not of ranks
  double worst_p99_ns = 0;
};

// In the order of the links. Empty: no collective was seen, so no delay reaches another rank.
std::vector<DelayRow> answer_delay_chain(const RunAnswer& run);

}  // namespace hostprobe::analysis
