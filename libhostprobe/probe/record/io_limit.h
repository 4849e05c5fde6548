// io_limit.h: from how long on a read, write, accept or connect counts as a wait.
//
// Room 2 (probe/). Set by the writer from HOSTPROBE_IO_US; a guess of the tick rate holds until it is measured.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

extern std::uint64_t g_io_ticks;

}  // namespace hostprobe::probe
