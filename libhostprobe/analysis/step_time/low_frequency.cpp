// low_frequency.cpp: see low_frequency.h.
#include "low_frequency.h"

#include "model/event.h"

#include <algorithm>
#include <cmath>

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kFewestLooks = 10;  // of a thread: one in four seconds
// A sibling on the same core takes a little of what is measured, and nobody shall be sent after that.
constexpr double kSurelyLow = 0.85;
constexpr double kFarthestNs = 20e9;  // a sample says nothing of what is farther away

double median(std::vector<double> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

}  // namespace

LowFrequency::LowFrequency(const Trace& trace, const TimeAxis& axis, const Window& steps, std::uint32_t tid) {
  for (FrequencySample sample : frequency_samples(trace)) {
    sample.at_ns = axis.of(sample.at_ns);
    if (sample.at_ns >= steps.begin_ns && sample.at_ns < steps.end_ns) threads_[sample.tid].push_back(sample);
  }
  std::erase_if(threads_, [](const auto& one) { return one.second.size() < kFewestLooks; });
  for (auto& [id, samples] : threads_) samples = smoothed(samples);
  const auto own = threads_.find(tid);
  if (own == threads_.end()) return;
  std::vector<double> ghz;
  for (const FrequencySample& sample : own->second) ghz.push_back(sample.ghz);
  best_ghz_ = *std::max_element(ghz.begin(), ghz.end());
  usual_ghz_ = median(std::move(ghz));
}

void LowFrequency::compare_with(const std::vector<double>& usual_elsewhere_ghz) {
  if (!usual_elsewhere_ghz.empty()) best_ghz_ = std::max(best_ghz_, median(usual_elsewhere_ghz));
}

double LowFrequency::lost_part(const HostThread& thread, const Window& window) const {
  if (best_ghz_ <= 0 || thread.track == nullptr) return 0;
  const auto found = threads_.find(thread.track->key().tid);
  if (found == threads_.end()) return 0;
  const std::vector<FrequencySample>& samples = found->second;
  const double at_ns = (window.begin_ns + window.end_ns) / 2;
  auto next = std::partition_point(samples.begin(), samples.end(),
                                   [&](const FrequencySample& one) { return one.at_ns < at_ns; });
  if (next == samples.end() || (next != samples.begin() && at_ns - (next - 1)->at_ns < next->at_ns - at_ns)) --next;
  if (std::abs(next->at_ns - at_ns) > kFarthestNs || next->ghz >= kSurelyLow * best_ghz_) return 0;
  return 1 - next->ghz / best_ghz_;
}

}  // namespace hostprobe::analysis
