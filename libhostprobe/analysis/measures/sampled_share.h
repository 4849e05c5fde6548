// sampled_share.h: a share that was counted in samples.
//
// Room 3.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hostprobe::analysis {

// With what it is at least and at most in 95 of 100 cases (Wilson's interval).
struct SampledShare {
  double part = 0, low = 0, high = 1;
};

inline SampledShare share_of_samples(std::uint64_t hits, std::uint64_t samples) {
  if (samples == 0) return {};
  constexpr double kZ = 1.96;  // standard deviations: 95 of 100
  const auto n = static_cast<double>(samples);
  const double part = static_cast<double>(hits) / n, spread = kZ * kZ / n;
  const double middle = (part + spread / 2) / (1 + spread);
  const double half = kZ * std::sqrt(part * (1 - part) / n + spread / (4 * n)) / (1 + spread);
  return {part, std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace hostprobe::analysis
