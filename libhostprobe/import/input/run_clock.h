// run_clock.h: which host and clock an imported profile belongs to, where its run holds what the probe wrote.
//
// Room 3. A profile tells CLOCK_REALTIME, a run CLOCK_MONOTONIC of its host: traces of the probe know both. Without one of
// the same host the profile is on an axis of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace_head.h"

namespace hostprobe::analysis {

// A stretch of CLOCK_REALTIME.
struct RealSpan {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

class RunClocks {
 public:
  // Reads the headers of the probe's traces in `run`; there may be none, or no such folder.
  explicit RunClocks(const std::string& run);

  // The trace of that process, else one of its host. `host` "": only a trace of the process itself tells.
  const FileHeader* nearest(std::uint32_t pid, const std::string& host, const RealSpan& span) const;
  const std::vector<RunFile>& traces() const { return traces_; }

 private:
  std::vector<RunFile> traces_;
};

// CLOCK_MONOTONIC of that process's host.
std::uint64_t monotonic_ns(const FileHeader& header, std::uint64_t realtime_ns);

}  // namespace hostprobe::analysis
