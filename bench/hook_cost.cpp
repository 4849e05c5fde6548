// hook_cost.cpp: what a hooked call costs more than the bare one, in multiples of the two floors. Google Benchmark.
//
// One repetition is one pairing: floors, bare calls and hooked calls take turns in short slices on one CPU, and the
// ratios are made of their totals. hook_cost.py starts this program without the probe, with it switched off, with it
// unable to record, and recording in each mode, and makes one table of them.
#include <benchmark/benchmark.h>
#include <pthread.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <thread>
#include <vector>

#include "floor.h"
#include "own_segment.h"
#include "placement.h"
#include "shape.h"

namespace hostprobe::bench {
namespace {

constexpr int kSlices = 24;
constexpr int kColdCalls = 250;
constexpr unsigned kWarmCalls = 64;
constexpr std::size_t kEvictBytes = 4 << 20;  // twice the L2 cache of a server core

const OwnSegment& own_segment() {
  static const OwnSegment segment;
  return segment;
}

void let_writer_catch_up(benchmark::State& state) {
  if (!own_segment().wait_until_drained()) state.SkipWithError("the probe's writer thread does not catch up");
}

struct Costs {
  double floor_p = 0, floor_t = 0, bare = 0, hooked = 0;  // CPU nanoseconds per call
};

double timed(const Shape& shape, void* function, unsigned count) {
  if (shape.prepare != nullptr) shape.prepare(count + kWarmCalls);
  shape.call(function, kWarmCalls);
  double begin = thread_cpu_ns();
  shape.call(function, count);
  return thread_cpu_ns() - begin;
}

template <class Floor>
double timed_floor(FloorRing& ring, Floor floor, unsigned count) {
  floor(ring, kWarmCalls);
  double begin = thread_cpu_ns();
  floor(ring, count);
  return thread_cpu_ns() - begin;
}

FloorRing& own_ring() {
  thread_local FloorRing ring;
  return ring;
}

// Each slice begins with another one of the four, so that none is always the one after the pause.
void add_slice(const Shape& shape, int first, Costs& sum) {
  for (int i = 0; i < 4; ++i) switch ((first + i) % 4) {
      case 0:
        sum.floor_p += timed_floor(own_ring(), run_floor_p, shape.burst);
        break;
      case 1:
        sum.floor_t += timed_floor(own_ring(), run_floor_t, shape.burst);
        break;
      case 2:
        sum.bare += timed(shape, shape.bare, shape.burst);
        break;
      case 3:
        sum.hooked += timed(shape, shape.hooked, shape.burst);
        break;
    }
}

Costs measure(benchmark::State& state, const Shape& shape) {
  Costs sum;
  for (int slice = 0; slice < kSlices; ++slice) {
    add_slice(shape, slice, sum);
    let_writer_catch_up(state);
  }
  double calls = static_cast<double>(kSlices) * shape.burst;
  return {sum.floor_p / calls, sum.floor_t / calls, sum.bare / calls, sum.hooked / calls};
}

double median(std::vector<double>& values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void report_hot(benchmark::State& state, const Shape& shape) {
  const ThreadEntry* thread = own_segment().own_thread();
  std::uint64_t lost = own_segment().lost(), quiet = thread == nullptr ? 0 : thread->quiet_calls;
  for (auto _ : state) {
    Costs c = measure(state, shape);
    state.SetIterationTime(c.hooked * 1e-9);
    state.counters["floor_p_ns"] = c.floor_p;
    state.counters["floor_t_ns"] = c.floor_t;
    state.counters["bare_ns"] = c.bare;
    state.counters["hooked_ns"] = c.hooked;
    state.counters["added_of_t"] = (c.hooked - c.bare) / c.floor_t;
    state.counters["added_of_p"] = (c.hooked - c.bare) / c.floor_p;
  }
  state.counters["lost"] = static_cast<double>(own_segment().lost() - lost);
  state.counters["quiet"] = thread == nullptr ? 0 : static_cast<double>(thread->quiet_calls - quiet);
}

// ---- two threads at once ----------------------------------------------------------------------------------------------

template <class Call>
double together(Call call) {
  std::barrier ready(2);
  double other_ns = 0;
  std::thread other([&] {
    pin(0, allowed_cpu(1));
    call();  // takes its first chunk, touches its ring
    ready.arrive_and_wait();
    other_ns = call();
  });
  call();
  ready.arrive_and_wait();
  double own_ns = call();
  other.join();
  return (own_ns + other_ns) / 2;
}

// CPU per call of two threads that call at the same time, over that of one alone; and the same of the floor, which shows
// what the machine itself does to two threads.
void report_two_threads(benchmark::State& state, const Shape& shape) {
  std::uint64_t lost = own_segment().lost();
  auto hooked = [&] { return timed(shape, shape.hooked, shape.burst); };
  auto floor = [&] { return timed_floor(own_ring(), run_floor_t, shape.burst); };
  for (auto _ : state) {
    double alone = 0, both = 0, floor_alone = 0, floor_both = 0;
    for (int slice = 0; slice < kSlices; ++slice) {
      alone += hooked();
      floor_alone += floor();
      let_writer_catch_up(state);
      both += together(hooked);
      floor_both += together(floor);
      let_writer_catch_up(state);
    }
    state.SetIterationTime(both * 1e-9 / kSlices / shape.burst);
    state.counters["two_of_one"] = both / alone;
    state.counters["floor_two_of_one"] = floor_both / floor_alone;
  }
  state.counters["lost"] = static_cast<double>(own_segment().lost() - lost);
}

// ---- cold -------------------------------------------------------------------------------------------------------------

void evict() {
  static std::vector<char> memory(kEvictBytes, 1);
  for (std::size_t i = 0; i < memory.size(); i += 64) memory[i] = static_cast<char>(memory[i] + 1);
  benchmark::ClobberMemory();
}

std::uint64_t fenced_ticks() {
  unsigned cpu;
  _mm_lfence();
  std::uint64_t now = __rdtscp(&cpu);
  _mm_lfence();
  return now;
}

template <class Call>
double cold_ticks(Call call) {
  evict();
  std::uint64_t begin = fenced_ticks();
  call();
  return static_cast<double>(fenced_ticks() - begin);
}

// Floor P in ticks, as the cold calls are taken: the median of short runs, because a tick counter also counts while the
// thread is not running.
double floor_p_ticks() {
  constexpr unsigned kCalls = 256;
  std::vector<double> runs;
  for (int i = 0; i < 63; ++i) {
    std::uint64_t begin = __rdtsc();
    run_floor_p(own_ring(), kCalls);
    runs.push_back(static_cast<double>(__rdtsc() - begin) / kCalls);
  }
  return median(runs);
}

// In multiples of floor P in its hot loop.
void report_cold(benchmark::State& state, const Shape& shape) {
  std::uint64_t lost = own_segment().lost();
  for (auto _ : state) {
    std::vector<double> bare, hooked, least;
    if (shape.prepare != nullptr) shape.prepare(2 * kColdCalls);
    for (int i = 0; i < kColdCalls; ++i) {
      bare.push_back(cold_ticks([&] { shape.call(shape.bare, 1); }));
      hooked.push_back(cold_ticks([&] { shape.call(shape.hooked, 1); }));
      if (shape.least != nullptr) least.push_back(cold_ticks([&] { shape.call(shape.least, 1); }));
    }
    double floor_p = floor_p_ticks();
    double added = median(hooked) - median(bare);
    state.SetIterationTime(1e-9);
    state.counters["bare_of_p"] = median(bare) / floor_p;
    state.counters["added_of_p"] = added / floor_p;
    if (shape.least != nullptr) state.counters["least_of_p"] = (median(least) - median(bare)) / floor_p;
  }
  state.counters["lost"] = static_cast<double>(own_segment().lost() - lost);
}

// ---- a wake from thread to thread, for information --------------------------------------------------------------------

void report_wake(benchmark::State& state) {
  constexpr unsigned kTurns = 3000;
  Semaphore bare = bare_semaphore(), hooked = hooked_semaphore();
  for (auto _ : state) {
    double bare_ns = 0, hooked_ns = 0;
    for (int i = 0; i < 4; ++i) {
      bare_ns += wake_ns(bare.post, bare.wait, kTurns) / 4;
      hooked_ns += wake_ns(hooked.post, hooked.wait, kTurns) / 4;
    }
    state.SetIterationTime(hooked_ns * 1e-9);
    state.counters["bare_ns"] = bare_ns;
    state.counters["added_ns"] = hooked_ns - bare_ns;
  }
}

// ---- the program ------------------------------------------------------------------------------------------------------

template <class Report>
void enlist(const std::string& name, Report report) {
  benchmark::RegisterBenchmark(name.c_str(), report)
      ->Iterations(1)
      ->Repetitions(12)
      ->UseManualTime()
      ->Unit(benchmark::kNanosecond);
}

}  // namespace
}  // namespace hostprobe::bench

int main(int argc, char** argv) {
  using namespace hostprobe::bench;
  allowed_cpus();
  std::vector<Shape> shapes;
  try {
    shapes = all_shapes();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  shapes.front().call(shapes.front().hooked, 1);  // starts the writer
  settle_threads();
  for (const Shape& shape : shapes) enlist(std::string("hot/") + shape.name, [&](auto& s) { report_hot(s, shape); });
  for (std::size_t i : {0u, 1u, 4u, 6u})
    enlist(std::string("cold/") + shapes[i].name, [&, i](auto& s) { report_cold(s, shapes[i]); });
  for (std::size_t i : {0u, 4u})
    enlist(std::string("two_threads/") + shapes[i].name, [&, i](auto& s) { report_two_threads(s, shapes[i]); });
  enlist("wake/semaphore_ping_pong", [](auto& s) { report_wake(s); });
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
