// terminal.h: how wide what is printed may be.
//
// Room 4.
#pragma once

#include <cstddef>

namespace hostprobe::cli {

// COLUMNS where it is set, else the terminal's own, else what reads well in a file.
std::size_t text_width();

}  // namespace hostprobe::cli
