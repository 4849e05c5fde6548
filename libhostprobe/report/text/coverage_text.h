// coverage_text.h: what was looked for and is no finding, and how much of the run is known.
//
// Room 3. A line each, as far as the width allows.
#pragma once

#include <cstddef>
#include <string>

#include "answer/run.h"

namespace hostprobe::analysis {

// The causes that take least, heaviest first, with their shares where these are known. What was not measured is not among them.
std::string not_found_text(const RunAnswer& run, std::size_t width);

// Ranks, steps, GPU, losses, own cost.
std::string coverage_text(const RunAnswer& run);

}  // namespace hostprobe::analysis
