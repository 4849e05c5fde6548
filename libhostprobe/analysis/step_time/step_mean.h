// step_mean.h: the mean of what the steps tell, and how far it may be off.
//
// Room 3. Steps are the samples.
#pragma once

#include <cmath>
#include <vector>

namespace hostprobe::analysis {

struct StepMean {
  double ns = 0;
  double error_ns = 0;  // either way, in 99 of 100 cases; 0: one step alone says nothing of it
};

inline StepMean mean_of_steps(const std::vector<double>& step_ns) {
  constexpr double kSure = 2.6;  // standard errors: 99 of 100
  if (step_ns.empty()) return {};
  const auto count = static_cast<double>(step_ns.size());
  double sum = 0, squares = 0;
  for (const double ns : step_ns) sum += ns;
  const double mean = sum / count;
  if (step_ns.size() < 2) return {mean, 0};
  for (const double ns : step_ns) squares += (ns - mean) * (ns - mean);
  return {mean, kSure * std::sqrt(squares / (count - 1) / count)};
}

}  // namespace hostprobe::analysis
