// peer_lttng.cpp: a launch between two tracepoints of LTTng-UST.
#include <cstdint>

#include "peers.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

namespace hostprobe::bench {
namespace {

Launch volatile g_real = launch_nothing;

int traced(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
           unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  lttng_ust_tracepoint(hostprobe_bench, begin, reinterpret_cast<std::uintptr_t>(kernel), grid_x, block_x, shared_bytes,
                       reinterpret_cast<std::uintptr_t>(stream),
                       reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
  int result =
      g_real(kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
  lttng_ust_tracepoint(hostprobe_bench, end, result);
  return result;
}

}  // namespace

std::vector<Shape> peer_shapes() {
  return {{"lttng_pair", reinterpret_cast<void*>(&launch_nothing), reinterpret_cast<void*>(&traced), call_launches,
           nullptr, 4000}};
}

void let_consumer_catch_up() { sleep_us(3000); }  // its daemon wakes by itself; what it missed, lttng says

}  // namespace hostprobe::bench
