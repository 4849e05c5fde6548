// window.h: which events lie in a part of a timeline, and how much of each.
//
// Room 3. Counters have no place in time, so they belong to the whole only.
#pragma once

#include <algorithm>

#include "answer/window.h"
#include "event.h"

namespace hostprobe::analysis {

// How much of a call lies inside.
inline double inside_ns(const Window& window, const Event& event) {
  return std::max(0.0, std::min(event.end_ns, window.end_ns) - std::max(event.begin_ns, window.begin_ns));
}

// The same of one window in another.
inline double inside_ns(const Window& l, const Window& r) {
  return std::max(0.0, std::min(l.end_ns, r.end_ns) - std::max(l.begin_ns, r.begin_ns));
}

// Of a call that blocks, the part inside counts; any other belongs to the window in which it begins.
inline bool holds(const Window& window, const Event& event) {
  if (event.type == EventType::kCounter) return window.is_whole();
  if (event.begin_ns >= window.end_ns) return false;
  return event.begin_ns >= window.begin_ns || (event.is(kBlocks) && event.end_ns > window.begin_ns);
}

// What no counter holds for a part of the time, the record must tell.
inline Event part_of(const Window& window, const Event& event) {
  Event part = event;
  part.counted = false;
  part.has_gap = event.has_gap && event.begin_ns - event.gap_ns >= window.begin_ns;
  if (!event.is(kBlocks)) return part;
  part.begin_ns = std::max(event.begin_ns, window.begin_ns);
  part.end_ns = std::min(event.end_ns, window.end_ns);
  part.duration_ns = part.end_ns - part.begin_ns;
  // It was woken in the window in which it ran again.
  part.wake_ns = event.end_ns > window.end_ns ? -1 : std::min(event.wake_ns, part.duration_ns);
  part.run_queue_ns = std::min(event.run_queue_ns, part.wake_ns);
  return part;
}

}  // namespace hostprobe::analysis
