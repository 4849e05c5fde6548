// middle.h: the middle one of some values.
//
// Room 3.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace hostprobe::analysis {

// Of two in the middle the larger; 0: there are none. Changes their order.
template <typename Number>
Number middle_of(std::vector<Number>& some) {
  if (some.empty()) return 0;
  const auto middle = some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2);
  std::nth_element(some.begin(), middle, some.end());
  return *middle;
}

}  // namespace hostprobe::analysis
