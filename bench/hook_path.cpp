// hook_path.cpp: makes the calls whose instructions hook_path.py counts. Run by callgrind, which begins to count where
// measured_calls begins and writes a file where it ends; on stdout stands, line by line, what each of those files holds.
//
//   hook_path [SHAPE…]   all shapes of shape.cpp, or these
#include <cstdio>
#include <cstring>
#include <exception>

#include "own_segment.h"
#include "shape.h"

namespace hostprobe::bench {
namespace {

constexpr unsigned kCalls = 16;     // few: in most runs then no call takes a new chunk, which happens at any time
constexpr unsigned kWarmCalls = 8;  // functions are bound, kernels are known, a chunk is taken
constexpr int kRuns = 24;

}  // namespace
}  // namespace hostprobe::bench

// Its name is an argument of callgrind.
extern "C" __attribute__((noinline, used)) void measured_calls(const hostprobe::bench::Shape& shape, void* function) {
  shape.call(function, hostprobe::bench::kCalls);
  asm volatile("" ::: "memory");  // or the call above would be a jump, and this function would have ended before it
}

namespace hostprobe::bench {
namespace {

void run(const Shape& shape, const char* way, void* function) {
  if (shape.prepare != nullptr) shape.prepare(kCalls + kWarmCalls);
  shape.call(function, kWarmCalls);
  measured_calls(shape, function);
  std::printf("%s %s %u\n", shape.name, way, kCalls);
}

bool is_wanted(const Shape& shape, char** names, int count) {
  for (int i = 0; i < count; ++i)
    if (std::strcmp(names[i], shape.name) == 0) return true;
  return count == 0;
}

}  // namespace
}  // namespace hostprobe::bench

int main(int argc, char** argv) {
  using namespace hostprobe::bench;
  try {
    auto shapes = all_shapes();
    shapes.front().call(shapes.front().hooked, 1);  // a launch makes a target of this process
    OwnSegment segment;
    for (const Shape& shape : shapes)
      for (int i = 0; is_wanted(shape, argv + 1, argc - 1) && i < kRuns; ++i) {
        run(shape, "bare", shape.bare);
        run(shape, "hooked", shape.hooked);
        segment.wait_until_drained();
      }
    std::printf("recording %d lost %llu\n", segment.recording(), static_cast<unsigned long long>(segment.lost()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hook_path: %s\n", error.what());
    return 1;
  }
  return 0;
}
