// search_hint.h: a search in a sorted list that begins where the last one ended: whoever goes through time finds the next at once.
//
// Room 3. Several threads may search at a time: where one ended tells the others nothing, but does no harm.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace hostprobe::analysis {

class SearchHint {
 public:
  SearchHint() = default;
  SearchHint(const SearchHint& other) : last_(other.last_.load(std::memory_order_relaxed)) {}
  SearchHint& operator=(const SearchHint& other) {
    last_.store(other.last_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return *this;
  }

  // The first of `count` things for which is_before(number) is false, as std::partition_point finds it.
  template <typename IsBefore>
  std::size_t find(std::size_t count, IsBefore is_before) const {
    std::size_t low = std::min(last_.load(std::memory_order_relaxed), count), high = low, step = 1;
    // All below `low` are before, and none from `high` on is.
    while (low > 0 && !is_before(low - 1)) {
      high = low - 1;
      low -= std::min(low, step);
      step *= 2;
    }
    if (high == low)
      while (high < count && is_before(high)) {
        low = high + 1;
        high = std::min(count, high + step);
        step *= 2;
      }
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (is_before(middle))
        low = middle + 1;
      else
        high = middle;
    }
    last_.store(low, std::memory_order_relaxed);
    return low;
  }

 private:
  mutable std::atomic<std::size_t> last_ = 0;
};

}  // namespace hostprobe::analysis
