// peer_uftrace.cpp: a launch whose begin and end uftrace records. Compiled with -pg.
#include "peers.h"

namespace hostprobe::bench {
namespace {

__attribute__((noinline)) int traced(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                     void**, void**) {
  asm volatile("");  // or it would be called without being called
  return 0;
}

}  // namespace

std::vector<Shape> peer_shapes() {
  return {{"uftrace_function", reinterpret_cast<void*>(&launch_nothing), reinterpret_cast<void*>(&traced),
           call_launches, nullptr, 4000}};
}

void let_consumer_catch_up() { sleep_us(5000); }

}  // namespace hostprobe::bench
