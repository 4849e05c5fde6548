// run_diff.h: what changed from one run to another, as data: steps, findings, kernels, collectives, waits, wakes, launch gaps,
// progress threads.
//
// Room 3. Steps are the samples, where there are any. What both runs would differ by anyway is no change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/diff.h"
#include "answer/run.h"
#include "finding_change.h"
#include "step_change.h"

namespace hostprobe::analysis {

RunDiff compare_runs(const RunAnswer& a, const RunAnswer& b);

}  // namespace hostprobe::analysis
