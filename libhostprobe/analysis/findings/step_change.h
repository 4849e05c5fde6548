// step_change.h: whether the steps of two runs differ by more than steps differ anyway.
//
// Room 3. Steps are the samples. Neighbours are alike, so whole blocks of them are drawn (moving-block bootstrap); and two
// halves of the same run differ too, which says what a change has to exceed. The same input gives the same answer.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hostprobe::analysis {

struct StepChange {
  std::size_t a_count = 0, b_count = 0;
  std::optional<double> a_median_ms, b_median_ms, change_pct;
  std::optional<double> a_min_ms, a_max_ms, b_min_ms, b_max_ms;
  std::optional<double> low_pct, high_pct;  // the change lies between, in 99 of 100 cases; nothing: too few steps
  double noise_pct = 0;                     // what parts of one run differ by
  bool significant = false;
};

// Durations in ms, in the order of the steps.
StepChange compare_steps(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace hostprobe::analysis
