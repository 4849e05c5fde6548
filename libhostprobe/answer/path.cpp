// path.cpp: see path.h.
#include "path.h"

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {
namespace {

constexpr double kMostDriftPct = 1;

}  // namespace

const char* path_class_name(PathClass one) {
  constexpr const char* kNames[kPathClasses] = {"cpu", "gpu_compute", "communication", "launch"};
  return kNames[static_cast<std::size_t>(one)];
}

void PathAnswer::add(const PathAnswer& other) {
  stretches += other.stretches;
  length_ns += other.length_ns;
  recorded_ns += other.recorded_ns;
  replayed_ns += other.replayed_ns;
  for (std::size_t i = 0; i < kPathClasses; ++i) {
    share_ns[i] += other.share_ns[i];
    without_ns[i] += other.without_ns[i];
  }
}

double PathAnswer::share_pct(PathClass one) const { return 100 * share_ns[static_cast<std::size_t>(one)] / length_ns; }

std::optional<double> PathAnswer::drift_pct() const {
  if (recorded_ns <= 0) return std::nullopt;
  return 100 * (replayed_ns - recorded_ns) / recorded_ns;
}

std::optional<double> PathAnswer::gain_pct(PathClass one) const {
  if (const auto drift = drift_pct(); !drift || std::abs(*drift) > kMostDriftPct) return std::nullopt;
  return 100 * (replayed_ns - without_ns[static_cast<std::size_t>(one)]) / replayed_ns;
}

}  // namespace hostprobe::analysis
