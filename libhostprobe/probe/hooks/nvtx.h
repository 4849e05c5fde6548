// nvtx.h: ranges and marks of NVTX, as the program and its libraries make them: regions and marks with a source of their own.
//
// Room 2 (probe/). On any thread of the program. We become NVTX's tool by InitializeInjectionNvtx2; see intercept/injection.h.
#pragma once

namespace hostprobe::probe {

// Child of a fork: its parent's open ranges are none of its own.
void forget_ranges();

}  // namespace hostprobe::probe
