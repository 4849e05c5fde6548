// finding_block.h: a finding on the first screen: a heading with its price, then what, where, why and what to do.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

// Whole lines.
std::string finding_block(const RunAnswer& run, const Finding& finding, std::size_t number, std::size_t width);

}  // namespace hostprobe::analysis
