// requests.h: what keys of `hostprobe top` ask of the processes, and what came of it, in a line.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "live_view.h"

namespace hostprobe::analysis {

struct RequestResult {
  bool done = false;  // by all processes
  std::string note;
};

// Of all ranks that run.
RequestResult request_trigger(const LiveView& view);
RequestResult request_fix(const LiveView& view, const std::string& fix, bool on);

// Of one process, as lines; why there are none otherwise.
std::vector<std::string> stack_lines(pid_t pid);

}  // namespace hostprobe::analysis
