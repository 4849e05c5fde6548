// gpu_of_process.h: which GPU this process works on, as the driver says it.
//
// Room 2 (probe/). Cold; the writer thread.
#pragma once

#include <cstddef>

namespace hostprobe::probe {

// Whether a primary context is active, or a launch was seen.
bool process_uses_gpu();

// The PCI bus id, as "0000:1B:00.0", or "" where that is not known: the one GPU whose primary context is active; of several, that of
// the local rank; where none is (contexts of the program's own), the only GPU there is, or that of the local rank.
void find_bus_id(char** environment, char* out, std::size_t bytes);

}  // namespace hostprobe::probe
