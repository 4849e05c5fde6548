// profile_check.h: how far a GPU's time by replay is from profiles that were taken of the same process meanwhile.
//
// Room 3.
#pragma once

#include <optional>
#include <vector>

#include "answer/gpu.h"

namespace hostprobe::analysis {

struct DeviceTimeline;
struct Opened;
struct RunAnswer;

// Times of `device` and `offset_ns` are those of the replay's axis.
struct ProfiledDevice {
  const DeviceTimeline* device = nullptr;
  double offset_ns = 0;
};

// Nothing: none of the profiles has seen anything run.
std::optional<GpuCheck> check_replay(const DeviceTimeline& replay, const std::vector<ProfiledDevice>& profiles);

// Of each process that was traced and profiled at a time.
void answer_profile_checks(const std::vector<Opened>& opened, RunAnswer& run);

}  // namespace hostprobe::analysis
