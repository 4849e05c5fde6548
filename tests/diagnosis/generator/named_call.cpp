#include "named_call.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

[[gnu::always_inline]] inline void compute(uint64_t iterations) {
  uint64_t value = iterations;
  for (uint64_t i = 0; i < iterations; ++i) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    asm volatile("" : "+r"(value));
  }
}

}  // namespace

// The line's number in each body keeps the compiler from making one function of all; the last line keeps the frame until it returns.
#define GENERATOR_FUNCTION(name)                                    \
  extern "C" __attribute__((noinline)) void name(const Task& task); \
  void name(const Task& task) {                                     \
    asm volatile("" ::"i"(__LINE__));                               \
    compute(task.iterations);                                       \
    if (task.run != nullptr) task.run(task.argument);               \
    asm volatile("" ::: "memory");                                  \
  }
#include "function_names.def"
#undef GENERATOR_FUNCTION

NamedCall find_named_call(const std::string& name) {
  struct Named {
    const char* name;
    NamedCall call;
  };
#define GENERATOR_FUNCTION(name) {#name, name},
  static const Named kCalls[] = {
#include "function_names.def"
  };
#undef GENERATOR_FUNCTION
  for (const Named& one : kCalls)
    if (name == one.name) return one.call;
  fprintf(stderr, "generated program: function_names.def has no %s.\n", name.c_str());
  exit(2);
}

double measure_iterations_per_us() {
  constexpr uint64_t kIterations = 200000;
  double best = 0;
  for (int trial = 0; trial < 50; ++trial) {
    auto begin = std::chrono::steady_clock::now();
    find_named_call("trace_rays")(Task{kIterations, nullptr, nullptr});
    double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    if (kIterations / us > best) best = kIterations / us;
  }
  return best;
}
