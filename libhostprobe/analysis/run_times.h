// run_times.h: when a run was, on one time axis for all its hosts.
//
// Room 3.
#pragma once

#include <vector>

#include "opened_traces.h"

namespace hostprobe::analysis {

inline constexpr double kMostWallMs =
    1e12;  // 30 years: more is a damaged clock, and would not fit 64 bits of nanoseconds

// From its first process's begin to the end of its last, and what follows from all of them: hosts, ranks, steps.
void tell_times(RunAnswer& run);

// Alike on one host, whose processes share one clock.
void align(const std::vector<Opened>& opened, RunAnswer& run, unsigned cores);

}  // namespace hostprobe::analysis
