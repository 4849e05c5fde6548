// launch_text.h: what a process gave its GPU to do, how it waited for it, and when the GPU had nothing to do.
//
// Room 3.
#pragma once

#include <string>

#include "answer/process.h"

namespace hostprobe::analysis {

// `functions`: with the counts of each function. "": there was nothing of it.
std::string launch_text(const ProcessAnswer& process, bool functions, std::size_t width);

}  // namespace hostprobe::analysis
