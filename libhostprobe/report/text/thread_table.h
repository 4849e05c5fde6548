// thread_table.h: the threads of a process and what they did with their lives, as a table.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string>

#include "answer/process.h"

namespace hostprobe::analysis {

// At most so many; those that hardly ran are summed up, unless all are asked for.
std::string thread_table(const ProcessAnswer& process, std::size_t most, bool all, std::size_t width);

}  // namespace hostprobe::analysis
