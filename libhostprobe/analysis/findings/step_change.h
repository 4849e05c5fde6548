// step_change.h: whether the steps of two runs differ by more than steps differ anyway.
//
// Room 3. Steps are the samples. Neighbours are alike, so whole blocks of them are drawn (moving-block bootstrap); and two
// halves of the same run differ too, which says what a change has to exceed. The same input gives the same answer.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "answer/diff.h"

namespace hostprobe::analysis {

// Durations in ms, in the order of the steps.
StepChange compare_steps(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace hostprobe::analysis
