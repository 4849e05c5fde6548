// own_memory.h: memory of a fix's own, of zeros, which nobody gives back.
//
// Room 2 (probe/).
#pragma once

#include <sys/mman.h>

#include <cstddef>

#include "probe/runtime/at_start.h"

namespace hostprobe::probe {

// nullptr: there is none.
inline void* own_memory(std::size_t bytes) {
  const long at = system_call_of_six(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

}  // namespace hostprobe::probe
