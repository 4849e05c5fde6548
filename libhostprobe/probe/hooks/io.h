// hooks/io.h: which waits may leave no record.
//
// Room 2 (probe/).
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// A write, which leaves one only where it went to a file. `key`: of an OpenWait (format/segment.h).
bool is_write(std::uint64_t key);

}  // namespace hostprobe::probe
