// launch_calls.h: which call of the host an activity of the GPU comes from.
//
// Room 3. An activity names a thread and a moment inside the call; here the record of that call is looked up.
#pragma once

#include <cstdint>
#include <vector>

namespace hostprobe::analysis {

class Timeline;
struct Function;
struct Track;

struct LaunchCall {
  std::uint32_t tid = 0;
  double at_ns = 0;
  const Function* function = nullptr;  // nullptr: no record of it
  const Track* track = nullptr;
};

// Fills in function and track of each, in one walk over the threads concerned.
void find_launch_calls(const Timeline& timeline, std::vector<LaunchCall>& calls);

}  // namespace hostprobe::analysis
