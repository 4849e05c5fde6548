// queue_samples.cpp: see queue_samples.h. The interval is Wilson's: it stays within 0 and 100 %, and has a width where every
// sample said the same.
#include "queue_samples.h"

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {

std::optional<QueueAnswer> QueueSamples::finish() const {
  constexpr double kZ = 1.959964, kZ2 = kZ * kZ;
  if (samples_ == 0) return std::nullopt;
  const auto count = static_cast<double>(samples_);
  const double share = static_cast<double>(empty_) / count;
  const double middle = (share + kZ2 / (2 * count)) / (1 + kZ2 / count);
  const double half = kZ / (1 + kZ2 / count) * std::sqrt(share * (1 - share) / count + kZ2 / (4 * count * count));
  // Rounding must not put the share outside.
  return QueueAnswer{samples_, empty_, 100 * share, 100 * std::clamp(middle - half, 0.0, share),
                     100 * std::clamp(middle + half, share, 1.0)};
}

}  // namespace hostprobe::analysis
