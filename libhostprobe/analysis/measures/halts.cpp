// halts.cpp: see halts.h.
#include "halts.h"

#include <algorithm>

#include "model/activity.h"

namespace hostprobe::analysis {
namespace {

// The writer is told of a stop's end by a timer or a wake, as every thread is: by so much they may differ (decision 26).
constexpr double kToleranceNs = 5e6;
constexpr double kShortestNs = 1e6;
constexpr std::size_t kFewestThreads = 3;

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

// Of each thread that can be asked, when it was off its CPU in that time, for long enough.
std::vector<std::vector<OffCpu>> off_times_in(const Timeline& timeline, const Window& window) {
  std::vector<std::vector<OffCpu>> threads;
  for (const Track& track : timeline.tracks()) {
    const ThreadSwitches* switches = timeline.switches().in(track.key(), window.begin_ns, window.end_ns);
    if (switches == nullptr) continue;
    const std::vector<OffCpu>& spans = switches->spans();
    auto span = std::lower_bound(spans.begin(), spans.end(), window.begin_ns,
                                 [](const OffCpu& one, double ns) { return one.in_ns < ns; });
    if (span == spans.end()) continue;  // it had ended, or nothing woke it any more
    std::vector<OffCpu>& off = threads.emplace_back();
    for (; span != spans.end() && span->out_ns < window.end_ns; ++span)
      if (span->in_ns - span->out_ns >= kShortestNs) off.push_back(*span);
  }
  return threads;
}

// The longest time of it in which none of them ran, and before and behind which each of them did. Empty: there is none.
Window silence_in(const Timeline& timeline, const Window& window) {
  const std::vector<std::vector<OffCpu>> threads = off_times_in(timeline, window);
  Window longest{0, 0};
  if (threads.size() < kFewestThreads) return longest;
  for (const OffCpu& first : threads.front()) {
    Window common{first.out_ns, first.in_ns};
    double earliest_ns = first.out_ns, latest_ns = first.in_ns;
    for (const std::vector<OffCpu>& off : threads) {
      const auto same = std::find_if(off.begin(), off.end(), [&](const OffCpu& one) {
        return std::min(one.in_ns, common.end_ns) - std::max(one.out_ns, common.begin_ns) >= kShortestNs;
      });
      if (same == off.end()) {
        common.end_ns = common.begin_ns;
        break;
      }
      common = {std::max(common.begin_ns, same->out_ns), std::min(common.end_ns, same->in_ns)};
      earliest_ns = std::min(earliest_ns, same->out_ns), latest_ns = std::max(latest_ns, same->in_ns);
    }
    if (common.begin_ns < window.begin_ns || common.end_ns > window.end_ns) continue;
    const bool is_of_all = common.begin_ns - earliest_ns <= kToleranceNs && latest_ns - common.end_ns <= kToleranceNs;
    if (is_of_all && common.length_ns() > longest.length_ns()) longest = common;
  }
  return longest;
}

}  // namespace

std::vector<Window> halts_of(const Timeline& timeline) {
  std::vector<Window> halts;
  TickReader ticks(timeline.trace().clock);
  for (const EventRow& row : timeline.trace().events) {
    if (row.kind != kEventHalted || row.number >= row.ticks) continue;
    const Told told{ticks.since_first_ns(row.number), ticks.since_first_ns(row.ticks), static_cast<double>(row.amount)};
    Window halt = silence_in(timeline, {told.last_look_ns, told.end_ns});
    if (halt.length_ns() < told.late_ns) halt = told.late_ns > 0 ? halt_of(timeline, told) : Window{0, 0};
    if (halt.length_ns() > 0) halts.push_back(halt);
  }
  std::sort(halts.begin(), halts.end(), [](const Window& l, const Window& r) { return l.begin_ns < r.begin_ns; });
  for (std::size_t i = 1; i < halts.size(); ++i)
    halts[i].begin_ns = std::min(std::max(halts[i].begin_ns, halts[i - 1].end_ns), halts[i].end_ns);
  return halts;
}

}  // namespace hostprobe::analysis
