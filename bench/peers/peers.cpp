// peers.cpp: what a recorder adds to a call, in multiples of the two floors; the same program around each recorder.
//
//   peer_NAME CPU REPETITIONS
//
// Started on the CPU of the consumers. What the recorder starts before the first burst stays there; then this thread goes
// to CPU. A repetition is 24 slices in which floor P, floor T, the bare calls and the recorded ones take turns.
#include "peers.h"

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "../floor.h"
#include "../placement.h"

namespace hostprobe::bench {

int launch_nothing(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
  return 0;
}

void call_launches(void* launch, unsigned count) {
  void* arguments[1] = {};
  auto* kernel = reinterpret_cast<void*>(0x7f0012345670);
  auto* stream = reinterpret_cast<void*>(0x7f0012345680);
  for (unsigned i = 0; i < count; ++i)
    reinterpret_cast<Launch>(launch)(kernel, 132, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr);
}

void sleep_us(long us) {
  timespec pause{0, us * 1000};
  nanosleep(&pause, nullptr);
}

namespace {

constexpr int kSlices = 24;
constexpr unsigned kWarmCalls = 64;

template <class Call>
double timed(Call call, unsigned count) {
  call(kWarmCalls);
  double begin = thread_cpu_ns();
  call(count);
  return thread_cpu_ns() - begin;
}

void repeat(const Shape& shape) {
  static FloorRing ring;
  double sum[4] = {};
  for (int slice = 0; slice < kSlices; ++slice) {
    for (int i = 0; i < 4; ++i) switch (int what = (slice + i) % 4) {
        case 0:
          sum[what] += timed([](unsigned count) { run_floor_p(ring, count); }, shape.burst);
          break;
        case 1:
          sum[what] += timed([](unsigned count) { run_floor_t(ring, count); }, shape.burst);
          break;
        case 2:
          sum[what] += timed([&](unsigned count) { shape.call(shape.bare, count); }, shape.burst);
          break;
        case 3:
          sum[what] += timed([&](unsigned count) { shape.call(shape.hooked, count); }, shape.burst);
          break;
      }
    let_consumer_catch_up();
  }
  double calls = static_cast<double>(kSlices) * shape.burst;
  std::printf("%s %.4f %.4f %.4f %.4f\n", shape.name, sum[0] / calls, sum[1] / calls, sum[2] / calls, sum[3] / calls);
}

}  // namespace
}  // namespace hostprobe::bench

int main(int argc, char** argv) {
  using namespace hostprobe::bench;
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CPU REPETITIONS\n", argv[0]);
    return 2;
  }
  try {
    auto shapes = peer_shapes();
    for (const Shape& shape : shapes) shape.call(shape.hooked, kWarmCalls);
    sleep_us(200000);
    pin(0, std::atoi(argv[1]));
    for (const Shape& shape : shapes)
      for (int i = 0; i < std::atoi(argv[2]); ++i) repeat(shape);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
