// live_steps.cpp: see live_steps.h.
#include "probe/writer/steps/live_steps.h"

#include <time.h>

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/record/detail.h"
#include "probe/record/gate.h"
#include "probe/record/profile_wish.h"
#include "probe/record/spans.h"
#include "probe/record/step_lengths.h"
#include "probe/record/trigger.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/identity.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/options.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kWaiting = 512;  // steps that nobody took yet

struct Live {
  double moved_ns;     // when recording paused or went on last
  double recorded_ns;  // shed launches: nothing before this is whole
  std::uint64_t count;
  StepEnds ends;
  StepLengths lengths;  // ns
  std::uint32_t first, waiting;
};
HP_OF_RECORDING Live g_live{};
HP_OF_RECORDING LiveStep g_steps[kWaiting];
HP_OF_RECORDING SiteCounter g_counter{};  // all of `g_live.count`

StepsFrom steps_from(LiveSource source) {
  constexpr StepsFrom kFrom[] = {StepsFrom{}, kStepsFromMarks, kStepsFromOptimizer, kStepsFromCalls, StepsFrom{}};
  return kFrom[static_cast<unsigned>(source)];
}

// Whoever reads meanwhile sees the count, and leaves out what may have been overwritten.
void show_source(LiveSource source) {
  if (g_segment.header == nullptr) return;
  StepRing& ring = g_segment.header->steps;
  std::atomic_ref(ring.count).store(0, std::memory_order_release);
  std::atomic_ref(ring.from).store(steps_from(source), std::memory_order_release);
}

void show_step(std::uint64_t end_ns, std::uint64_t length_ns) {
  if (g_segment.header == nullptr) return;
  StepRing& ring = g_segment.header->steps;
  const std::uint32_t count = ring.count;
  ring.places[count % kStepPlaces] = {end_ns, length_ns};
  std::atomic_ref(ring.count).store(count + 1, std::memory_order_release);
}

}  // namespace

HP_OF_RECORDING LiveSource g_live_source{};
HP_OF_RECORDING NsOfTicks g_live_clock{};

const char* live_source_name(LiveSource source) {
  constexpr const char* kNames[] = {"not_yet", "marks", "optimizer", "detected", "none"};
  return kNames[static_cast<unsigned>(source)];
}

void refresh_live_clock() {
  const ClockPair now = read_clock_pair(), then = load_clock();
  g_live_clock = {
      static_cast<double>(now.ticks), static_cast<double>(now.monotonic_ns),
      static_cast<double>(now.monotonic_ns - then.monotonic_ns) / static_cast<double>(now.ticks - then.ticks)};
  g_live.moved_ns = static_cast<double>(gate_moved_ns()) - static_cast<double>(now.realtime_ns) +
                    static_cast<double>(now.monotonic_ns);
  if (detail_shed() >= kShedLaunches) g_live.recorded_ns = static_cast<double>(now.monotonic_ns);
}

void begin_live_steps(LiveSource source, std::uint32_t tid, std::uint64_t start_ticks) {
  g_live_source = source;
  g_live.count = 0;
  g_live.lengths = {};
  g_live.waiting = 0;
  clear_spans(g_counter.time);
  g_counter.tid = tid;
  g_counter.thread_start_ticks = start_ticks;
  show_source(source);
}

void give_up_live_steps() {
  g_live_source = LiveSource::kNone;
  show_source(g_live_source);
}

void end_live_step(double begin_ns, double end_ns) {
  Live& live = g_live;
  const bool paused = begin_ns < live.moved_ns && live.moved_ns < end_ns;
  const bool is_detected = g_live_source == LiveSource::kDetected;
  if (end_ns <= begin_ns || paused || (is_detected && begin_ns < live.recorded_ns)) return;
  const auto length = static_cast<std::uint64_t>(end_ns - begin_ns);
  if (is_detected && live.lengths.is_outlier(length, g_options.slow_step_pct) && !window_lengthens_steps())
    request_slow_step(live.count, 1e-6 * static_cast<double>(length),
                      1e-6 * static_cast<double>(live.lengths.median()));
  if (is_detected) consider_profile(live.count, length, live.lengths);
  live.lengths.add(length);
  show_step(static_cast<std::uint64_t>(end_ns), length);
  add_span(g_counter.time, static_cast<std::uint64_t>((end_ns - begin_ns) / g_live_clock.ns_per_tick));
  g_steps[(live.first + live.waiting) % kWaiting] = {live.count++, begin_ns, end_ns};
  if (live.waiting < kWaiting)
    ++live.waiting;
  else
    live.first = (live.first + 1) % kWaiting;
}

void count_step_end() { ++g_live.ends.seen; }
void lose_step_ends() { ++g_live.ends.lost; }

StepEnds live_step_ends() { return g_live.ends; }
std::uint64_t live_step_count() { return g_live.count; }
const SiteCounter& live_step_counter() {
  g_counter.key = steps_from(g_live_source);
  return g_counter;
}
double live_step_median_ns() { return static_cast<double>(g_live.lengths.median()); }

unsigned take_live_steps(LiveStep* steps, unsigned most) {
  unsigned taken = 0;
  for (; taken < most && g_live.waiting > 0; ++taken, --g_live.waiting) {
    steps[taken] = g_steps[g_live.first];
    g_live.first = (g_live.first + 1) % kWaiting;
  }
  return taken;
}

}  // namespace hostprobe::probe
