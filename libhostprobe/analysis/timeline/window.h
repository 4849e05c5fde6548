// window.h: the part of a timeline that is asked about: all of it, or one step.
//
// Room 3. Counters have no place in time, so they belong to the whole only.
#pragma once

#include <limits>

#include "event.h"

namespace hostprobe::analysis {

struct Window {
  double begin_ns = -std::numeric_limits<double>::infinity();
  double end_ns = std::numeric_limits<double>::infinity();

  bool is_whole() const { return begin_ns == -std::numeric_limits<double>::infinity() && end_ns == -begin_ns; }
  // An event belongs to the window in which it begins.
  bool holds(const Event& event) const {
    return event.type == EventType::kCounter ? is_whole() : event.begin_ns >= begin_ns && event.begin_ns < end_ns;
  }
};

}  // namespace hostprobe::analysis
