// step_gate.h: whether the steps of a run are slower than those of another one by more than a limit.
//
// Room 3. Scripts stop a release by its answer, so it says neither yes nor no where the steps do not carry it.
#pragma once

#include "answer/diff.h"
#include "answer/gate.h"
#include "answer/run.h"

namespace hostprobe::analysis {

// `steps` are those of the comparison of the two.
StepGate judge_steps(const StepChange& steps, const RunAnswer& a, const RunAnswer& b, double limit_pct);

}  // namespace hostprobe::analysis
