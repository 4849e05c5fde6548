// queue_samples.h: for a few launches a second, whether the launch found its stream empty.
//
// Room 2 (probe/). The writer arms the gate (sources/launch_samples.h); launches then leave the hot path and count down, and the last of
// them asks the driver about its own stream and leaves a record of its own. docs/decisions/0014-queue-samples.md says why so.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// The driver lacks a function that is needed: no use to arm.
bool queues_cannot_be_sampled();
// The writer's side: before it arms the gate, which of the launches that come is to be sampled, 1 = the next; and when the last
// one was.
void count_down_launches(std::uint32_t launches);
std::uint64_t last_sample_ticks();

}  // namespace hostprobe::probe
