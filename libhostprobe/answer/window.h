// window.h: a part of the time of a process, or all of it. Nanoseconds on the scale of its events.
//
// The waist (answer/).
#pragma once

#include <limits>

namespace hostprobe::analysis {

struct Window {
  double begin_ns = -std::numeric_limits<double>::infinity();
  double end_ns = std::numeric_limits<double>::infinity();

  bool is_whole() const { return begin_ns == -std::numeric_limits<double>::infinity() && end_ns == -begin_ns; }
  double length_ns() const { return end_ns - begin_ns; }
};

}  // namespace hostprobe::analysis
