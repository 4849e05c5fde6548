// See kernel_time.h.
#include "kernel_time.h"

#include <algorithm>
#include <cmath>

namespace simnode {

namespace {

constexpr double kShortestShare = 0.3;  // of what is modelled
constexpr int64_t kDriftStepNs = 1000000;
constexpr int64_t kDriftSteps = 20000;  // in one period

// SplitMix64.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Mean 0, standard deviation 1, never beyond 3.5: the sum of four numbers of 16 bits, instead of two logarithms.
double normal(uint64_t random) {
  auto part = [random](int bit) { return static_cast<double>(static_cast<uint16_t>(random >> bit)); };
  const double sum = (part(0) + part(16) + part(32) + part(48)) / 65536;
  return (sum - 2) * std::sqrt(3.0);
}

// A sine is worked out once in a millisecond.
double drift_of(DeviceKernels& device, double amplitude, int64_t at_ns) {
  const int64_t step = at_ns / kDriftStepNs;
  if (step == device.drift_step) return device.drift;
  constexpr double kTurn = 6.283185307179586;
  const double turns = static_cast<double>(step % kDriftSteps) / static_cast<double>(kDriftSteps) + 0.4 * device.number;
  device.drift_step = step;
  return device.drift = amplitude * std::sin(kTurn * turns);
}

}  // namespace

bool kernels_vary(const Settings& settings) {
  return settings.spread > 0 || settings.drift > 0 || settings.overlap_stretch > 1;
}

void KernelStretches::add(int64_t begin_ns, int64_t end_ns, int64_t gap_ns) {
  latest_end_ns_ = std::max(latest_end_ns_, end_ns);
  Stretch& newest = stretches_[newest_];
  if (begin_ns <= newest.end_ns + gap_ns && end_ns + gap_ns >= newest.begin_ns) {
    newest.begin_ns = std::min(newest.begin_ns, begin_ns);
    newest.end_ns = std::max(newest.end_ns, end_ns);
    return;
  }
  newest_ = (newest_ + 1) % kKept;
  stretches_[newest_] = {begin_ns, end_ns};
}

void KernelTimes::start(DeviceKernels& device, const Settings& settings, uint64_t stream_id) {
  device_ = &device;
  settings_ = &settings;
  device.streams.push_back(this);
  random_ = static_cast<uint64_t>(settings.seed);
  for (uint64_t part : {static_cast<uint64_t>(settings.rank + 1), stream_id}) random_ = next_random(random_) ^ part;
}

void KernelTimes::leave() { std::erase(device_->streams, this); }

double KernelTimes::variation(int64_t begin_ns) {
  double factor = 1;
  if (settings_->spread > 0) factor += settings_->spread * normal(next_random(random_));
  if (settings_->drift > 0) factor *= 1 + drift_of(*device_, settings_->drift, begin_ns);
  return std::max(factor, kShortestShare);
}

// Goes from edge to edge of the other streams' stretches. Where several others compute, that is no worse than one.
int64_t KernelTimes::stretched_end_ns(int64_t begin_ns, double left_ns) const {
  const double stretch = settings_->overlap_stretch;
  for (int64_t at_ns = begin_ns;;) {
    int64_t busy_until_ns = at_ns, next_begin_ns = INT64_MAX;
    for (const KernelTimes* other : device_->streams) {
      if (other == this || other->stretches_.latest_end_ns() <= at_ns) continue;
      for (const KernelStretches::Stretch& busy : other->stretches_) {
        if (busy.begin_ns > at_ns) next_begin_ns = std::min(next_begin_ns, busy.begin_ns);
        if (busy.begin_ns <= at_ns) busy_until_ns = std::max(busy_until_ns, busy.end_ns);
      }
    }
    const bool busy = busy_until_ns > at_ns;
    const int64_t edge_ns = busy ? busy_until_ns : next_begin_ns;
    const double slower = busy ? stretch : 1;
    const double done_ns = static_cast<double>(edge_ns - at_ns) / slower;
    if (edge_ns == INT64_MAX || done_ns >= left_ns) return at_ns + std::llround(left_ns * slower);
    left_ns -= done_ns;
    at_ns = edge_ns;
  }
}

int64_t KernelTimes::end_ns(int64_t begin_ns, int64_t modelled_ns) {
  const double lasts_ns = static_cast<double>(modelled_ns) * variation(begin_ns);
  if (settings_->overlap_stretch <= 1 || device_->streams.size() == 1) return begin_ns + std::llround(lasts_ns);
  return stretched_end_ns(begin_ns, lasts_ns);
}

void KernelTimes::add(int64_t begin_ns, int64_t end_ns) { stretches_.add(begin_ns, end_ns, settings_->behind_ns); }

}  // namespace simnode
