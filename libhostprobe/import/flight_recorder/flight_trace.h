// flight_trace.h: dumps of PyTorch's Flight Recorder become traces, one for each rank.
//
// Room 3. Dumps of one job are read together: how many ranks a group has, and which of them a dump is, may stand in another one.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"
#include "import/input/text_file.h"

namespace hostprobe::analysis {

struct FlightImport {
  std::vector<std::string> traces;  // at most one
  std::string problem;              // why there is none, or why it is not all of it; "" = nothing is missing
  std::string note;                 // what had to be supposed; "" = nothing
  LeftOut left_out;
};

// In the order of `paths`.
std::vector<FlightImport> import_flight_dumps(const std::vector<std::string>& paths, const std::string& run,
                                              const ReadProgress& progress = {});

}  // namespace hostprobe::analysis
