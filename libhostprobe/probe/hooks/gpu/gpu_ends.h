// gpu_ends.h: when work ends on the GPU: timing events of our own behind some dozens of enqueueing calls in a row, a stretch.
//
// Room 2 (probe/). The writer opens a stretch (sources/gpu_stretches.h): calls that put work into a stream then leave the hot path and
// count down; the next kStretch of them get an event each. Later stretches read what has been reached and never wait for it.
// docs/decisions/0039-own-timing-events.md says why so.
#pragma once

#include <cstdint>

#include "probe/hooks/gpu/context_pools.h"

namespace hostprobe::probe {

inline constexpr std::uint32_t kStretch = 32;

// The writer's side: after so many more calls a stretch begins. One that is open already begins anew.
void open_stretch(std::uint32_t let_by);
bool stretch_is_open();
void close_stretch();
// What stretches have cost the program's threads since this was last asked; what each context needs once is left out. And when the
// last call of the newest was timed.
std::uint64_t take_stretch_ticks();
std::uint64_t last_stretch_ticks();
// The driver lacks a function that is needed: no use to open one.
bool gpu_ends_cannot_be_timed();

// Their events are gone with it.
void forget_gpu_ends(const GoneContext& gone);

}  // namespace hostprobe::probe
