// process_title.h: which process a section of the text report is of, and how much of its life is known.
//
// Room 3. Whole lines.
#pragma once

#include <cstddef>
#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

std::string process_title(const RunAnswer& run, const ProcessAnswer& process, std::size_t width);
std::string process_life(const ProcessAnswer& process, std::size_t width);

}  // namespace hostprobe::analysis
