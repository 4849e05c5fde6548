// sleep.h: how the own thread waits for its next work.
//
// Room 2 (probe/). The writer thread. In between it looks when sources want it, and whether the process was stopped (sources/halts.h).
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Until the next round, until a source is due or a thread rings, or until `is_called`.
void sleep_until_needed(std::uint64_t next_round_ns, bool (*is_called)());

}  // namespace hostprobe::probe
