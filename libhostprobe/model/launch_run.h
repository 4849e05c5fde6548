// launch_run.h: launches of one thread with no other call between them: most of what a large trace holds.
//
// Room 3. Timeline::walk hands them over together where they are taken so, because what is asked of each launch is little beside what
// it takes to tell it as an Event.
#pragma once

#include <cstdint>
#include <span>

#include "event.h"

namespace hostprobe::analysis {

// One whose record says nothing but this: it ran, is in no counter, and is no graph's. The same words as in an Event.
struct PlainLaunch {
  double begin_ns = 0;
  double end_ns = 0;
  const Function* function = nullptr;
  std::uint64_t work = 0;
  std::uint64_t grid = 0;
  std::uint64_t stream = 0;
  double gap_ns = 0;
  double gap_no_cpu_ns = -1;
  std::int32_t gap_switches = -1;
  bool has_gap = false;
  bool gap_lost = false;

  double duration_ns() const { return end_ns - begin_ns; }
};

inline constexpr std::size_t kMostOfRun = 64;

// By begin.
struct LaunchRun {
  const Track* track = nullptr;
  std::span<const PlainLaunch> launches;  // from one to kMostOfRun
  double last_end_ns = 0;                 // of them; not always the last one's

  double begin_ns() const { return launches.front().begin_ns; }
};

// Whoever is told events and takes such runs.
template <typename OnEvent>
concept TakesLaunchRuns = requires(OnEvent on_event, const LaunchRun& run) {
  on_event(run);
};

inline bool is_plain_launch(const Function& function) {
  return function.is(kLaunches) && (function.traits & ~Trait{kLaunches | kOfDriver}) == 0 && function.kernels < 0;
}

inline Event event_of(const Track& track, const PlainLaunch& launch) {
  Event event;
  event.set_function(launch.function);
  event.track = &track;
  event.begin_ns = launch.begin_ns;
  event.end_ns = launch.end_ns;
  event.duration_ns = launch.duration_ns();
  event.work = launch.work;
  event.grid = launch.grid;
  event.kernels = launch.function->kernels_of_call;
  event.has_gap = launch.has_gap;
  event.gap_lost = launch.gap_lost;
  event.gap_ns = launch.gap_ns;
  event.gap_no_cpu_ns = launch.gap_no_cpu_ns;
  event.gap_switches = launch.gap_switches;
  return event;
}

}  // namespace hostprobe::analysis
