// activity_cause.h: which call of which process made a GPU work, by the correlation ids of a profile.
//
// Room 3. Ids wrap, and those of several ranks in one file clash: of several calls of one id it is the last one before the work, of the process
// whose calls fit all other work of that device.
#pragma once

#include <cstdint>
#include <vector>

#include "profile.h"

namespace hostprobe::analysis {

inline constexpr std::uint32_t kNoCall = UINT32_MAX;

// Where in a process an activity belongs, and what called for it.
struct ActivityCause {
  std::uint32_t process = 0;  // in the list
  std::uint32_t call = kNoCall;
};

// Of each activity. What nothing called for belongs to the process with the most calls.
std::vector<ActivityCause> causes_of(const std::vector<ProfileActivity>& activities,
                                     const std::vector<ProfileProcess*>& processes);

}  // namespace hostprobe::analysis
