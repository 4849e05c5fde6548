// nearly_sorted.h: puts in order what nearly is already, as calls and activities are that were written when they ended.
//
// Room 3.
#pragma once

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {

// One that stands a few places too late is moved to its place, which is much less work than a sort. False: there are so many
// that a sort is less; some of them have been moved then. Equal ones keep their order.
template <typename Iterator, typename IsBefore>
bool move_into_order(Iterator begin, Iterator end, IsBefore is_before) {
  constexpr std::ptrdiff_t kMovesOfEach = 8;
  std::ptrdiff_t moves_left = kMovesOfEach * (end - begin);
  for (auto at = begin; at != end; ++at) {
    if (at == begin || !is_before(*at, *std::prev(at))) continue;
    const auto place = std::upper_bound(begin, at, *at, is_before);
    moves_left -= at - place;
    if (moves_left < 0) return false;
    std::rotate(place, at, std::next(at));
  }
  return true;
}

}  // namespace hostprobe::analysis
