// own_cost.h: what hostprobe itself cost a process.
//
// Room 3. Measured costs per call (by the probe, on that CPU) times calls, plus what the slow paths and the writer
// thread took. Told as % of wall time of one CPU.
#pragma once

#include <optional>

#include "answer/process.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

// Nothing when the probe had not measured its costs yet.
std::optional<OwnCost> own_cost(const Trace& trace);

}  // namespace hostprobe::analysis
