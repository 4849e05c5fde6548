// frequency.h: how fast the CPUs ran on which the threads of a process did, as it was measured there (format/frequency.h).
//
// Room 3. docs/reference/frequency.md defines what is called slow, and what a drop.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "answer/machine.h"
#include "trace/trace.h"

namespace hostprobe::analysis {

inline constexpr double kSlowBelow = 0.9;  // of what it is compared with: measuring is off by 3 % at most

struct FrequencySample {
  double at_ns = 0;  // since the first clock pair
  double ghz = 0;
  std::uint32_t tid = 0;  // whose CPU it was
  std::uint32_t cpu = 0;
};

// By time; rows that no CPU could have made are left out.
std::vector<FrequencySample> frequency_samples(const Trace& trace);

// Each with the median of itself and two on either side in the place of its own: one that was disturbed counts for nothing. Empty with fewer
// than five.
std::vector<FrequencySample> smoothed(const std::vector<FrequencySample>& samples);

// Nothing: it was not measured.
std::optional<FrequencyAnswer> answer_frequency(const Trace& trace);

}  // namespace hostprobe::analysis
