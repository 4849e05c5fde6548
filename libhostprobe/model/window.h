// window.h: the part of a timeline that is asked about: all of it, or one step.
//
// Room 3. Counters have no place in time, so they belong to the whole only.
#pragma once

#include <algorithm>
#include <limits>

#include "event.h"

namespace hostprobe::analysis {

struct Window {
  double begin_ns = -std::numeric_limits<double>::infinity();
  double end_ns = std::numeric_limits<double>::infinity();

  bool is_whole() const { return begin_ns == -std::numeric_limits<double>::infinity() && end_ns == -begin_ns; }
  double length_ns() const { return end_ns - begin_ns; }
  // How much of a call lies inside.
  double inside_ns(const Event& event) const {
    return std::max(0.0, std::min(event.end_ns, end_ns) - std::max(event.begin_ns, begin_ns));
  }
  // Of a call that blocks, the part inside counts; any other belongs to the window in which it begins.
  bool holds(const Event& event) const {
    if (event.type == EventType::kCounter) return is_whole();
    if (event.begin_ns >= end_ns) return false;
    return event.begin_ns >= begin_ns || (event.is(kBlocks) && event.end_ns > begin_ns);
  }
  // What no counter holds for a part of the time, the record must tell.
  Event part_of(const Event& event) const {
    Event part = event;
    part.counted = false;
    part.has_gap = event.has_gap && event.begin_ns - event.gap_ns >= begin_ns;
    if (!event.is(kBlocks)) return part;
    part.begin_ns = std::max(event.begin_ns, begin_ns);
    part.end_ns = std::min(event.end_ns, end_ns);
    part.duration_ns = part.end_ns - part.begin_ns;
    // It was woken in the window in which it ran again.
    part.wake_ns = event.end_ns > end_ns ? -1 : std::min(event.wake_ns, part.duration_ns);
    part.run_queue_ns = std::min(event.run_queue_ns, part.wake_ns);
    return part;
  }
};

}  // namespace hostprobe::analysis
