// python_text.h: what Python's collector and its interpreter lock cost, as lines of the text report.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/process.h"

namespace hostprobe::analysis {

// None where there was neither.
std::vector<std::string> python_lines(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
