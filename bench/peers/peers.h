// peers.h: what each program of bench/peers/ says about the recorder that it measures.
#pragma once

#include <vector>

#include "../shape.h"

namespace hostprobe::bench {

// The calls of this recorder: bare, and as it sees them.
std::vector<Shape> peer_shapes();
// Called after each burst: whoever takes the records away has emptied the buffers when this returns.
void let_consumer_catch_up();

// A launch that does nothing, with cuLaunchKernel's eleven arguments, for recorders that are called in the source.
using Launch = int (*)(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                       void** extra);
int launch_nothing(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra);
void call_launches(void* launch, unsigned count);
void sleep_us(long us);

}  // namespace hostprobe::bench
