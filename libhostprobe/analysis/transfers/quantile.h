// quantile.h: which value so great a part of some is not above.
//
// Room 3.
#pragma once

#include <cstddef>
#include <vector>

namespace hostprobe::analysis {

// Of the sorted; there is at least one.
inline double quantile(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace hostprobe::analysis
