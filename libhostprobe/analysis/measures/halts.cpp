// halts.cpp: see halts.h.
#include "halts.h"

#include <algorithm>

#include "model/activity.h"

namespace hostprobe::analysis {
namespace {

// The writer is told of a stop's end by a timer or a wake, as every thread is: by so much they may differ (decision 26).
constexpr double kToleranceNs = 5e6;

struct Told {
  double last_look_ns, end_ns, late_ns;
};

struct CallTimes {
  std::vector<double> moments;  // at which calls of any thread begin or end
  std::vector<Window> disk;     // calls that wait for a disk
};

CallTimes call_times_in(const Timeline& timeline, const Window& window) {
  CallTimes found;
  const auto add = [&](double ns) {
    if (ns > window.begin_ns && ns < window.end_ns) found.moments.push_back(ns);
  };
  for (const Track& track : timeline.tracks()) {
    if (track.role == Role::kHostprobe) continue;
    timeline.walk(track, timeline.slices_between(track, window.begin_ns, window.end_ns), [&](const Event& event) {
      if (event.type != EventType::kCall) return;
      add(event.begin_ns);
      add(event.end_ns);
      if (event.on_file) found.disk.push_back({event.begin_ns, event.end_ns});
    });
  }
  std::sort(found.moments.begin(), found.moments.end());
  return found;
}

// The disk that a thread waits for all the while may be what hostprobe's own thread waited for, too.
bool may_be_disk(const std::vector<Window>& disk, const Window& halt) {
  return std::any_of(disk.begin(), disk.end(), [&halt](const Window& call) {
    return call.begin_ns <= halt.begin_ns + kToleranceNs && call.end_ns >= halt.end_ns - kToleranceNs;
  });
}

// Empty: somebody was at work, or a disk may have been.
Window halt_of(const Timeline& timeline, const Told& told) {
  const CallTimes found = call_times_in(timeline, {told.last_look_ns, told.end_ns});
  Window longest{told.last_look_ns, told.last_look_ns};
  double from_ns = told.last_look_ns;
  const auto until = [&](double ns) {
    if (ns - from_ns > longest.length_ns()) longest = {from_ns, ns};
    from_ns = ns;
  };
  for (const double ns : found.moments) until(ns);
  until(told.end_ns);
  if (longest.length_ns() < told.late_ns - kToleranceNs || may_be_disk(found.disk, longest)) return {0, 0};
  // Nothing shows when it began: neither end of what is possible.
  if (longest.begin_ns == told.last_look_ns)
    longest.begin_ns = 0.5 * (told.last_look_ns + std::max(told.last_look_ns, longest.end_ns - told.late_ns));
  return longest;
}

}  // namespace

std::vector<Window> halts_of(const Timeline& timeline) {
  std::vector<Window> halts;
  TickReader ticks(timeline.trace().clock);
  for (const EventRow& row : timeline.trace().events) {
    if (row.kind != kEventHalted || row.number >= row.ticks) continue;
    const Told told{ticks.since_first_ns(row.number), ticks.since_first_ns(row.ticks), static_cast<double>(row.amount)};
    const Window halt = halt_of(timeline, told);
    if (halt.length_ns() > 0) halts.push_back(halt);
  }
  std::sort(halts.begin(), halts.end(), [](const Window& l, const Window& r) { return l.begin_ns < r.begin_ns; });
  for (std::size_t i = 1; i < halts.size(); ++i)
    halts[i].begin_ns = std::min(std::max(halts[i].begin_ns, halts[i - 1].end_ns), halts[i].end_ns);
  return halts;
}

}  // namespace hostprobe::analysis
