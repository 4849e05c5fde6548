// job.h: one job of a run folder, in short.
//
// The waist (answer/). trace/jobs.h finds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hostprobe::analysis {

struct JobSummary {
  std::uint64_t begin_realtime_ns = 0;
  std::string command;
  std::size_t traces = 0;
};

}  // namespace hostprobe::analysis
