// collective_samples.h: what a few collectives of one process took on the GPU, by pairs of events round their calls.
//
// Room 3. The probe draws the same ones on all ranks; docs/decisions/0016-gpu-times.md. Where a stream was empty its pair begins
// with the call, before the work: the time is then too long by at most `slack_ns`.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "answer/collective.h"
#include "collective_sizes.h"

namespace hostprobe::analysis {

class Timeline;

struct CollectiveSample {
  double gpu_ns = 0;
  double slack_ns = 0;
  double middle_ns() const { return std::max(0.0, gpu_ns - slack_ns / 2); }
};

using CollectiveSamples = std::map<std::pair<std::uint64_t, std::uint32_t>, CollectiveSample>;  // communicator, number

CollectiveSamples collective_samples(const Timeline& timeline);

}  // namespace hostprobe::analysis
