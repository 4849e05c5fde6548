// launch_samples.h: which launch is the next to be asked whether its stream was empty.
//
// Room 2 (probe/). On the writer thread, which wakes for it up to HOSTPROBE_GPU_SAMPLE times a second, while launches come. Not
// when detail is shed.
#pragma once

#include "probe/sources/source.h"

namespace hostprobe::probe {

// Arms the gate when it is time to.
std::uint64_t arm_launch_samples(const Round& round);

}  // namespace hostprobe::probe
