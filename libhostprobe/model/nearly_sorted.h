// nearly_sorted.h: puts in order what nearly is already, as calls and activities are that were written when they ended.
//
// Room 3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <vector>

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

// Of any order; equal ones keep theirs. Not stable_sort: its buffer is not aligned as a Record has to be (libstdc++ 12).
template <typename Iterator, typename IsBefore>
void sort_stably(Iterator begin, Iterator end, IsBefore is_before) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t l, std::uint32_t r) {
    return is_before(begin[l], begin[r]) || (l < r && !is_before(begin[r], begin[l]));
  });
  std::vector<typename std::iterator_traits<Iterator>::value_type> sorted;
  sorted.reserve(order.size());
  for (const std::uint32_t at : order) sorted.push_back(begin[at]);
  std::copy(sorted.begin(), sorted.end(), begin);
}

}  // namespace hostprobe::analysis
