// median.h: the middle of some lengths, as every report counts it: of two in the middle the lower one.
//
// Room 3.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hostprobe::analysis {

// 0: there are none.
inline double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace hostprobe::analysis
