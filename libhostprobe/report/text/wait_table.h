// wait_table.h: where the threads of a process waited, how late they ran again, and who woke them, as tables.
//
// Room 3.
#pragma once

#include <cstddef>
#include <string>

#include "answer/process.h"

namespace hostprobe::analysis {

// At most so many sites, the main thread's first; `places`: with the lines of code where most of it is. "": there are none.
std::string wait_table(const ProcessAnswer& process, std::size_t sites, bool places, std::size_t width);

std::string wake_table(const ProcessAnswer& process, std::size_t sites, std::size_t width);

// The heaviest wait of a process in one phrase, its main thread's first; "-": it has none.
std::string heaviest_wait_text(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
