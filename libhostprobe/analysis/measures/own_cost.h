// own_cost.h: what hostprobe itself cost a process.
//
// Room 3. Measured costs per call (by the probe, on that CPU) times calls, plus what the slow paths and the writer
// thread took. Told as % of wall time of one CPU.
#pragma once

#include <optional>

#include "trace/trace.h"

namespace hostprobe::analysis {

struct OwnCost {
  double records_ms = 0;
  double quiet_ms = 0;   // hooked calls that needed no record
  double slow_ms = 0;    // stacks, taking chunks
  double writer_ms = 0;  // CPU of the writer thread
  double total_ms() const { return records_ms + quiet_ms + slow_ms + writer_ms; }
};

// Nothing when the probe had not measured its costs yet.
std::optional<OwnCost> own_cost(const Trace& trace);

}  // namespace hostprobe::analysis
