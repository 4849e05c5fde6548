// window_files.h: what windows of PyTorch's own profiler left in a run folder becomes traces there.
//
// Room 3. The probe writes <trace>-NNNN.profile.json (probe/sources/profile_window.h). Each is made a trace once: its name then is
// <trace>-NNNN.profile.joined.json, given before it is read, so that of two readers at a time one does it.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::analysis {

struct JoinedWindows {
  std::size_t traces = 0;             // that are new
  std::vector<std::string> problems;  // "FILE: why it is not joined"
};

// Of all jobs of the folder; of a trace file none.
JoinedWindows join_windows(const std::string& run);

}  // namespace hostprobe::analysis
