// region.h: a part of its own time that the program, PyTorch or a library named.
//
// The waist (answer/). analysis/measures/regions.h fills it.
#pragma once

#include <string>

#include "histogram.h"

namespace hostprobe::analysis {

struct RegionAnswer {
  std::string name;
  std::string source;  // who named it: the row of the hook table
  Histogram time;
};

}  // namespace hostprobe::analysis
