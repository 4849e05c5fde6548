// chance.cpp: see chance.h.
#include "chance.h"

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {
namespace {

constexpr double kMostTrials = 5000;  // from here on the bell curve is as good

}  // namespace

double chance_of_as_many(double hits, double trials, double probability) {
  hits = std::floor(hits);
  trials = std::max(std::floor(trials), hits);
  if (hits <= 0 || probability >= 1) return 1;
  if (probability <= 0) return 0;
  if (trials > kMostTrials) {
    const double spread = std::sqrt(trials * probability * (1 - probability));
    return 0.5 * std::erfc((hits - 0.5 - trials * probability) / spread / std::sqrt(2.0));
  }
  double sum = 0;
  for (double k = hits; k <= trials; ++k)
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                    k * std::log(probability) + (trials - k) * std::log1p(-probability));
  return std::min(sum, 1.0);
}

}  // namespace hostprobe::analysis
