// nsight_import.h: a report of Nsight Systems, as `nsys export --type sqlite` writes it, becomes traces: one for each process.
//
// Room 3. Its rows are handed on as events of a profile, so that launches find their kernels and processes their ranks in one way.
#pragma once

#include <string>
#include <vector>

#include "import/input/left_out.h"

namespace hostprobe::analysis {

struct NsightImport {
  std::vector<std::string> traces;
  std::string problem;  // why there are none, or why they are not all of it; "" = nothing is missing
  std::string note;     // what had to be guessed; "" = nothing
  LeftOut left_out;
};

NsightImport import_nsight(const std::string& path, const std::string& run);

}  // namespace hostprobe::analysis
