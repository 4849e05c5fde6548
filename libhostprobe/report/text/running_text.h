// running_text.h: what the CPU time of the threads went into, as lines of the text report.
//
// Room 3.
#pragma once

#include <string>
#include <vector>

#include "answer/process.h"

namespace hostprobe::analysis {

// At most so many rows of a thread, and of so many threads. None where no thread was sampled.
std::vector<std::string> running_lines(const ProcessAnswer& process, std::size_t threads, std::size_t rows,
                                       std::size_t width);

}  // namespace hostprobe::analysis
