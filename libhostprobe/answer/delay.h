// delay.h: the links by which a delay reaches other ranks.
//
// The waist (answer/). analysis/ranks/delay_chain.h fills it.
#pragma once

#include <optional>

#include "histogram.h"

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

}  // namespace hostprobe::analysis
