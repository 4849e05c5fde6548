// sampling.h: which launch is the next to be asked whether its stream was empty.
//
// Room 2 (probe/). On the writer thread, which wakes for it up to HOSTPROBE_GPU_SAMPLE times a second, while launches come. Not
// when detail is shed.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// Arms the gate when it is time to; returns until when the writer may sleep, as far as this goes.
std::uint64_t arm_samples(std::uint64_t now_ns);

}  // namespace hostprobe::probe
